import type { Query } from '../../platform/db/query.ts'
import type { Services } from '../../services.ts'

/** How urgent an item is: `error` needs action now, `warning` soon, `info` is a recommendation. */
export type Severity = 'error' | 'warning' | 'info'

/** Kinds of items, with descriptions. */
export const attentionKinds = {
  component_failing: 'A component of the server does not work.',
  disk_low: 'The disk is full, or will be within 30 days.',
  archives_unreadable: 'Archives are missing or damaged.',
  collection_on_hold: 'The removal of unused archives waits for a confirmation.',
  backup_failed: 'The last backup failed.',
  backup_incomplete: 'The last backup is missing files that were missing or damaged on the server.',
  backups_off: 'No automatic backups are set up.',
  jobs_failed: 'Background jobs failed permanently.',
  sdk_failed: 'An SDK could not be installed.',
  sdk_missing: 'No Dart SDK is installed, so versions are scored without pana and dart doc.',
  names_waiting: 'Package names wait for approval.',
  tokens_expiring: 'Access tokens with the scope ADMIN expire within 14 days.',
  tokens_never_expire: 'Access tokens never expire.',
  provider_failing: 'A sign-in provider does not answer, or its answers cannot be used.',
  issuer_clocks_differ: 'The clock of the server differs from that of a sign-in provider or CI system.',
  issuer_keys_stale: 'The public keys of a CI system could not be fetched.',
  secrets_unreadable: 'Secrets for signing in cannot be decrypted with JWT_SECRET.',
  passkeys_void: 'Passkeys were created for another address of the server, so they are not accepted any more.',
  second_factors_missing: 'Administrators who can sign in with a password have no second factor.',
  invitations_unanswered: 'Invited people have not accepted yet.',
  settings_weak: 'Settings weaken the security of the server.',
  clocks_differ: 'The clocks of the server and the database differ.',
  address_unencrypted: 'Clients use the server without encryption.',
  mirror_upstream_away: 'The upstream server of the mirror has not answered for more than 10 minutes.',
  mirror_faults: 'The upstream server of the mirror sent something unusable in the last day.',
  certificate_untrusted: 'The certificate of the server is self-signed or has expired.',
  certificate_expiring: 'The certificate of the server expires within 14 days.',
} as const satisfies Record<string, string>
export type AttentionKind = keyof typeof attentionKinds

/** Something that an administrator should look at. */
export type AttentionItem = {
  kind: AttentionKind
  severity: Severity
  /** How many things the item is about, such as failed jobs. */
  count: number
  /** Since when, or when it is due, if known. */
  at: Date | null
  /** A sentence for people. */
  text: string
}

/** What the checks read. */
export type Watched = Pick<Services, 'config' | 'database' | 'keys' | 'blobs' | 'log' | 'now' | 'state'>

/** A check: returns the items that it found. */
export type AttentionCheck = (watched: Watched) => Promise<AttentionItem[]>

type Given = Pick<AttentionItem, 'kind' | 'severity' | 'text'> & Partial<AttentionItem>

/** Creates an item. Without a count, it is about one thing. */
export const item = (given: Given): AttentionItem => ({ count: 1, at: null, ...given })

/** Creates an item about `count` things; none if the count is 0. */
export const itemsIfAny = (count: number, given: Given): AttentionItem[] => (count > 0 ? [item({ ...given, count })] : [])

/** "1 job", "2 jobs". */
export const plural = (count: number, one: string, many = `${one}s`): string => `${count} ${count === 1 ? one : many}`

/** Returns the count that a query selects as `total`. */
export const countOf = async ({ database }: Pick<Services, 'database'>, query: Query<{ total: number }>): Promise<number> =>
  (await database.reads.get(query))?.total ?? 0
