import { UniqueConstraintViolationException } from '@mikro-orm/core'
import type { EntityManager } from '@mikro-orm/sql'
import { constants } from 'node:fs'
import { access, readFile, stat } from 'node:fs/promises'
import { importAdvisories } from '../advisories/import.ts'
import { audit } from '../audit/service.ts'
import { conflict, notFound } from '../errors.ts'
import { Invite } from '../invites/entity.ts'
import { importSdk } from '../sdks/installing/import.ts'
import { titleOf } from '../sdks/service.ts'
import { revokeSessions } from '../sessions/service.ts'
import { User } from '../users/entity.ts'
import { generatePassword } from '../users/generate-password.ts'
import { hashPassword } from '../users/hashing.ts'
import { emailKey } from '../users/input.ts'
import { adminCommand } from '../version.ts'
import type { Operation, Outcome } from './command.ts'

/**
 * Gives somebody, the owner included, a one-time password and ends their sessions; tokens stay.
 * @returns what to tell the operator.
 * @throws ApiError NotFound.
 */
export async function resetPassword({ em, config }: Operation, email = ''): Promise<Outcome> {
  const user = await person(em, email)
  const password = generatePassword()
  const passwordHash = await hashPassword({ config, ip: 'operator' }, password)
  await em.transactional(async (inner) => {
    // A write comes first: it waits for its turn beside a running server, where a write after a read would fail.
    if (!(await inner.nativeUpdate(User, { id: user.id }, { passwordHash, mustChangePassword: true }))) throw unknown(email)
    await revokeSessions(inner, user.id)
    await inner.nativeDelete(Invite, { user: user.id })
    audit(inner, { kind: 'user.password_reset', actor: null, user, summary: byOperator(`reset the password of ${user.displayName}`) })
  })
  const hint = user.isActive
    ? ''
    : `\nThe account is disabled. Enable it before anybody can sign in: ${adminCommand} enable-user ${user.email}`
  const url = `${config.SERVER_URL}/login`
  const text = `New password of ${user.email}: ${password}\nSign in with it at ${url} and choose another.${hint}`
  return { text, data: { email: user.email, password, url, isActive: user.isActive } }
}

/**
 * Makes somebody the owner, whatever their role; the owner so far becomes an administrator, in one step.
 * @returns what to tell the operator.
 * @throws ApiError NotFound; Conflict when the person cannot sign in.
 */
export async function makeOwner({ em }: Operation, email = ''): Promise<string> {
  const user = await person(em, email)
  if (user.role === 'owner') return `${user.email} is the owner already.`
  if (!user.isActive) throw conflict(`${user.email} is disabled. Enable the account first: ${adminCommand} enable-user ${user.email}`)
  if (!user.passwordHash) throw conflict(`${user.email} has no password yet. Give one first: ${adminCommand} reset-password ${user.email}`)
  const previous = await em.findOne(User, { role: 'owner' })
  const summary = byOperator(`made ${user.displayName} the owner${previous ? ` in place of ${previous.displayName}` : ''}`)
  try {
    await em.transactional(async (inner) => {
      await inner.nativeUpdate(User, { role: 'owner' }, { role: 'admin' })
      if (!(await inner.nativeUpdate(User, { id: user.id, isActive: true }, { role: 'owner' }))) throw justChanged()
      audit(inner, { kind: 'owner.transferred', actor: null, user, summary })
    })
  } catch (error) {
    throw error instanceof UniqueConstraintViolationException ? justChanged() : error
  }
  return `${user.email} is the owner now.${previous ? ` ${previous.email} is an administrator.` : ''}`
}

/**
 * Keeps the security advisories of a file.
 * @returns what to tell the operator.
 * @throws ApiError InvalidInput; Error when the file cannot be read.
 */
export async function importAdvisoryFile({ em }: Operation, path = ''): Promise<string> {
  await requireFile(path)
  const text = await readFile(path, 'utf8')
  const { imported, updated, unchanged } = await importAdvisories({ em, actor: null, now: new Date() }, text)
  return `Imported ${imported.length}, updated ${updated.length}, unchanged ${unchanged.length}.`
}

/**
 * Takes in the archive of an SDK for the server to install.
 * @returns what to tell the operator.
 * @throws ApiError InvalidInput, Conflict; Error when the file cannot be read or there is no room for it.
 */
export async function importSdkFile({ em, config }: Operation, path = ''): Promise<string> {
  await requireFile(path)
  const install = await importSdk({ em, config }, path, new Date())
  return `${titleOf(install)} (${install.channel}) was taken in: the server installs it, at once or when it starts. /admin/sdks shows how far it is.`
}

/**
 * Looks whether a file that a command was given can be read; pipes are files here.
 * @throws Error that names it, and says what is wrong.
 */
async function requireFile(path: string): Promise<void> {
  try {
    if ((await stat(path)).isDirectory()) throw new Error(`${path} is a folder. Name a file.`)
    await access(path, constants.R_OK)
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'ENOENT' || code === 'ENOTDIR')
      throw new Error(`There is no file ${path} (${code}). Check its name: a relative one begins at ${process.cwd()}.`, { cause: error })
    if (code === 'EACCES')
      throw new Error(`${path} cannot be read: permission denied. Let this account read it, or copy it.`, { cause: error })
    throw error
  }
}

/**
 * The account with this e-mail address.
 * @throws ApiError NotFound.
 */
export async function person(em: EntityManager, email = '') {
  const user = await em.findOne(User, { emailKey: emailKey(email) }, { populate: ['passwordHash'] })
  if (!user) throw unknown(email)
  return user
}

/** What the audit log says of a change that was made by a command. */
export const byOperator = (done: string): string => `The operator ${done}, on the command line`

const unknown = (email: string) => notFound(`There is no user with the e-mail address ${email}.`)
const justChanged = () => conflict('The accounts were changed a moment ago. Try again.')
