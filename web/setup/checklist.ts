import { computed } from 'vue'
import type { RouteLocationRaw } from 'vue-router'
import { SetupChecklistDocument, type SetupStep, UpdateSetupChecklistDocument } from '../generated/graphql.ts'
import { useMutation, useQuery } from '../graphql.ts'
import { useSession } from '../sign-in/session.ts'
import { useRefresh } from '../overview/attention.ts'

/** Interval in milliseconds at which the steps are read again while the page is visible. */
const refreshMs = 10_000

interface StepText {
  title: string
  text: string
  to: RouteLocationRaw
}

export type StepRow = StepText & { step: SetupStep; isDone: boolean; isOptional: boolean }

/** Texts of the steps, and where to do each of them. */
const stepTexts: Record<SetupStep, StepText> = {
  TOKEN: { title: 'Create an access token', text: 'The dart and flutter tools sign in with it.', to: '/settings/tokens?new=1' },
  PACKAGE: { title: 'Publish the first package', text: 'One line in its pubspec, one command.', to: '/help/publishing' },
  BACKUPS: { title: 'Set up backups', text: 'Two settings. Done after the first complete backup.', to: '/help/backup-and-restore' },
  SDK: { title: 'Install a Dart SDK', text: 'For scores by pana and documentation by dart doc.', to: '/admin/sdks' },
  PEOPLE: { title: 'Invite people', text: 'Create accounts, or send invitation links.', to: '/admin/users' },
  HTTPS: { title: 'Use HTTPS', text: 'A reverse proxy encrypts passwords and tokens.', to: '/help/reverse-proxy' },
  SECOND_FACTOR: {
    title: 'Protect administrators',
    text: 'Each of them adds a passkey or an authenticator app.',
    to: '/settings/security',
  },
  SIGN_IN: { title: 'Add company sign-in', text: 'People sign in with the accounts of your company.', to: '/admin/sign-in' },
  MIRROR: { title: 'Mirror pub.dev', text: 'Set UPSTREAM_URL=https://pub.dev. All packages then come from this server.', to: '/mirror' },
  TRUSTED_PUBLISHING: { title: 'Publish from CI', text: 'Jobs publish without a stored token.', to: '/admin/token-issuers' },
}

/** Returns the steps after the setup, kept up to date, so that a row turns green by itself when it is done elsewhere. */
export function useChecklist() {
  const { viewer } = useSession()
  const { data, ...state } = useQuery(SetupChecklistDocument, { isWanted: () => viewer.value !== undefined })
  useRefresh(state.retry, refreshMs)
  const checklist = computed(() => data.value?.setupChecklist)
  const steps = computed(() => (checklist.value?.steps ?? []).map(({ step, ...state }) => ({ step, ...state, ...stepTexts[step] })))
  /** Optional steps do not count. */
  const required = computed(() => steps.value.filter(({ isOptional }) => !isOptional))
  const doneCount = computed(() => required.value.filter(({ isDone }) => isDone).length)
  /** Whether the overview shows the checklist: until all required steps are done or an administrator has hidden it. */
  const isShown = computed(() => checklist.value?.isHidden === false && doneCount.value < required.value.length)
  return { ...state, checklist, steps, required, doneCount, isShown }
}

export type Checklist = ReturnType<typeof useChecklist>

export const useUpdateChecklist = () => useMutation(UpdateSetupChecklistDocument)
