import { builder } from '../../platform/graphql/builder.ts'
import type { Config } from '../../platform/config/config.ts'
import { basePath } from '../../platform/http/public-url.ts'
import { unauthenticated } from '../../platform/access/guards.ts'
import type { Role, UserKind, Viewer } from '../../platform/access/roles.ts'
import { hasAccepted } from './policy.ts'

/** The public fields of an account. Both a database row and a viewer have them. */
type PublicUser = Viewer & { passwordHash?: string | null | undefined }

/** The GraphQL type of accounts. Its fields are defined separately, because many features refer to it. */
export const UserRef = builder.objectRef<PublicUser>('User')

/** Names a user in arguments and input fields. */
export const UserReference = builder.inputType('UserReference', {
  description: 'A user, by exactly one of these fields.',
  isOneOf: true,
  extensions: { fromText: (text: string): Reference => (text.includes('@') ? { email: text } : { uuid: text }) },
  fields: (t) => ({
    email: t.string({ description: 'The e-mail address, case-insensitive.', extensions: { maxLength: 254 } }),
    userId: t.globalID({ for: [UserRef], description: 'The global id.' }),
    uuid: t.id({ description: 'The plain identifier, as REST shows it.' }),
  }),
})

export type Reference = { email?: string | null; userId?: { id: string } | null; uuid?: string | null }

/** Returns the e-mail address or plain identifier of a reference, which services accept; undefined without one. */
export const referencedUser = (reference: Reference | null | undefined): string | undefined =>
  reference?.email ?? reference?.userId?.id ?? reference?.uuid ?? undefined

/** The fields of a user in REST responses. */
export const userFields = 'userId: uuid email displayName role isActive mustChangePassword status avatarUrl createdAt lastLoginAt'

/** Options of routes that return fields of the signed-in user. */
export const ofViewer = { required: { viewer: unauthenticated }, caller: 'identity' } as const

/** Returns the same fields as `userFields`, for responses that do not use GraphQL. */
export const describeUser = (user: PublicUser, config: Config) => {
  const { id: userId, email, displayName, role, isActive, mustChangePassword, createdAt, lastLoginAt = null } = user
  const computed = { status: accountStatus(user), avatarUrl: avatarUrl(user, config) }
  return { userId, email, displayName, role, isActive, mustChangePassword, ...computed, createdAt, lastLoginAt }
}

/** Returns the state of an account: invited, active or inactive. */
export function accountStatus(user: PublicUser): 'invited' | 'active' | 'inactive' {
  if (!user.isActive) return 'inactive'
  return hasAccepted(user) ? 'active' : 'invited'
}

/** Returns the path of a user's picture, relative to the host; null without a picture. The path changes with the picture. */
export function avatarUrl({ id, avatarTag }: PublicUser, { SERVER_URL }: Config): string | null {
  return avatarTag ? `${basePath(SERVER_URL)}/api/users/${id}/avatar?v=${avatarTag}` : null
}

/**
 * The former name of the role `member`, for enums in requests. When several names have the same value, the last one is used in responses, so this one
 * must come first.
 */
export const formerMemberRole = {
  value: 'member',
  description: 'Former name of MEMBER.',
  deprecationReason: 'Use MEMBER; removed after 2027-06-30.',
} as const

/** The values of enums of the roles that an administrator can assign. */
export const assignableRoles = {
  EDITOR: formerMemberRole,
  VIEWER: { value: 'viewer', description: 'Browse, search and download.' },
  MEMBER: { value: 'member', description: 'Browse, search and download; publish, and manage own packages.' },
  ADMIN: { value: 'admin', description: 'Everything that a MEMBER can do; administer users, packages and the server.' },
} as const

export const AssignableRoleEnum = builder.enumType('AssignableRole', {
  description: 'A role that an administrator can assign. The ownership is transferred instead.',
  values: assignableRoles,
})

export const RoleEnum = builder.enumType('Role', {
  description:
    'Permissions of a user on this server. In ascending order: VIEWER, MEMBER, ADMIN, OWNER. Each includes the permissions of the lower ones.',
  values: {
    ...assignableRoles,
    OWNER: { value: 'owner', description: 'Full access. There is exactly one owner.' },
  } satisfies Record<Uppercase<Role> | 'EDITOR', { value: Role; description: string }>,
})

export const UserKindEnum = builder.enumType('UserKind', {
  description: 'Who uses an account.',
  values: {
    PERSON: { value: 'person', description: 'A person, who signs in.' },
    SERVICE: { value: 'service', description: 'A program. It has tokens only; see `ServiceAccount`.' },
  } satisfies Record<Uppercase<UserKind>, { value: UserKind; description: string }>,
})

export const UserStatus = builder.enumType('UserStatus', {
  description: 'State of an account.',
  values: {
    INVITED: { value: 'invited', description: 'Has not accepted the invitation yet and cannot sign in.' },
    ACTIVE: { value: 'active', description: 'Can sign in.' },
    INACTIVE: { value: 'inactive', description: 'Was disabled by an administrator.' },
  },
})
