import { UniqueConstraintViolationException } from '@mikro-orm/core'
import type { EntityManager } from '@mikro-orm/sql'
import { listUsers } from '../../accounts/profile/list.ts'
import { audit } from '../../accounts/audit/service.ts'
import { sharedClock } from '../../platform/db/open/servers.ts'
import { conflict, invalidInput } from '../../errors.ts'
import { Invite } from '../../accounts/invites/entity.ts'
import { type Role, roles } from '../../platform/access/roles.ts'
import { revokeSessions } from '../../accounts/sessions/service.ts'
import { SetupCode } from '../../accounts/setup/entity.ts'
import { changeUnlessOwner } from '../../accounts/users/service.ts'
import { User } from '../../accounts/users/entity.ts'
import { generatePassword } from '../../accounts/users/password.ts'
import { hashPassword } from '../../accounts/users/hashing.ts'
import { displayName, email as address, emailKey } from '../../accounts/users/input.ts'
import { adminCommand } from '../../platform/config/version.ts'
import type { Operation, Outcome } from './command.ts'
import { counted } from './counted.ts'
import { byOperator, person } from './commands.ts'

/**
 * Lists the accounts by e-mail address, optionally filtered by role.
 * @throws ApiError InvalidInput for an unknown role.
 */
export async function listAccounts({ em }: Operation, wanted?: string): Promise<Outcome> {
  const role = wanted === undefined ? undefined : roleIn(wanted)
  const users: ReturnType<typeof describeUser>[] = []
  for (let after: string | null | undefined; after !== null;) {
    const page = await listUsers(em, { role }, 'email', { first: 100, after })
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
  status: !user.isActive ? 'disabled' : user.passwordHash == null ? 'invited' : 'active',
  createdAt: user.createdAt.toISOString(),
  lastLoginAt: user.lastLoginAt?.toISOString() ?? null,
})

/**
 * Creates an account with a one-time password. The role owner is allowed only if there is no owner, and then completes the setup.
 * @throws ApiError InvalidInput; Conflict when the e-mail address is taken, or an owner exists.
 */
export async function createAccount({ em, config }: Operation, given: { email?: string; name?: string; role?: string }): Promise<Outcome> {
  const [email, name] = [parsed(address, given.email, '<email>'), parsed(displayName, given.name ?? given.email?.split('@')[0], '--name')]
  const role = roleIn(given.role ?? 'member')
  const key = emailKey(email)
  if (await em.count(User, { emailKey: key })) throw conflict(`An account with the e-mail address ${email} already exists.`)
  const owner = role === 'owner' ? await em.findOne(User, { role }) : null
  if (owner) throw conflict(`${owner.email} is the owner. To transfer the ownership: ${adminCommand} make-owner ${email}`)
  const password = generatePassword()
  const passwordHash = await hashPassword({ config, ip: 'operator' }, password)
  const createdAt = (await sharedClock(em, config))()
  const account = { email, emailKey: key, displayName: name, role, passwordHash, mustChangePassword: true, createdAt }
  await em
    .transactional(async (inner) => insert(inner, account))
    .catch((error: unknown) => {
      throw error instanceof UniqueConstraintViolationException ? conflict('The accounts were changed at the same time. Try again.') : error
    })
  const url = `${config.SERVER_URL}/login`
  const text = `Created an account for ${email} (${role}).\nOne-time password: ${password}\nSign in with it at ${url} and choose another.`
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

/**
 * Disables an account, which ends its sessions and blocks its tokens, or enables it again.
 * @throws ApiError NotFound; InsufficientPermissions for the owner.
 */
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

/**
 * Changes the role of an account to any role but owner.
 * @throws ApiError NotFound; InvalidInput for an unknown role or owner as the new role; InsufficientPermissions if the account is the owner's.
 */
export async function changeRole({ em }: Operation, email: string | undefined, wanted = ''): Promise<Outcome> {
  const role = roleIn(wanted)
  if (role === 'owner') throw invalidInput(`To transfer the ownership: ${adminCommand} make-owner <email>`)
  const user = await person(em, email)
  const data = { email: user.email, role, changed: user.role !== role }
  if (!data.changed) return { text: `${user.email} already has the role ${role}.`, data }
  await em.transactional(async (inner) => {
    await changeUnlessOwner(inner, user.id, { role })
    audit(inner, { kind: 'user.updated', actor: null, user, summary: byOperator(`changed ${user.displayName}: role ${role}`) })
  })
  return { text: `${user.email} now has the role ${role}.`, data }
}

function roleIn(text: string): Role {
  const role = roles.find((one) => one === (text === 'editor' ? 'member' : text))
  if (!role) throw invalidInput(`Unknown role ${text}. Use one of ${roles.join(', ')}.`)
  return role
}

function parsed(shape: typeof address | typeof displayName, text: string | undefined, what: string): string {
  const result = shape.safeParse(text ?? '')
  if (!result.success) throw invalidInput(`${what}: ${result.error.issues[0]?.message ?? 'cannot be read'}.`)
  return result.data
}
