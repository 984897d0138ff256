import { raw, UniqueConstraintViolationException } from '@mikro-orm/core'
import { audit } from '../audit/service.ts'
import type { Context } from '../../platform/access/context.ts'
import { insufficientPermissions, invalidInput, notFound } from '../../errors.ts'
import { clearCookie, readCookie, setCookie } from '../../platform/http/cookies.ts'
import { equalSecrets, randomText, sha256, hmac, type Keys, validKeys } from '../../platform/http/keys.ts'
import type { Services } from '../../services.ts'
import { User } from '../users/entity.ts'
import { hashPassword } from '../users/hashing.ts'
import { emailKey } from '../users/input.ts'
import { acceptPassword } from '../users/password.ts'
import { isSetUp } from '../../platform/access/setup-gate.ts'
import { SetupCode } from './entity.ts'
import type { EntityManager } from '@mikro-orm/sql'
import { newId } from '../../platform/db/base.ts'
import { lockTable } from '../../platform/db/statements.ts'
import { othersSince } from '../../platform/db/open/servers.ts'

const completionMs = 30 * 60_000
const maxFailures = 20

/** Logs a setup code if the server has no owner. Creates a new code, which invalidates older ones, unless another instance has announced one. */
export async function announceSetupCode(services: Services): Promise<void> {
  if (await isSetUp(services)) return
  announce(services, await services.database.fork().transactional((em) => codeForStart(em, services)))
}

/**
 * Verifies the setup code. After that, only the same IP address can complete the setup within 30 minutes, with the one-time secret that is returned
 * and set as a cookie. Verifying again replaces the secret.
 * @throws ApiError InvalidInput for a wrong code; InsufficientPermissions when another address verified the code first.
 */
export async function verifySetupCode(context: Context, code: string): Promise<string> {
  const { em, ip, now, reply, config } = context
  const current = await newestCode(em)
  if (!current || isExpired(current, now())) throw invalidInput('code: has expired. Restart the server for a new one.', 'code')
  if (!fits(current, code)) return rejectWrongCode(context, current)
  const token = randomText()
  const claimable = { id: current.id, $or: [{ verifiedIp: null }, { verifiedIp: ip }] }
  const claimed = await em.nativeUpdate(SetupCode, claimable, { verifiedIp: ip, verifiedAt: now(), tokenHash: sha256(token) })
  if (!claimed) throw otherAddress()
  setCookie(reply, 'setup', config.SERVER_URL, token, completionMs / 1000)
  return token
}

type OwnerAccount = { email: string; displayName: string; password: string; setupToken?: string | null | undefined }

/**
 * Creates the owner. Requires the IP address that verified the code, and its secret as `setupToken` or in the cookie.
 * @throws ApiError NotFound after the setup; InsufficientPermissions without a verified code; InvalidInput for the account.
 */
export async function completeSetup(context: Context, input: OwnerAccount): Promise<User> {
  const { em, ip, now, config, request, reply } = context
  const code = await newestCode(em)
  // Codes are deleted when the setup is completed, possibly by a concurrent request.
  if (!code) await rejectAfterSetup(context)
  const proven = requireVerified(code, { ip, token: input.setupToken ?? readCookie(request, 'setup', config.SERVER_URL), now: now() })
  const passwordHash = await hashPassword(context, await acceptPassword(context, input.password, input))
  const owner = await makeOwner(context, proven, { ...input, passwordHash })
  clearCookie(reply, 'setup', config.SERVER_URL)
  return owner
}

type NewOwner = Pick<OwnerAccount, 'email' | 'displayName'> & { passwordHash: string }

/** Creates the owner and ends the setup, unless another client has verified the code since. */
async function makeOwner(context: Context, proven: SetupCode, { email, displayName, passwordHash }: NewOwner): Promise<User> {
  const { em, ip, now } = context
  try {
    return await em.transactional(async (inner) => {
      const taken = await inner.nativeDelete(SetupCode, { id: proven.id, tokenHash: proven.tokenHash })
      if (!taken) throw (await isSetUp(context)) ? alreadySetUp() : otherClient()
      const account = { email, emailKey: emailKey(email), displayName, role: 'owner', passwordHash, createdAt: now() } as const
      const owner = inner.create(User, account)
      audit(inner, { kind: 'server.setup_completed', actor: owner, user: owner, summary: `${displayName} completed the setup`, ip })
      await inner.nativeDelete(SetupCode, {})
      return owner
    })
  } catch (error) {
    // A unique index allows only one owner, so one of two concurrent completions fails here.
    if (error instanceof UniqueConstraintViolationException) throw alreadySetUp()
    throw error
  }
}

const alreadySetUp = () => notFound('The server is already set up. Sign in instead.')
const otherAddress = () =>
  insufficientPermissions(
    'The code was verified from another address. Restart the server for a new code; behind a proxy, check TRUST_PROXY.',
  )

const otherClient = () =>
  insufficientPermissions(
    'Another client verified the code. Enter the code again here, or send the setupToken that POST /api/setup/verify returned.',
  )

/** Checks that the setup is not complete yet. @throws ApiError NotFound once there is an owner. */
export async function rejectAfterSetup(context: Context): Promise<void> {
  if (await isSetUp(context)) throw alreadySetUp()
}

async function rejectWrongCode(context: Context, { id }: SetupCode): Promise<never> {
  const replacement = await context.em.transactional(async (inner) => {
    // Incremented by the statement itself, so that concurrent wrong attempts are all counted and exactly one reaches the limit.
    await inner.nativeUpdate(SetupCode, { id }, { failures: raw('failures + 1') })
    const counted = await inner.findOne(SetupCode, { id }, { refresh: true })
    return counted?.failures === maxFailures ? makeCode(inner, context.keys, context.now()) : null
  })
  if (replacement) announce(context, replacement)
  throw invalidInput('code: is wrong. It is in the newest "Setup code" line of the server\'s log.', 'code')
}

type Claim = { ip: string; token: string | undefined; now: Date }

function requireVerified(current: SetupCode | undefined, { ip, token, now }: Claim): SetupCode {
  if (!current?.verifiedAt || !current.verifiedIp || !current.tokenHash) throw insufficientPermissions('Enter the setup code first.')
  if (current.verifiedIp !== ip) throw otherAddress()
  if (current.verifiedAt.getTime() + completionMs <= now.getTime())
    throw insufficientPermissions('The code was verified more than 30 minutes ago. Enter it again.')
  if (!token || !equalSecrets(sha256(token), current.tokenHash)) throw otherClient()
  return current
}

function announce({ log, config }: Pick<Services, 'log' | 'config'>, code: string): void {
  log.announce(`Open ${config.SERVER_URL}/setup and enter the setup code.`)
  log.announce(`Setup code: ${code}`)
}

// Characters that are not easily confused. A code of 12 has 59 bits, which cannot be guessed with 5 attempts per 15 minutes and a new code after 20
// failures.
const alphabet = '23456789ABCDEFGHJKMNPQRSTUVWXYZ'
const letters = 12
const codeLifetimeMs = 24 * 3_600_000

/** Returns the current code, which is the newest; undefined without a code. */
const newestCode = (em: EntityManager): Promise<SetupCode | undefined> =>
  em.find(SetupCode, {}, { orderBy: { createdAt: 'desc', id: 'desc' }, limit: 1 }).then(([code]) => code)

const isExpired = ({ createdAt }: SetupCode, now: Date): boolean => createdAt.getTime() + codeLifetimeMs <= now.getTime()

/** Returns whether the entered text matches the code, ignoring case, dashes and spaces. */
const fits = ({ hash }: SetupCode, entered: string): boolean => equalSecrets(sha256(normalize(entered)), hash)

/** Creates a new code, which replaces all earlier ones. Only its hash is stored. */
function makeCode(em: EntityManager, keys: Keys, createdAt: Date): string {
  const id = newId()
  const code = codeOf(keys, id)
  em.create(SetupCode, { id, hash: sha256(normalize(code)), createdAt })
  return code
}

/**
 * Returns the setup code for a starting instance. Reuses the code that another running instance has announced, unless it was already entered, so
 * that the log of every instance shows a valid code. Otherwise creates a new one. Instances that start at the same time share one code.
 */
async function codeForStart(em: EntityManager, { keys, now }: Pick<Services, 'keys' | 'now'>): Promise<string> {
  await lockTable(em, 'setup_codes', 'share row exclusive')
  const [newest, since] = [await newestCode(em), await othersSince(em)]
  const isTheirs = newest && since !== null && newest.createdAt >= since && newest.verifiedAt === null && !isExpired(newest, now())
  // The code is derived from the secret keys. An instance with another JWT_SECRET would derive a different one.
  const codes = isTheirs ? validKeys(keys).map((valid) => codeOf(valid, newest.id)) : []
  return codes.find((code) => newest && fits(newest, code)) ?? makeCode(em, keys, now())
}

/** Derives the code with this id from the secret keys, so that all instances can compute it. */
function codeOf({ setup }: Pick<Keys, 'setup'>, id: string): string {
  let rest = BigInt(`0x${hmac(setup, id)}`)
  const code = Array.from({ length: letters }, () => {
    const letter = alphabet[Number(rest % BigInt(alphabet.length))]
    rest /= BigInt(alphabet.length)
    return letter
  })
  return code.join('').replace(/(.{4})(?=.)/g, '$1-')
}

/** Normalizes a setup code: upper case, without dashes, spaces and other characters. */
const normalize = (code: string): string => code.toUpperCase().replace(/[^0-9A-Z]/g, '')
