import type { IncomingMessage } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { z } from 'zod'
import { db } from '../../platform/db/query.ts'
import { changeRows } from '../../platform/db/statements.ts'
import { compareClock, requestIssuer } from '../../platform/outbound/issuer.ts'
import { NotFetched, orTemporary, readContent } from '../../platform/outbound/request.ts'
import { shown } from '../../platform/outbound/texts.ts'
import type { Services } from '../../services.ts'

type Fetcher = Pick<Services, 'config' | 'stopping' | 'state' | 'now'>
type Keeper = Pick<Services, 'config' | 'database' | 'log' | 'now' | 'state' | 'stopping'>

declare module '../../services.ts' {
  interface State {
    /** What the requests of this server wait for, by the id of the issuer. */
    keyAttempts?: Map<string, Promise<IssuerKeys>>
  }
}

/** The stored keys of an issuer. */
export type IssuerKeys = { id: string; url: string; keySet: string; keysFetchedAt: Date; keysTriedAt: Date }

/** Keys are fetched again after this time, and used for a day while the issuer does not answer. */
const freshMs = 3_600_000
const staleMs = 86_400_000
/** Minimum time between attempts to fetch the keys of an issuer. */
const retryMs = 60_000
/** Time limit of an attempt, for both documents. */
const attemptMs = 10_000
const maxBytes = 1024 * 1024

/**
 * Fetches the public keys of an issuer, as a JSON Web Key Set.
 * @throws NotFetched
 */
export async function fetchKeys(services: Fetcher, issuerUrl: string): Promise<string> {
  const signal = AbortSignal.any([AbortSignal.timeout(attemptMs), services.stopping.signal])
  const discovered = discovery.safeParse(await fetchJson(services, issuerUrl, `${issuerUrl}/.well-known/openid-configuration`, signal))
  if (!discovered.success) throw new NotFetched('its discovery document has no issuer and jwks_uri')
  const { issuer, jwks_uri: keysUrl } = discovered.data
  if (issuer !== issuerUrl) throw new NotFetched(`its discovery document names the issuer ${shown(issuer)}`)
  const keySet = jwks.safeParse(await fetchJson(services, issuerUrl, keysUrl, signal))
  if (!keySet.success) throw new NotFetched(`${shown(keysUrl)} is not a JSON Web Key Set`)
  return JSON.stringify({ keys: keySet.data.keys.filter(({ kty }) => kty !== 'oct') })
}

const discovery = z.object({ issuer: z.string(), jwks_uri: z.url({ protocol: /^https?$/ }) })
const jwks = z.object({ keys: z.array(z.looseObject({ kty: z.string() })) })

async function fetchJson(services: Fetcher, issuer: string, url: string, signal: AbortSignal): Promise<unknown> {
  const { config } = services
  try {
    const answer = await requestIssuer(config, url, {
      signal,
      headers: { accept: 'application/json', 'accept-encoding': 'identity', 'user-agent': 'Snug' },
    })
    compareClock(services, new URL(issuer).href, answer)
    const content = await orTemporary(url, () => readText(url, answer)).finally(() => answer.destroy())
    return JSON.parse(content)
  } catch (error) {
    throw explain(url, error, signal)
  }
}

function explain(url: string, error: unknown, signal: AbortSignal): unknown {
  if (error instanceof SyntaxError) return new NotFetched(`${shown(url)} is not JSON`)
  if (!(error instanceof NotFetched)) return error
  if (signal.aborted) return new NotFetched(`${shown(url)} did not answer within ${attemptMs / 1000} seconds`)
  return error
}

async function readText(url: string, answer: IncomingMessage): Promise<string> {
  if (answer.statusCode !== 200) throw new NotFetched(`${shown(url)} answers with the status ${answer.statusCode}`, { isTemporary: true })
  return (await readContent(answer, maxBytes)).toString()
}

/**
 * Fetches the keys of an issuer again, unless an attempt was made within the last minute, on any instance. Then it waits for an attempt that is
 * still running, together with the other requests that wait for it. Returns the present keys.
 */
export async function renewKeys(services: Keeper, issuer: IssuerKeys): Promise<IssuerKeys> {
  const { database, now } = services
  const at = now()
  const claim = db
    .updateTable('token_issuers')
    .set({ keys_tried_at: at, key_problem: null })
    .where('id', '=', issuer.id)
    .where('keys_tried_at', '<=', new Date(at.getTime() - retryMs))
  if ((await changeRows(database.fork(), claim)) > 0) return refreshKeys(services, issuer)
  const attempts = (services.state.keyAttempts ??= new Map<string, Promise<IssuerKeys>>())
  const running = attempts.get(issuer.id)
  if (running) return running
  const attempt = waitForAttempt(services, issuer).finally(() => attempts.delete(issuer.id))
  attempts.set(issuer.id, attempt)
  return attempt
}

/** Fetches the keys of an issuer and stores them, or why that failed. Returns the present keys. */
export async function refreshKeys(services: Keeper, issuer: IssuerKeys): Promise<IssuerKeys> {
  const { database, log, now } = services
  const update = db.updateTable('token_issuers').where('id', '=', issuer.id)
  try {
    const keySet = await fetchKeys(services, issuer.url)
    const at = now()
    await changeRows(database.fork(), update.set({ key_set: keySet, keys_fetched_at: at, key_problem: null }))
    return { ...issuer, keySet, keysFetchedAt: at }
  } catch (error) {
    // Without a problem, later requests would wait for this attempt.
    const problem = error instanceof NotFetched ? shown(error.message, 500) : 'The attempt failed because of an error of this server.'
    await changeRows(database.fork(), update.set({ key_problem: problem }))
    if (!(error instanceof NotFetched)) throw error
    log.warning(`The keys of the issuer ${issuer.url} could not be fetched: ${problem}`)
    return issuer
  }
}

const pollMs = 50

/** Waits until a running attempt of another request or instance has stored its result, and returns the present keys. */
async function waitForAttempt({ database, now }: Keeper, issuer: IssuerKeys): Promise<IssuerKeys> {
  let current = issuer
  for (let waited = 0; waited < attemptMs; waited += pollMs) {
    const row = await database.reads.get(
      db.selectFrom('token_issuers').select(['key_set', 'keys_fetched_at', 'keys_tried_at', 'key_problem']).where('id', '=', issuer.id),
    )
    if (!row) return current
    current = { ...issuer, keySet: row.key_set, keysFetchedAt: row.keys_fetched_at, keysTriedAt: row.keys_tried_at }
    const isOver = row.key_problem !== null || row.keys_fetched_at >= row.keys_tried_at
    if (isOver || now().getTime() - row.keys_tried_at.getTime() > 2 * attemptMs) return current
    await sleep(pollMs)
  }
  return current
}

/** Whether keys should be fetched again, although they have the key of a token. */
export const areDue = ({ keysFetchedAt }: IssuerKeys, now: Date): boolean => now.getTime() - keysFetchedAt.getTime() > freshMs

/** Whether keys are too old to be used. */
export const areExpired = ({ keysFetchedAt }: Pick<IssuerKeys, 'keysFetchedAt'>, now: Date): boolean =>
  now.getTime() - keysFetchedAt.getTime() > staleMs
