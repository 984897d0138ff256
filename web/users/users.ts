import { computed, type MaybeRefOrGetter, type Ref, toValue } from 'vue'
import { useSelection } from '../bulk/selection.ts'
import {
  type AssignableRole,
  type CreateUserMutation,
  CreateUserDocument,
  DeleteUserDocument,
  PeopleLikeDocument,
  ReinviteDocument,
  ResetPasswordDocument,
  ResetSecondFactorDocument,
  RevokeUserSessionDocument,
  RevokeUserSessionsDocument,
  RevokeUserTokenDocument,
  type Role,
  TransferOwnershipDocument,
  UpdateUserDocument,
  UserDocument,
  UsersDocument,
  type UserStatus,
} from '../generated/graphql.ts'
import { useMutation, useQuery } from '../graphql.ts'
import { useCursorList } from '../shared/cursor-list.ts'
import { useQueryParam } from '../shared/query-param.ts'
import { useSession } from '../sign-in/session.ts'

/** A secret that the server returns only once, for the administrator to hand over to the user. */
export interface IssuedSecret {
  title: string
  description: string
  secret: string
  what: string
  fileName: string
}

const member = { label: 'Member', description: 'Also publishes and manages their own packages.' }
export const roles = {
  OWNER: { label: 'Owner', description: 'Can do everything. There is exactly one owner.' },
  ADMIN: { label: 'Administrator', description: 'Also administers people, packages and the server.' },
  MEMBER: member,
  EDITOR: member, // deprecated name of the role
  VIEWER: { label: 'Viewer', description: 'Browses, searches and downloads.' },
} satisfies Record<Role, { label: string; description: string }>

export const states = {
  ACTIVE: { label: 'Active', icon: 'i-lucide-circle-check', color: 'success' },
  INVITED: { label: 'Invited', icon: 'i-lucide-mail', color: 'info' },
  INACTIVE: { label: 'Disabled', icon: 'i-lucide-ban', color: 'error' },
} as const satisfies Record<UserStatus, object>

const assignable = ['VIEWER', 'MEMBER', 'ADMIN'] as const satisfies AssignableRole[]
export const roleChoices = assignable.map((value) => ({ value, ...roles[value] }))

/** Lifetimes of an invitation, in hours. */
export const inviteLives = [
  { value: 24, label: '1 day' },
  { value: 72, label: '3 days' },
  { value: 168, label: '7 days' },
  { value: 720, label: '30 days' },
]
const lifeOf = (hours: number) => inviteLives.find(({ value }) => value === hours)?.label ?? `${hours} hours`

/** Returns whether the viewer is an administrator or the owner of the server. */
export function useAdministrator() {
  const { viewer, server } = useSession()
  return {
    viewer,
    isOwner: computed(() => server.value?.viewerCanTransferOwnership === true),
    isAdministrator: computed(() => server.value?.viewerCanAdminister === true),
  }
}

/** Returns a page of the users, filtered and sorted by the URL parameters `q`, `role`, `state` and `order`. The list is not read while `isPaused`. */
export function useUsers(isPaused: Ref<boolean>) {
  const resets = ['after']
  const text = useQueryParam<string>('q', '', { resets, replace: true })
  const role = useQueryParam<Role | 'any'>('role', 'any', { allowed: ['any', 'VIEWER', 'MEMBER', 'ADMIN', 'OWNER'], resets })
  const state = useQueryParam<UserStatus | 'any'>('state', 'any', { allowed: ['any', 'ACTIVE', 'INVITED', 'INACTIVE'], resets })
  const order = useQueryParam('order', 'newest', { allowed: ['newest', 'email'], resets })
  const filter = computed(() => ({
    query: text.value || null,
    role: role.value === 'any' ? null : role.value,
    status: state.value === 'any' ? null : state.value,
    orderBy: order.value === 'email' ? ('EMAIL' as const) : ('CREATED' as const),
  }))
  const { list } = useCursorList({
    document: UsersDocument,
    variables: (after) => ({ ...filter.value, after }),
    connection: (data) => data.users,
    isWanted: () => !isPaused.value,
  })
  const selection = useSelection({
    list,
    document: UsersDocument,
    filter: () => ({ ...filter.value, first: 100 }),
    page: (data) => data.users,
    isSelectable: ({ viewerCanChangeAccess }) => viewerCanChangeAccess,
  })
  /** The filter as query parameters of the REST API, for the file. */
  const parameters = computed(() => {
    const { query, ...rest } = filter.value
    return { q: query, ...rest }
  })
  const isFiltered = computed(() => text.value !== '' || role.value !== 'any' || state.value !== 'any')
  return { list, text, role, state, order, selection, parameters, isFiltered }
}

/** Returns the administrators to whom the ownership can be transferred. */
export function useActiveAdministrators() {
  const { data, ...query } = useQuery(UsersDocument, { variables: { role: 'ADMIN', status: 'ACTIVE', orderBy: 'EMAIL', first: 100 } })
  return { ...query, administrators: computed(() => data.value?.users?.nodes) }
}

/** Returns the users whose e-mail address or name contains the text. For administrators. */
export function usePeopleLike(text: MaybeRefOrGetter<string>) {
  const { data } = useQuery(PeopleLikeDocument, { variables: () => ({ query: toValue(text) }) })
  return computed(() => data.value?.users?.nodes ?? [])
}

/** Returns an account with its sessions, tokens and recent events. */
export function useUser(uuid: MaybeRefOrGetter<string>) {
  const { data, ...query } = useQuery(UserDocument, { variables: () => ({ uuid: toValue(uuid), actor: toValue(uuid) }) })
  const { viewer } = useSession()
  const user = computed(() => data.value?.user ?? undefined)
  const isOneself = computed(() => user.value !== undefined && user.value.id === viewer.value?.id)
  return {
    ...query,
    user,
    isOneself,
    /** Reason why the account cannot be changed here, or undefined. */
    guard: computed(() => {
      if (user.value?.viewerCanChangeAccess !== false) return undefined
      if (!user.value.viewerCanEdit) return 'The account of the owner cannot be changed here. Transfer the ownership instead.'
      return 'This is your own account. Change your password in your settings, and ask another administrator to change the rest.'
    }),
    /** The 20 latest events of both lists, newest first. Events in which users changed their own account are in both lists. */
    history: computed(() => {
      const entries = [...(data.value?.done?.nodes ?? []), ...(data.value?.about?.nodes ?? [])]
      const unique = new Map(entries.map((entry) => [entry.id, entry]))
      return [...unique.values()].toSorted((one, other) => Date.parse(other.createdAt) - Date.parse(one.createdAt)).slice(0, 20)
    }),
  }
}

export const useCreateUser = () => useMutation(CreateUserDocument)
export const useUpdateUser = () => useMutation(UpdateUserDocument)
export const useResetPassword = () => useMutation(ResetPasswordDocument)
export const useResetSecondFactor = () => useMutation(ResetSecondFactorDocument)
export const useReinvite = () => useMutation(ReinviteDocument)
export const useRevokeUserSession = () => useMutation(RevokeUserSessionDocument)
export const useRevokeUserSessions = () => useMutation(RevokeUserSessionsDocument)
export const useRevokeUserToken = () => useMutation(RevokeUserTokenDocument)
export const useDeleteUser = () => useMutation(DeleteUserDocument)
export const useTransferOwnership = () => useMutation(TransferOwnershipDocument)

/** The question before the second factor of an account is reset. */
export const factorReset = (displayName: string) => ({
  title: `Reset the second factor of ${displayName}?`,
  description:
    'Removes the passkeys, the authenticator app and the recovery codes, and ends all sessions. Do this only for someone whose identity you have checked.',
  action: 'Reset second factor',
})

const fileOf = (email: string, kind: string) => `${email.replace(/[^\w.-]+/g, '-')}-${kind}.txt`

export const oneTimePassword = ({ email, displayName }: { email: string; displayName: string }, secret: string): IssuedSecret => ({
  title: 'Hand over the one-time password',
  description: `The password is shown only once. No e-mail is sent: give it to ${displayName} yourself. They must change it at the first sign-in.`,
  secret,
  what: 'one-time password',
  fileName: fileOf(email, 'password'),
})

export const invitation = (
  { email, displayName }: { email: string; displayName: string },
  secret: string,
  hours: number,
): IssuedSecret => ({
  title: 'Hand over the invitation',
  description: `The link is shown only once. No e-mail is sent: give it to ${displayName} yourself. It can be used once and expires in ${lifeOf(hours)}.`,
  secret,
  what: 'invitation',
  fileName: fileOf(email, 'invitation'),
})

/** Returns the one-time password or the invitation link of a new account. */
export function secretOf({ user, generatedPassword, inviteUrl, inviteExpiresInHours }: CreateUserMutation['createUser']) {
  if (generatedPassword != null) return oneTimePassword(user, generatedPassword)
  return inviteUrl == null ? undefined : invitation(user, inviteUrl, inviteExpiresInHours ?? 168)
}
