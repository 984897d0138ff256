import { UniqueConstraintViolationException } from '@mikro-orm/core'
import type { EntityManager } from '@mikro-orm/sql'
import { removeFactors } from '../../accounts/security/reset.ts'
import { listUsers } from '../../accounts/profile/list.ts'
import { operator } from '../../accounts/audit/entity.ts'
import { audit } from '../../accounts/audit/service.ts'
import { sharedClock } from '../../platform/db/open/servers.ts'
import { conflict, invalidInput, notFound } from '../../errors.ts'
import { Invite } from '../../accounts/invites/entity.ts'
import { maySignInWithPassword, type Role, roles } from '../../platform/access/roles.ts'
import { revokeSessions } from '../../accounts/sessions/service.ts'
import { SetupCode } from '../../accounts/setup/entity.ts'
import { hasAccepted } from '../../accounts/users/policy.ts'
import { changeUnlessOwner, requirePerson } from '../../accounts/users/service.ts'
import { User } from '../../accounts/users/entity.ts'
import { generatePassword } from '../../accounts/users/password.ts'
import { hashPassword } from '../../accounts/users/hashing.ts'
import { displayName, email as address, emailKey } from '../../accounts/users/input.ts'
import { adminCommand } from '../../platform/config/version.ts'
import { type Operation, type Outcome, counted } from './command.ts'
import { idOf } from '../../platform/db/base.ts'
import { AccessToken } from '../../accounts/tokens/entity.ts'
import { withDescendants, revokeTree } from '../../accounts/tokens/revoke.ts'

/** Lists the accounts by e-mail address, optionally filtered by role. Throws InvalidInput for an unknown role. */
export async function listAccounts({ em }: Operation, wanted?: string): Promise<Outcome> {
  const role = wanted === undefined ? undefined : roleIn(wanted)
  const users: ReturnType<typeof describeUser>[] = []
  for (let after: string | null | undefined; after !== null;) {
    const page = await listUsers(em, { role }, { by: 'email', direction: 'asc' }, { first: 100, after })
    users.push(...page.edges.map(({ node }) => describeUser(node)))
    after = page.pageInfo.hasNextPage ? page.pageInfo.endCursor : null
    em.clear()
  }
  const lines = users.map(({ email, role: has, status, lastLoginAt, displayName: name }) =>
    [email, has, status, lastLoginAt === null ? 'never signed in' : `last signed in ${lastLoginAt}`, name].join('  '),
  )
  return { text: [...lines, `${counted(users.length, 'accounts')}.`].join('\n'), data: { users } }
}

const describeUser = (user: User) => ({
  id: user.id,
  email: user.email,
  displayName: user.displayName,
  role: user.role,
  status: !user.isActive ? 'disabled' : hasAccepted(user) ? 'active' : 'invited',
  createdAt: user.createdAt.toISOString(),
  lastLoginAt: user.lastLoginAt?.toISOString() ?? null,
})

/** Creates an account with a one-time password. Throws InvalidInput; Conflict if the address is taken, or for a second owner. */
export async function createAccount({ em, config }: Operation, given: { email?: string; name?: string; role?: string }): Promise<Outcome> {
  const [email, name] = [parsed(address, given.email, '<email>'), parsed(displayName, given.name ?? given.email?.split('@')[0], '--name')]
  const role = roleIn(given.role ?? 'member')
  const key = emailKey(email)
  if (await em.count(User, { emailKey: key })) throw conflict(`An account with the e-mail address ${email} already exists.`)
  const owner = role === 'owner' ? await em.findOne(User, { role }) : null
  if (owner) throw conflict(`${owner.email} is the owner. To transfer the ownership: ${adminCommand} make-owner ${email}`)
  const password = generatePassword()
  const passwordHash = await hashPassword({ config, state: {}, ip: 'operator' }, password)
  const createdAt = (await sharedClock(em, config))()
  const account = { email, emailKey: key, displayName: name, role, passwordHash, mustChangePassword: true, createdAt }
  await em.transactional(async (inner) => insert(inner, account)).catch(explainConcurrentChange)
  const url = `${config.SERVER_URL}/login`
  const text = `Created an account for ${email} (${role}).\nOne-time password: ${password}\nSign in with it at ${url} and choose another.${refusalHint({ email, role }, config)}`
  return { text, data: { email, role, password, url } }
}

async function insert(
  em: EntityManager,
  account: Pick<User, 'email' | 'emailKey' | 'displayName' | 'role' | 'mustChangePassword' | 'createdAt'> & { passwordHash: string },
): Promise<void> {
  const user = em.create(User, account)
  await em.flush()
  const { displayName: name, role } = account
  // Invalidates the setup code, so that it cannot be used to create another owner.
  if (role === 'owner') await em.nativeDelete(SetupCode, {})
  const summary = byOperator(
    role === 'owner' ? `made ${name} the owner, which completed the setup` : `created an account for ${name} (${role})`,
  )
  audit(em, { kind: role === 'owner' ? 'server.setup_completed' : 'user.created', actor: null, user, summary })
}

/** Disables or enables an account. Disabling ends its sessions and blocks its tokens. Throws NotFound. */
export async function setActive({ em }: Operation, email: string | undefined, isActive: boolean): Promise<Outcome> {
  const user = await person(em, email)
  const state = isActive ? 'active' : 'disabled'
  const data = { email: user.email, isActive, changed: user.isActive !== isActive }
  if (!data.changed) return { text: `${user.email} is already ${state}.`, data }
  await em.transactional(async (inner) => {
    await changeUnlessOwner(inner, user.id, { isActive })
    if (!isActive) {
      await revokeSessions(inner, user.id)
      await inner.nativeDelete(Invite, { user: user.id })
    }
    audit(inner, { kind: 'user.updated', actor: null, user, summary: byOperator(`changed ${user.displayName}: ${state}`) })
  })
  return { text: `${user.email} is now ${state}.`, data }
}

/** Changes a role to any but owner. Throws NotFound, InvalidInput, Conflict for a service account, or InsufficientPermissions for the owner. */
export async function changeRole({ em }: Operation, email: string | undefined, wanted = ''): Promise<Outcome> {
  const role = roleIn(wanted)
  if (role === 'owner') throw invalidInput(`To transfer the ownership: ${adminCommand} make-owner <email>`)
  const user = await person(em, email)
  requirePerson(user)
  const data = { email: user.email, role, changed: user.role !== role }
  if (!data.changed) return { text: `${user.email} already has the role ${role}.`, data }
  await em.transactional(async (inner) => {
    await changeUnlessOwner(inner, user.id, { role, hasMappedRole: false })
    audit(inner, { kind: 'user.updated', actor: null, user, summary: byOperator(`changed ${user.displayName}: role ${role}`) })
  })
  return { text: `${user.email} now has the role ${role}.`, data }
}

function roleIn(text: string): Role {
  const word = text.toLowerCase()
  const role = roles.find((one) => one === (word === 'editor' ? 'member' : word))
  if (!role) throw invalidInput(`Unknown role ${text}. Use one of ${roles.join(', ')}.`)
  return role
}

function parsed(shape: typeof address, text: string | undefined, what: string): string {
  const result = shape.safeParse(text ?? '')
  if (!result.success) throw invalidInput(`${what}: ${result.error.issues[0]?.message ?? 'cannot be read'}.`)
  return result.data
}

/** Sets a one-time password, also for the owner, and ends the account's sessions but not its tokens. Throws NotFound; Conflict for a service account. */
export async function resetPasswordByEmail({ em, config }: Operation, email = ''): Promise<Outcome> {
  const user = await person(em, email)
  requirePerson(user)
  const password = generatePassword()
  const passwordHash = await hashPassword({ config, state: {}, ip: 'operator' }, password)
  await em.transactional(async (inner) => {
    // Write first. SQLite makes the first statement wait for a running server, but fails a write that follows a read.
    if (!(await inner.nativeUpdate(User, { id: user.id }, { passwordHash, mustChangePassword: true }))) throw unknown(email)
    await revokeSessions(inner, user.id)
    await inner.nativeDelete(Invite, { user: user.id })
    audit(inner, { kind: 'user.password_reset', actor: null, user, summary: byOperator(`reset the password of ${user.displayName}`) })
  })
  const hint = user.isActive ? '' : `\nThe account is disabled. Enable it first: ${adminCommand} enable-user ${user.email}`
  const url = `${config.SERVER_URL}/login`
  const text = `New password of ${user.email}: ${password}\nSign in with it at ${url} and choose another.${hint}${refusalHint(user, config)}`
  return { text, data: { email: user.email, password, url, isActive: user.isActive } }
}

/** Returns advice for a password that the server does not accept. */
const refusalHint = ({ email, role }: Pick<User, 'email' | 'role'>, config: Operation['config']): string =>
  maySignInWithPassword({ role, hasPassword: true }, config)
    ? ''
    : `\nThe server accepts passwords of the owner only (PASSWORD_SIGN_IN=owner). Set PASSWORD_SIGN_IN=all and restart it, or: ${adminCommand} make-owner ${email}`

/** Removes the second factor and the passkeys of an account, also the owner's, and ends its sessions. Throws NotFound. */
export async function resetSecondFactorByEmail({ em }: Operation, email = ''): Promise<Outcome> {
  const user = await person(em, email)
  await em.transactional(async (inner) => {
    // Write first, as in resetPasswordByEmail.
    await removeFactors(inner, user.id)
    const summary = byOperator(`reset the second factor of ${user.displayName}`)
    audit(inner, { kind: 'user.second_factor_reset', actor: null, user, summary })
  })
  const text = `${user.email} has no second factor and no passkeys any more. The password and the access tokens are unchanged.`
  return { text, data: { email: user.email } }
}

/** Makes an account the owner, and the previous owner an administrator. Throws NotFound; Conflict if it cannot sign in. */
export async function makeOwner({ em }: Operation, email = ''): Promise<string> {
  const user = await person(em, email)
  requirePerson(user)
  if (user.role === 'owner') return `${user.email} is already the owner.`
  if (!user.isActive) throw conflict(`${user.email} is disabled. Enable the account first: ${adminCommand} enable-user ${user.email}`)
  if (!user.passwordHash) throw conflict(`${user.email} has no password yet. Give one first: ${adminCommand} reset-password ${user.email}`)
  const previous = await em.findOne(User, { role: 'owner' })
  const summary = byOperator(`made ${user.displayName} the owner${previous ? ` in place of ${previous.displayName}` : ''}`)
  const transfer = async (inner: EntityManager) => {
    await inner.nativeUpdate(User, { role: 'owner' }, { role: 'admin', hasMappedRole: false })
    if (!(await inner.nativeUpdate(User, { id: user.id, isActive: true }, { role: 'owner' }))) throw justChanged()
    audit(inner, { kind: 'owner.transferred', actor: null, user, summary })
  }
  await em.transactional(transfer).catch(explainConcurrentChange)
  return `${user.email} is the owner now.${previous ? ` ${previous.email} is an administrator.` : ''}`
}

/** Returns the account with this e-mail address. Throws NotFound. */
async function person(em: EntityManager, email = '') {
  const user = await em.findOne(User, { emailKey: emailKey(email) }, { populate: ['passwordHash'] })
  if (!user) throw unknown(email)
  return user
}

/** Returns the summary of an audit entry for a change by an admin command. */
export const byOperator = (done: string): string => `${operator} ${done}, on the command line`

const unknown = (email: string) => notFound(`There is no user with the e-mail address ${email}.`)
const justChanged = () => conflict('The accounts were changed at the same time. Try again.')

function explainConcurrentChange(error: unknown): never {
  throw error instanceof UniqueConstraintViolationException ? justChanged() : error
}

/** Lists the active tokens of all accounts or of one, sorted by owner, without secrets. Throws NotFound. */
export async function listAccessTokens({ em }: Operation, email?: string): Promise<Outcome> {
  const where = { revokedAt: null, ...(email !== undefined && { user: (await person(em, email)).id }) }
  const found = await em.find(AccessToken, where, { populate: ['user'], orderBy: { user: { emailKey: 'asc' }, id: 'asc' } })
  const tokens = found.map((token) => ({
    id: token.id,
    owner: token.user.email,
    name: token.name,
    prefix: token.prefix,
    scopes: token.scopes.split(','),
    createdAt: token.createdAt.toISOString(),
    expiresAt: token.expiresAt?.toISOString() ?? null,
    lastUsedAt: token.lastUsedAt?.toISOString() ?? null,
  }))
  const lines = tokens.map(({ id, owner, prefix, scopes, expiresAt, lastUsedAt, name }) =>
    [id, owner, `${prefix}…`, scopes.join(','), `expires ${expiresAt ?? 'never'}`, `last used ${lastUsedAt ?? 'never'}`, name].join('  '),
  )
  return { text: [...lines, `${counted(tokens.length, 'tokens')}.`].join('\n'), data: { tokens } }
}

/** Revokes a token of any account, and all tokens created with it, immediately and permanently. Throws NotFound. */
export async function revokeAccessToken({ em, config }: Operation, given = ''): Promise<Outcome> {
  const id = idOf(given)
  const token = id === null ? null : await em.findOne(AccessToken, { id }, { populate: ['user'] })
  if (!token) throw notFound(`There is no token with the id ${given}.`)
  const { user, name } = token
  const now = (await sharedClock(em, config))()
  const revoked = await em.transactional(async (inner) => {
    const count = await revokeTree(inner, token.id, now)
    const summary = byOperator(`revoked the token "${name}" of ${user.displayName}${withDescendants(count)}`)
    if (count > 0) audit(inner, { kind: 'token.revoked', actor: null, user, summary })
    return count
  })
  const data = { id: token.id, owner: user.email, name, revoked }
  if (revoked === 0) return { text: `The token "${name}" of ${user.email} is already revoked.`, data }
  return { text: `The token "${name}" of ${user.email} is revoked${withDescendants(revoked)}.`, data }
}
