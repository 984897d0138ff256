import type { EntityManager } from '@mikro-orm/sql'
import { newSecret } from '../server/access/token-secret.ts'
import { newId } from '../server/db/base.ts'
import { insertRows, readRow } from '../server/db/statements.ts'
import { sha256 } from '../server/http/keys.ts'
import { allowedScopes, type Role, type Scope } from '../server/roles/roles.ts'
import type { Services } from '../server/services.ts'
import { hashPassword } from '../server/users/hashing.ts'

export type UserOptions = { email?: string; displayName?: string; password?: string; isActive?: boolean; mustChangePassword?: boolean }

let made = 0
let commonHash: Promise<string> | undefined
const cheap = { ip: 'factories', config: { BCRYPT_COST: 4 } }

/** An account as if it had always been there; its password is `correct horse` unless said otherwise. */
export async function makeUser({ database, now }: Services, role: Role, options: UserOptions = {}) {
  const { password, email = `${role}-${++made}@example.com`, displayName = `${role} ${made}` } = options
  const { isActive = true, mustChangePassword = false } = options
  const passwordHash = await (password === undefined
    ? (commonHash ??= hashPassword(cheap, 'correct horse'))
    : hashPassword(cheap, password))
  const user = { id: newId(), email, displayName }
  const row = {
    id: user.id,
    created_at: now(),
    email,
    email_key: email.toLowerCase(),
    display_name: displayName,
    role,
    is_active: isActive,
    must_change_password: mustChangePassword,
    password_hash: passwordHash,
  }
  await insertRows(database.fork(), 'users', [row])
  return user
}

/** A token of somebody, with every scope of their role unless said otherwise; gives the secret. */
export async function makeToken({ database, now }: Services, userId: string, scopes?: Scope[]): Promise<string> {
  const em = database.fork()
  const secret = newSecret()
  const row = {
    id: newId(),
    created_at: now(),
    user_id: userId,
    name: 'test',
    hash: sha256(secret),
    prefix: secret.slice(0, 12),
    scopes: (scopes ?? allowedScopes(await roleOf(em, userId))).join(','),
    // Otherwise the first use would write, and tests that count statements would count that.
    last_used_at: now(),
  }
  await insertRows(em, 'access_tokens', [row])
  return secret
}

async function roleOf(em: EntityManager, userId: string): Promise<Role> {
  const row = await readRow<{ role: Role }>(em, 'select role from users where id = ?', [userId])
  if (!row) throw new Error(`There is no user ${userId}.`)
  return row.role
}
