import { sha256 } from '../server/http/keys.ts'
import type { Services } from '../server/services.ts'
import { type Scope } from '../server/roles/roles.ts'
import { AccessToken } from '../server/tokens/entity.ts'
import { newSecret } from '../server/access/token-secret.ts'
import { type Role } from '../server/roles/roles.ts'
import { User } from '../server/users/entity.ts'
import { hashPassword } from '../server/users/hashing.ts'
import { allowedScopes } from '../server/roles/roles.ts'

export type UserOptions = { email?: string; displayName?: string; password?: string; isActive?: boolean; mustChangePassword?: boolean }

let made = 0
let commonHash: Promise<string> | undefined
const cheap = { ip: 'factories', config: { BCRYPT_COST: 4 } }

/** An account as if it had always been there; its password is `correct horse` unless said otherwise. */
export async function makeUser({ database, now }: Services, role: Role, options: UserOptions = {}) {
  const { password, email = `${role}-${++made}@example.com`, displayName = `${role} ${made}`, ...rest } = options
  const passwordHash = await (password === undefined
    ? (commonHash ??= hashPassword(cheap, 'correct horse'))
    : hashPassword(cheap, password))
  const em = database.fork()
  const user = em.create(User, { email, emailKey: email.toLowerCase(), displayName, role, passwordHash, createdAt: now(), ...rest })
  await em.flush()
  return { id: user.id, email, displayName }
}

/** A token of somebody, with every scope of their role unless said otherwise; gives the secret. */
export async function makeToken({ database, now }: Services, userId: string, scopes?: Scope[]): Promise<string> {
  const em = database.fork()
  const user = await em.findOneOrFail(User, userId)
  const secret = newSecret()
  em.create(AccessToken, {
    user,
    name: 'test',
    hash: sha256(secret),
    prefix: secret.slice(0, 12),
    scopes: (scopes ?? allowedScopes(user.role)).join(','),
    createdAt: now(),
    // Otherwise the first use would write, and tests that count statements would count that.
    lastUsedAt: now(),
  })
  await em.flush()
  return secret
}
