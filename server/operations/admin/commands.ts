import { UniqueConstraintViolationException } from '@mikro-orm/core'
import type { EntityManager } from '@mikro-orm/sql'
import { constants } from 'node:fs'
import { access, readFile, stat } from 'node:fs/promises'
import { importAdvisories } from '../../registry/advisories/import.ts'
import { audit } from '../../accounts/audit/service.ts'
import { conflict, notFound } from '../../errors.ts'
import { Invite } from '../../accounts/invites/entity.ts'
import { importSdk } from '../../analysis/sdks/installing/import.ts'
import { titleOf } from '../../analysis/sdks/service.ts'
import { revokeSessions } from '../../accounts/sessions/service.ts'
import { User } from '../../accounts/users/entity.ts'
import { generatePassword } from '../../accounts/users/password.ts'
import { hashPassword } from '../../accounts/users/hashing.ts'
import { emailKey } from '../../accounts/users/input.ts'
import { adminCommand } from '../../platform/config/version.ts'
import type { Operation, Outcome } from './command.ts'

/**
 * Sets a one-time password for an account, which may be the owner's, and ends its sessions. Access tokens remain valid.
 * @returns the message for the operator.
 * @throws ApiError NotFound.
 */
export async function resetPassword({ em, config }: Operation, email = ''): Promise<Outcome> {
  const user = await person(em, email)
  const password = generatePassword()
  const passwordHash = await hashPassword({ config, ip: 'operator' }, password)
  await em.transactional(async (inner) => {
    // Write first. SQLite makes the first statement wait for a running server, but fails a write that follows a read.
    if (!(await inner.nativeUpdate(User, { id: user.id }, { passwordHash, mustChangePassword: true }))) throw unknown(email)
    await revokeSessions(inner, user.id)
    await inner.nativeDelete(Invite, { user: user.id })
    audit(inner, { kind: 'user.password_reset', actor: null, user, summary: byOperator(`reset the password of ${user.displayName}`) })
  })
  const hint = user.isActive ? '' : `\nThe account is disabled. Enable it first: ${adminCommand} enable-user ${user.email}`
  const url = `${config.SERVER_URL}/login`
  const text = `New password of ${user.email}: ${password}\nSign in with it at ${url} and choose another.${hint}`
  return { text, data: { email: user.email, password, url, isActive: user.isActive } }
}

/**
 * Transfers the ownership to an account of any role. The previous owner becomes an administrator in the same transaction.
 * @returns the message for the operator.
 * @throws ApiError NotFound; Conflict when the account cannot sign in.
 */
export async function makeOwner({ em }: Operation, email = ''): Promise<string> {
  const user = await person(em, email)
  if (user.role === 'owner') return `${user.email} is already the owner.`
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
 * Imports the security advisories in a file.
 * @returns the message for the operator.
 * @throws ApiError InvalidInput; Error when the file cannot be read.
 */
export async function importAdvisoryFile({ em }: Operation, path = ''): Promise<string> {
  await requireFile(path)
  const text = await readFile(path, 'utf8')
  const { imported, updated, unchanged } = await importAdvisories({ em, actor: null, now: new Date() }, text)
  return `Imported ${imported.length}, updated ${updated.length}, unchanged ${unchanged.length}.`
}

/**
 * Imports an SDK archive, which the server then installs.
 * @returns the message for the operator.
 * @throws ApiError InvalidInput, Conflict; Error when the file cannot be read or the disk is full.
 */
export async function importSdkFile({ em, config }: Operation, path = ''): Promise<string> {
  await requireFile(path)
  const install = await importSdk({ em, config }, path, new Date())
  return `${titleOf(install)} (${install.channel}) was imported. The server installs it now, or when it starts. For the progress see /admin/sdks.`
}

/**
 * Checks that a file is readable. Pipes are allowed.
 * @throws Error that names the file and the problem.
 */
async function requireFile(path: string): Promise<void> {
  try {
    if ((await stat(path)).isDirectory()) throw new Error(`${path} is a folder. Name a file.`)
    await access(path, constants.R_OK)
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'ENOENT' || code === 'ENOTDIR')
      throw new Error(`File ${path} not found (${code}). Relative paths are resolved from ${process.cwd()}.`, { cause: error })
    if (code === 'EACCES')
      throw new Error(`${path} cannot be read: permission denied. Make it readable for the current user.`, { cause: error })
    throw error
  }
}

/**
 * Returns the account with this e-mail address.
 * @throws ApiError NotFound.
 */
export async function person(em: EntityManager, email = '') {
  const user = await em.findOne(User, { emailKey: emailKey(email) }, { populate: ['passwordHash'] })
  if (!user) throw unknown(email)
  return user
}

/** Returns the summary of an audit entry for a change by an admin command. */
export const byOperator = (done: string): string => `The operator ${done}, on the command line`

const unknown = (email: string) => notFound(`There is no user with the e-mail address ${email}.`)
const justChanged = () => conflict('The accounts were changed at the same time. Try again.')
