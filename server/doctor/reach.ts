import type { EntityManager } from '@mikro-orm/sql'
import type { Config } from '../config/config.ts'
import { equalSecrets, randomText } from '../http/keys.ts'
import { idOfDatabase } from '../store/identity.ts'
import { version as ownVersion } from '../version.ts'
import { type Arrival, arrival, doctorHeader, doctorPath, proofsFor, sampleBytes } from './answer.ts'
import { type Check, messageOf, sizeOf } from './check.ts'

/** What requests through SERVER_URL showed, and how they arrived at the server; null when it was not this registry that answered. */
export type Reach = { checks: Check[]; arrival: Arrival | null }

const timeoutMs = 20_000

/**
 * Looks whether the server that answers at SERVER_URL is on this database, and whether a request as large as a small upload reaches it. `version`
 * is that of the server that answers there: an older one does not know these requests.
 */
export async function checkReach(config: Config, em: EntityManager | null, version: string | null): Promise<Reach> {
  const id = em && (await idOfDatabase(em))
  if (id == null || version !== ownVersion) return { checks: [], arrival: null }
  const first = await send(config, id, 0)
  if (typeof first === 'string') return { checks: [otherRegistry(config)], arrival: null }
  const bytes = Math.min(sampleBytes, config.MAX_UPLOAD_BYTES)
  const second = await send(config, id, bytes)
  const check = { name: 'upload size' }
  if (typeof second !== 'string' && second.bytes === bytes)
    return { checks: [{ ...check, status: 'ok', message: `A request of ${sizeOf(bytes)} reaches the server.` }], arrival: first }
  const message = `A request of ${sizeOf(bytes)} does not reach the server: ${typeof second === 'string' ? second : `it got ${second.bytes} bytes`}.`
  const advice =
    'Raise the limit that the proxy has for bodies to MAX_UPLOAD_BYTES and a little more; in nginx it is client_max_body_size, 1 MB by default.'
  return { checks: [{ ...check, status: 'failed', message, advice }], arrival: first }
}

/** Sends a request with so many bytes. Returns how it arrived, or what came instead. */
async function send({ SERVER_URL }: Config, id: string, bytes: number): Promise<Arrival | string> {
  const nonce = randomText(32)
  const { question, answer } = proofsFor(id, nonce)
  try {
    const response = await fetch(`${SERVER_URL}${doctorPath}`, {
      method: 'POST',
      redirect: 'manual',
      headers: { [doctorHeader]: `${nonce}.${question}`, 'content-type': 'application/octet-stream' },
      body: Buffer.alloc(bytes),
      signal: AbortSignal.timeout(timeoutMs),
    })
    const said = arrival.safeParse(await response.json().catch(() => null))
    if (said.success && equalSecrets(said.data.proof, answer)) return said.data
    const server = response.headers.get('server')
    return `it was answered with ${response.status}${server === null ? '' : ` by ${server}`}`
  } catch (error) {
    return messageOf(error instanceof Error && error.cause instanceof Error ? error.cause : error) || 'the connection was closed'
  }
}

function otherRegistry({ SERVER_URL, DB_BACKEND }: Config): Check {
  const database = DB_BACKEND === 'sqlite' ? 'SQLITE_PATH or DATA_DIR' : 'POSTGRES_URL'
  return {
    name: 'registry',
    status: 'failed',
    message: `${SERVER_URL} leads to another registry: the server that answers there is not on this database.`,
    advice: `Correct SERVER_URL, or the proxy in front of it, or ${database}, unless this command has other settings than the server.`,
  }
}
