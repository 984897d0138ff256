import type { EntityManager } from '@mikro-orm/sql'
import { networkInterfaces } from 'node:os'
import type { Config } from '../../../platform/config/config.ts'
import { equalSecrets, randomText } from '../../../platform/http/keys.ts'
import { readStoreId } from '../../../platform/store/identity.ts'
import { version as ownVersion } from '../../../platform/config/version.ts'
import { type Arrival, arrival, doctorHeader, doctorPath, proofsFor, sampleBytes } from './answer.ts'
import { type Check, failed, messageOf, passed, sizeOf, warning } from './check.ts'
import { parseAddress, proxyTrust } from '../../../platform/http/client-address.ts'
import { through } from './address.ts'

const timeoutMs = 20_000

/**
 * Checks that the server at SERVER_URL uses this database, and that requests as large as a small upload reach it. Sends
 * requests only if that server has this version, because older ones do not have the endpoint.
 */
export async function checkReach(config: Config, em: EntityManager | null, version: string | null) {
  const id = em && (await readStoreId(em))
  if (id == null || version !== ownVersion) return { checks: [], arrival: null }
  const first = await send(config, id, 0)
  if (typeof first === 'string') return { checks: [otherRegistry(config)], arrival: null }
  const bytes = Math.min(sampleBytes, config.MAX_UPLOAD_BYTES)
  const second = await send(config, id, bytes)
  if (typeof second !== 'string' && second.bytes === bytes)
    return { checks: [passed('upload size', `A request of ${sizeOf(bytes)} reaches the server.`)], arrival: first }
  const message = `A request of ${sizeOf(bytes)} does not reach the server: ${typeof second === 'string' ? second : `only ${second.bytes} bytes arrived`}.`
  const advice =
    'Increase the limit of the proxy for request bodies to slightly more than MAX_UPLOAD_BYTES. In nginx, the limit is client_max_body_size, 1 MB by default.'
  return { checks: [failed('upload size', message, advice)], arrival: first }
}

/** Sends a request with a body of this size. Returns how it arrived, or a description of the failure. */
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
    return `the response was ${response.status}${server === null ? '' : ` from ${server}`}`
  } catch (error) {
    return messageOf(error instanceof Error && error.cause instanceof Error ? error.cause : error) || 'the connection was closed'
  }
}

function otherRegistry({ SERVER_URL, DB_BACKEND }: Config): Check {
  const database = DB_BACKEND === 'sqlite' ? 'SQLITE_PATH or DATA_DIR' : 'POSTGRES_URL'
  const message = `${SERVER_URL} belongs to another registry: the server there uses a different database.`
  const advice = `Correct SERVER_URL, the proxy, or ${database}. Check that this command uses the same settings as the server.`
  return failed('registry', message, advice)
}

/** Checks that TRUST_PROXY and SERVER_URL match the proxy, if there is one. */
export function checkProxy(config: Config, { headers, arrival }: { headers: Headers; arrival: Arrival | null }): Check {
  const { SERVER_URL, TRUST_PROXY, LISTEN_PORT } = config
  const setting = `TRUST_PROXY=${Array.isArray(TRUST_PROXY) ? TRUST_PROXY.join(',') : TRUST_PROXY}`
  const isHttps = SERVER_URL.startsWith('https:')
  const isSeen = isHttps || through(headers) !== '' || arrival?.isForwarded === true
  if (!isHttps && headers.has('strict-transport-security')) {
    const message = `The proxy reports https, but SERVER_URL is ${SERVER_URL}.`
    return warning('proxy', message, `If clients use https, set SERVER_URL=${SERVER_URL.replace(/^http:/, 'https:')}`)
  }
  if (isSeen && TRUST_PROXY === false) {
    const why = isHttps ? 'SERVER_URL is https, which requires a proxy' : 'There is a proxy'
    const message = `${why}, but ${setting}: all clients appear to have the proxy's address and share its rate limits.`
    return warning('proxy', message, 'Set TRUST_PROXY=true, or to the address ranges of all proxies.')
  }
  if (isSeen && arrival) return checkForwarding(setting, arrival)
  if (arrival && !isDirect(config, arrival)) return hiddenProxy(config, arrival)
  if (!isSeen && TRUST_PROXY !== false && portOf(SERVER_URL) === LISTEN_PORT) {
    const message = `${setting}, but no proxy was detected: clients in the trusted network can claim any address.`
    return warning('proxy', message, 'Set TRUST_PROXY=false, unless there is a proxy that adds no headers.')
  }
  return passed('proxy', `${setting} matches the response.`)
}

/** Returns whether a request of this machine can have reached the server without a proxy: at its own port, from an address of this machine. */
function isDirect({ SERVER_URL }: Config, { peer, port }: Arrival): boolean {
  if (portOf(SERVER_URL) !== port) return false
  const own = Object.values(networkInterfaces()).flatMap((addresses) => addresses ?? [])
  return own.some(({ address }) => parseAddress(address)?.toString() === peer)
}

function hiddenProxy({ SERVER_URL }: Config, { peer, port }: Arrival): Check {
  const message =
    `Requests to ${SERVER_URL} reach the server on port ${port} from ${peer}, without X-Forwarded-For. ` +
    "If a proxy passes them on, all clients appear to have the proxy's address and share its rate limits."
  const advice =
    'Configure the proxy to add the client address to X-Forwarded-For, and set TRUST_PROXY. See server/platform/deploy/nginx.conf and Caddyfile. ' +
    'Ignore this if only a port is forwarded, for example by Docker.'
  return warning('proxy', message, advice)
}

/** Checks that the proxy forwards client addresses, and that the server trusts the proxy. */
function checkForwarding(setting: string, { peer, isTrusted, isForwarded }: Arrival): Check {
  const consequence = "all clients appear to have the proxy's address and share its rate limits"
  if (!isForwarded) {
    const message = `The proxy ${peer} does not send X-Forwarded-For: ${consequence}.`
    const advice = 'Configure the proxy to add the client address to X-Forwarded-For. See server/platform/deploy/nginx.conf and Caddyfile.'
    return warning('proxy', message, advice)
  }
  if (isTrusted) return passed('proxy', `The proxy ${peer} forwards client addresses, and ${setting} trusts the proxy.`)
  const message = `The proxy has the address ${peer}, which ${setting} does not include: ${consequence}.`
  const address = parseAddress(peer)
  const isNearby = address !== null && proxyTrust(true).isProxy(address)
  return warning('proxy', message, `Set TRUST_PROXY=${peer}${isNearby ? ', or TRUST_PROXY=true' : ''}.`)
}

const portOf = (url: string): number => Number(new URL(url).port || (url.startsWith('https:') ? 443 : 80))
