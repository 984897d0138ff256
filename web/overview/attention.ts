import { useDocumentVisibility, useEventListener, useIntervalFn } from '@vueuse/core'
import { computed } from 'vue'
import type { RouteLocationRaw } from 'vue-router'
import { AttentionDocument, type AttentionKind, type AttentionSeverity } from '../generated/graphql.ts'
import { useQuery } from '../graphql.ts'

/** Interval in milliseconds at which the items are read again while the page is visible. */
const refreshMs = 60_000

/** Calls `read` when the window gets the focus, and every `intervalMs` milliseconds while the page is visible. */
export function useRefresh(read: () => void, intervalMs: number) {
  const visibility = useDocumentVisibility()
  useEventListener(window, 'focus', read)
  useIntervalFn(() => visibility.value === 'visible' && read(), intervalMs)
}

/** Returns what needs the attention of an administrator, and keeps it up to date. */
export function useAttention() {
  const { data, ...state } = useQuery(AttentionDocument)
  useRefresh(state.retry, refreshMs)
  return { ...state, items: computed(() => data.value?.attention) }
}

export type Attention = ReturnType<typeof useAttention>

interface Action {
  label: string
  to: RouteLocationRaw
}

const selfCheck = (hash: string, label = 'Show details'): Action => ({ label, to: { name: 'admin-self-check', hash } })
const help = (name: string, label: string): Action => ({ label, to: `/help/${name}` })

/** The page where each kind of item is resolved. */
export const attentionActions: Record<AttentionKind, Action> = {
  COMPONENT_FAILING: selfCheck('#health'),
  DISK_LOW: { label: 'Show storage', to: { hash: '#storage' } },
  ARCHIVES_UNREADABLE: selfCheck('#archives', 'Show archives'),
  COLLECTION_ON_HOLD: selfCheck('#archives', 'Show archives'),
  BACKUP_FAILED: selfCheck('#backups', 'Show backups'),
  BACKUP_INCOMPLETE: selfCheck('#backups', 'Show backups'),
  BACKUPS_OFF: help('backup-and-restore', 'Set up backups'),
  JOBS_FAILED: { label: 'Show jobs', to: { name: 'admin-jobs', query: { state: 'FAILED' } } },
  SDK_FAILED: { label: 'Show SDKs', to: { name: 'admin-sdks' } },
  SDK_MISSING: { label: 'Install an SDK', to: { name: 'admin-sdks' } },
  NAMES_WAITING: { label: 'Decide', to: { name: 'admin-names' } },
  TOKENS_EXPIRING: { label: 'Show tokens', to: { hash: '#expiring' } },
  TOKENS_NEVER_EXPIRE: { label: 'Show tokens', to: { hash: '#endless' } },
  PROVIDER_FAILING: { label: 'Show providers', to: { name: 'admin-sign-in' } },
  ISSUER_CLOCKS_DIFFER: help('monitoring#clocks', 'What to do'),
  ISSUER_KEYS_STALE: { label: 'Show CI systems', to: { name: 'admin-token-issuers' } },
  SECRETS_UNREADABLE: help('backup-and-restore', 'What to do'),
  PASSKEYS_VOID: help('passkeys', 'What to do'),
  SECOND_FACTORS_MISSING: { label: 'Show people', to: { name: 'admin-sign-in', hash: '#factors' } },
  INVITATIONS_UNANSWERED: { label: 'Show people', to: { name: 'admin-users', query: { state: 'INVITED' } } },
  SETTINGS_WEAK: selfCheck('#configuration', 'Show settings'),
  CLOCKS_DIFFER: selfCheck('#clocks'),
  ADDRESS_UNENCRYPTED: help('reverse-proxy', 'Set up HTTPS'),
  MIRROR_UPSTREAM_AWAY: { label: 'Show the mirror', to: '/mirror' },
  MIRROR_FAULTS: { label: 'Show the mirror', to: '/mirror' },
  CERTIFICATE_UNTRUSTED: help('reverse-proxy', 'Set up HTTPS'),
  CERTIFICATE_EXPIRING: help('reverse-proxy', 'Renew it'),
}

export const severities = {
  ERROR: { label: 'Urgent', icon: 'i-lucide-circle-x', color: 'error', class: 'text-error' },
  WARNING: { label: 'Soon', icon: 'i-lucide-triangle-alert', color: 'warning', class: 'text-warning' },
  INFO: { label: 'Advice', icon: 'i-lucide-info', color: 'neutral', class: 'text-muted' },
} as const satisfies Record<AttentionSeverity, object>
