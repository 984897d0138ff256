import type { EntityManager } from '@mikro-orm/sql'
import { newSecret } from '../server/platform/access/token-secret.ts'
import { newId } from '../server/platform/db/base.ts'
import { insertRows, readRow } from '../server/platform/db/statements.ts'
import { sha256 } from '../server/platform/http/keys.ts'
import { allowedScopes, type Role, type Scope } from '../server/platform/access/roles.ts'
import type { Services } from '../server/services.ts'
import { hashPassword } from '../server/accounts/users/hashing.ts'

export type UserOptions = { email?: string; displayName?: string; password?: string; isActive?: boolean; mustChangePassword?: boolean }

let made = 0
let commonHash: Promise<string> | undefined
const cheap = { ip: 'factories', config: { BCRYPT_COST: 4 }, state: {} }

/** Inserts a user directly into the database. The default password is `correct horse`. */
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

export type TokenLimits = { actions?: string; packages?: string; addresses?: string }

/** Inserts a token and returns its secret. By default, it has all scopes of the user's role and no limits. */
export async function makeToken({ database, now }: Services, userId: string, scopes?: Scope[], limits: TokenLimits = {}): Promise<string> {
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
    // Prevents a write at first use, which would change the counts of tests that count statements.
    last_used_at: now(),
    ...limits,
  }
  await insertRows(em, 'access_tokens', [row])
  return secret
}

async function roleOf(em: EntityManager, userId: string): Promise<Role> {
  const row = await readRow<{ role: Role }>(em, 'select role from users where id = ?', [userId])
  if (!row) throw new Error(`There is no user ${userId}.`)
  return row.role
}
