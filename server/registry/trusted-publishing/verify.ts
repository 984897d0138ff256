import type { JSONWebKeySet } from 'jose'
import { missingAuthentication, serviceUnavailable } from '../../errors.ts'
import { db, prepared } from '../../platform/db/query.ts'
import { loadJose, publicKeyAlgorithms } from '../../platform/http/keys.ts'
import { isStorable, shown } from '../../platform/outbound/texts.ts'
import type { Services } from '../../services.ts'
import type { IssuerPreset } from './entity.ts'
import { areDue, areExpired, renewKeys } from './keys.ts'
import { type Claims, claimText } from './presets.ts'

/** A token whose signature, audience and times were checked. */
export type VerifiedToken = { issuerId: string; issuerName: string; preset: IssuerPreset; claims: Claims; expiresAt: Date }

const toleranceMs = 60_000
const maxLifetimeMs = 86_400_000

type Verifier = Pick<Services, 'config' | 'database' | 'log' | 'now' | 'state' | 'stopping'>

/** Why a job or its token is refused, as metrics count it. The last three: no rule is for the job, its rule does not allow it, too many attempts. */
type Refusal =
  | 'malformed'
  | 'issuer'
  | 'signature'
  | 'key'
  | 'keys_too_old'
  | 'audience'
  | 'expired'
  | 'clock'
  | 'no_rule'
  | 'rule'
  | 'rate_limited'

declare module '../../services.ts' {
  interface State {
    /** Refused tokens of jobs by reason, since this process started. */
    jobTokenRefusals?: Map<Refusal, number>
  }
}

export function countRefusal({ state }: Pick<Services, 'state'>, reason: Refusal): void {
  const counts = (state.jobTokenRefusals ??= new Map<Refusal, number>())
  counts.set(reason, (counts.get(reason) ?? 0) + 1)
}

/** A token that is not accepted. The message is for the job. */
class Rejected extends Error {
  readonly reason: Refusal
  constructor(reason: Refusal, message: string) {
    super(message)
    this.reason = reason
  }
}

/**
 * Verifies the token of a job.
 * @throws ApiError MissingAuthentication with the reason; ServiceUnavailable while the keys of the issuer are too old.
 */
export async function verifyToken(services: Verifier, token: string): Promise<VerifiedToken> {
  try {
    return await verify(services, token)
  } catch (error) {
    if (!(error instanceof Rejected)) throw error
    countRefusal(services, error.reason)
    throw missingAuthentication(error.message)
  }
}

async function verify(services: Verifier, token: string): Promise<VerifiedToken> {
  const { database, config, now } = services
  const iss = readUnverified(token, 'claims', 'iss')
  if (iss === null) throw new Rejected('malformed', 'This server accepts no tokens of this form.')
  requireStorable(iss)
  const issuer = await database.reads.get(issuerOf, iss)
  if (!issuer) throw new Rejected('issuer', `This server accepts no tokens of the issuer ${shown(iss)}.`)
  const claims = await verifySignature(services, token, {
    id: issuer.id,
    url: issuer.url,
    keySet: issuer.key_set,
    keysFetchedAt: issuer.keys_fetched_at,
    keysTriedAt: issuer.keys_tried_at,
  })
  requireStorable(claims)
  requireAudience(claims, config.SERVER_URL)
  if (claimText(claims, 'sub') === null) throw new Rejected('malformed', 'The token does not name its subject (sub).')
  const expiresAt = requireTimes(claims, now())
  return { issuerId: issuer.id, issuerName: issuer.name, preset: issuer.preset, claims, expiresAt }
}

const issuerOf = prepared((url: string) =>
  db
    .selectFrom('token_issuers')
    .select(['id', 'name', 'url', 'preset', 'key_set', 'keys_fetched_at', 'keys_tried_at'])
    .where('url', '=', url),
)

/** Returns a member of the header or the claims of a token before its signature is checked; null if it is not a text. */
function readUnverified(token: string, part: 'header' | 'claims', member: string): string | null {
  try {
    const encoded = token.split('.')[part === 'header' ? 0 : 1] ?? ''
    const value = (JSON.parse(Buffer.from(encoded, 'base64url').toString()) as Claims)[member]
    return typeof value === 'string' ? value : null
  } catch {
    return null
  }
}

type Keys = Parameters<typeof renewKeys>[1]

/** Checks the signature with the stored keys, and once more with new ones if the token names another key. Returns the claims. */
async function verifySignature(services: Verifier, token: string, stored: Keys): Promise<Claims> {
  const keys = areDue(stored, services.now()) ? await renewKeys(services, stored) : stored
  if (areExpired(keys, services.now())) {
    countRefusal(services, 'keys_too_old')
    throw serviceUnavailable(`The keys of the issuer ${stored.url} could not be fetched since ${keys.keysFetchedAt.toISOString()}.`, 60)
  }
  try {
    return await readSigned(token, keys.keySet)
  } catch (error) {
    if (codeOf(error) !== 'ERR_JWKS_NO_MATCHING_KEY') throw explain(token, error)
    const renewed = await renewKeys(services, keys)
    return readSigned(token, renewed.keySet).catch((again: unknown) => {
      throw explain(token, again)
    })
  }
}

async function readSigned(token: string, keySet: string): Promise<Claims> {
  const { compactVerify, createLocalJWKSet } = await loadJose()
  const keys = createLocalJWKSet(JSON.parse(keySet) as JSONWebKeySet)
  const { payload } = await compactVerify(token, keys, { algorithms: publicKeyAlgorithms })
  return JSON.parse(Buffer.from(payload).toString()) as Claims
}

const codeOf = (error: unknown): string => (error as NodeJS.ErrnoException).code ?? ''

function explain(token: string, error: unknown): unknown {
  const code = codeOf(error)
  if (code === 'ERR_JOSE_ALG_NOT_ALLOWED')
    return new Rejected('signature', `The token is not signed with one of ${publicKeyAlgorithms.join(', ')}.`)
  if (code === 'ERR_JWKS_NO_MATCHING_KEY') return new Rejected('key', 'The token is signed with a key that its issuer does not publish.')
  if (code === 'ERR_JWKS_MULTIPLE_MATCHING_KEYS') {
    const kid = readUnverified(token, 'header', 'kid')
    return new Rejected(
      'key',
      kid === null
        ? 'The token does not name the key that it is signed with (kid).'
        : `The issuer publishes several keys with the name ${shown(kid)}, which the token is signed with.`,
    )
  }
  const isInvalid = code.startsWith('ERR_J') || [SyntaxError, TypeError, DOMException].some((kind) => error instanceof kind)
  return isInvalid ? new Rejected('signature', 'The signature of the token is invalid.') : error
}

/** Claims are stored, and compared with stored rules. */
function requireStorable(claims: unknown): void {
  if (!isStorable(claims)) throw new Rejected('malformed', 'The claims of the token contain U+0000 or an unpaired surrogate.')
}

/** Requires exactly this server as the audience: a token for several servers could be used by each of them at the others. */
function requireAudience({ aud }: Claims, serverUrl: string): void {
  const audiences = (Array.isArray(aud) ? aud : [aud]).map((one: unknown) => (typeof one === 'string' ? one : 'nothing'))
  if (audiences.length !== 1 || audiences[0] !== serverUrl)
    throw new Rejected('audience', `The token is for ${shown(audiences.join(' and '))}. Request one for the audience ${serverUrl} only.`)
}

/** Checks the times of a token and returns when it expires. */
function requireTimes(claims: Claims, now: Date): Date {
  const [exp, iat, nbf] = [timeOf(claims, 'exp'), timeOf(claims, 'iat'), timeOf(claims, 'nbf')]
  if (exp === null || iat === null)
    throw new Rejected('malformed', 'The token does not state when it was issued and when it expires (iat and exp).')
  if (exp.getTime() + toleranceMs <= now.getTime())
    throw new Rejected('expired', `The token expired at ${exp.toISOString()}. Request a new one in the job.`)
  const start = Math.max(iat.getTime(), nbf?.getTime() ?? 0)
  if (start - toleranceMs > now.getTime())
    throw new Rejected('clock', `The token is valid from ${new Date(start).toISOString()} only. Check the clocks.`)
  if (exp.getTime() - iat.getTime() > maxLifetimeMs) throw new Rejected('malformed', 'The token is valid for more than 24 hours.')
  return new Date(exp.getTime() + toleranceMs)
}

function timeOf(claims: Claims, name: string): Date | null {
  const seconds = typeof claims[name] === 'number' ? Number(claimText(claims, name)) : Number.NaN
  return Number.isFinite(seconds) && Math.abs(seconds) < 1e11 ? new Date(seconds * 1000) : null
}
