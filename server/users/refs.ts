import { builder } from '../graphql/builder.ts'
import type { Config } from '../config/config.ts'
import { basePath } from '../http/public-url.ts'
import type { Role } from '../roles/roles.ts'
import type { Viewer } from '../roles/viewer.ts'

/** The fields of an account that the API shows; both a row and a viewer have them. */
export type PublicUser = Viewer & { passwordHash?: string | null | undefined }

/** The type of accounts, apart from its description, since many features name it. */
export const UserRef = builder.objectRef<PublicUser>('User')

/** The fields of a user as REST shows them. */
export const userFields = 'userId: uuid email displayName role isActive mustChangePassword status avatarUrl createdAt lastLoginAt'

/** The same of a person who came by another way than GraphQL. */
export const describeUser = (user: PublicUser, config: Config) => {
  const { id: userId, email, displayName, role, isActive, mustChangePassword, createdAt, lastLoginAt = null } = user
  return {
    userId,
    email,
    displayName,
    role,
    isActive,
    mustChangePassword,
    status: statusOf(user),
    avatarUrl: avatarUrl(user, config),
    createdAt,
    lastLoginAt,
  }
}

/** Where an account is in its life. */
export function statusOf(user: PublicUser): 'invited' | 'active' | 'inactive' {
  if (!user.isActive) return 'inactive'
  // A viewer has signed in, so has a password; a row tells by itself.
  return user.passwordHash === null ? 'invited' : 'active'
}

/** Path of somebody's picture below SERVER_URL's, changing with the picture; null for none. */
export function avatarUrl({ id, avatarTag }: PublicUser, { SERVER_URL }: Config): string | null {
  return avatarTag ? `${basePath(SERVER_URL)}/api/users/${id}/avatar?v=${avatarTag}` : null
}

/**
 * The former name of the role `member`, for enums that clients send. Several names may stand for one value; the last one is written, so this
 * one comes first.
 */
export const formerMemberRole = { value: 'member', description: 'Former name of MEMBER.', deprecationReason: 'Use MEMBER.' } as const

export const RoleEnum = builder.enumType('Role', {
  description: 'What a person may do on this server; each role includes the ones before it.',
  values: {
    EDITOR: formerMemberRole,
    VIEWER: { value: 'viewer', description: 'Browse, search and download.' },
    MEMBER: { value: 'member', description: 'Also publish, and manage own packages.' },
    ADMIN: { value: 'admin', description: 'Also administer users, packages and the server.' },
    OWNER: { value: 'owner', description: 'Everything; there is exactly one.' },
  } satisfies Record<Uppercase<Role> | 'EDITOR', { value: Role; description: string }>,
})

export const UserStatus = builder.enumType('UserStatus', {
  description: 'State of an account.',
  values: {
    INVITED: { value: 'invited', description: 'Has not accepted the invitation yet, so cannot sign in.' },
    ACTIVE: { value: 'active', description: 'Can sign in.' },
    INACTIVE: { value: 'inactive', description: 'Was disabled by an administrator.' },
  },
})
