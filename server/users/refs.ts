import { builder } from '../builder.ts'
import type { Viewer } from './policy.ts'

/** The fields of an account that the API shows; both a row and a viewer have them. */
export type PublicUser = Viewer & { passwordHash?: string | null | undefined }

/** The type of accounts, apart from its description, since many features name it. */
export const UserRef = builder.objectRef<PublicUser>('User')

/** The fields of a user as REST shows them (decisions §2). */
export const userFields = 'userId: uuid email displayName role isActive mustChangePassword status avatarUrl createdAt lastLoginAt'

/** The roles and states are lower-case words on REST. */
export const restUser = (user: unknown): unknown => {
  const { role, status, ...rest } = user as { role: string; status: string }
  return { ...rest, role: role.toLowerCase(), status: status.toLowerCase() }
}
