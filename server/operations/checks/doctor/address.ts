import { z } from 'zod'
import type { Config } from '../../../platform/config/config.ts'
import { type Check, failed, messageOf, passed, warning } from './check.ts'

/** Results of a request to SERVER_URL. */
export type AddressFindings = {
  checks: Check[]
  /** Version of the server that responded; null if none did. */
  version: string | null
  /** Headers of the server's response; null if there was none. */
  headers: Headers | null
  /** Milliseconds by which this machine's clock is ahead of the responding machine's, with a resolution of one second. */
  aheadMs: number | null
}

/** Checks that a Snug server responds at SERVER_URL. If no server is running, the result is a warning. */
export async function checkAddress(config: Config): Promise<AddressFindings> {
  const answer = await ask(`${config.SERVER_URL}/readyz`)
  if (typeof answer === 'string') {
    const isListening = typeof (await ask(`${ownAddress(config)}/livez`)) !== 'string'
    return { checks: [unreachable(config, answer, isListening)], ...nothing }
  }
  const said = readiness.safeParse(answer.body)
  if (!said.success) return { checks: [foreign(config, '/readyz', answer)], ...nothing }
  const failing = Object.entries(said.data.checks).flatMap(([name, { status }]) => (status === 'ok' ? [] : [name]))
  // The probes also respond at the root path, so only another endpoint shows whether a proxy strips the path of SERVER_URL.
  const beyond = await ask(`${config.SERVER_URL}${versionPath}`)
  const version = typeof beyond === 'string' ? null : (versioned.safeParse(beyond.body).data?.version ?? null)
  const isLost = failing.length === 0 && version === null && typeof beyond !== 'string'
  const address = isLost ? foreign(config, versionPath, beyond) : state(config, answer, failing)
  return { checks: [address], version, headers: answer.headers, aheadMs: answer.aheadMs }
}

const nothing = { version: null, headers: null, aheadMs: null }

const versionPath = '/api/v1/version'
const versioned = z.object({ version: z.string() })

const readiness = z.object({ status: z.enum(['ok', 'unavailable']), checks: z.record(z.string(), z.object({ status: z.string() })) })

type Answer = { status: number; headers: Headers; body: unknown; aheadMs: number | null }

/** Returns the response, or the reason why there was none. */
async function ask(url: string): Promise<Answer | string> {
  const before = Date.now()
  try {
    const signal = AbortSignal.timeout(5000)
    const response = await fetch(url, { redirect: 'manual', headers: { accept: 'application/json' }, signal })
    const { status, headers } = response
    const middle = (before + Date.now()) / 2
    const body: unknown = await response.json().catch(() => null)
    const date = Date.parse(headers.get('date') ?? '')
    // The `Date` header has a resolution of one second.
    const aheadMs = Number.isNaN(date) ? null : middle - (date + 500)
    return { status, headers, body, aheadMs }
  } catch (error) {
    const reason = error instanceof Error && error.cause instanceof Error ? error.cause : error
    return messageOf(reason) || 'no answer'
  }
}

/** Returns the URL at which the server listens on this machine, without proxies. */
function ownAddress({ HOST, LISTEN_PORT }: Config): string {
  const host = ['0.0.0.0', '::'].includes(HOST) ? 'localhost' : HOST
  return `http://${host.includes(':') ? `[${host}]` : host}:${LISTEN_PORT}`
}

function unreachable({ SERVER_URL, LISTEN_PORT }: Config, why: string, isListening: boolean): Check {
  if (!isListening)
    return warning('address', `No response from ${SERVER_URL} (${why}). The server is not running, or runs on another machine.`)
  const message = `The server listens on port ${LISTEN_PORT}, but is not reachable from this machine at SERVER_URL, ${SERVER_URL}: ${why}.`
  return warning('address', message, 'Check DNS, the certificate and the proxy. Ignore this if only other machines can reach that URL.')
}

function foreign({ SERVER_URL }: Config, path: string, { status, headers }: Answer): Check {
  const to = headers.get('location')
  const what = to === null ? `${status} (${headers.get('content-type') ?? 'no type'})` : `a redirect to ${to}`
  const message = `${SERVER_URL}${path} returned ${what}, which is not a response of this server${through(headers)}.`
  const advice =
    to === null
      ? 'Configure the proxy to forward all requests to the server with an unchanged path.'
      : 'Set SERVER_URL to the URL that responds without a redirect.'
  return failed('address', message, advice)
}

function state({ SERVER_URL }: Config, { headers }: Answer, failing: string[]): Check {
  if (failing.length === 0) return passed('address', `The server responds at ${SERVER_URL} and is ready${through(headers)}.`)
  const message = `The server responds at ${SERVER_URL} but is not ready: ${failing.join(', ')}${through(headers)}.`
  return failed('address', message, 'See the log of the server for the cause.')
}

/** Describes the proxy that a response passed, according to the headers `Server` and `Via`, which Snug itself never sends. */
export function through(headers: Headers): string {
  const [server, via] = [headers.get('server'), headers.get('via')]
  const names = [server, via && `via ${via}`].filter(Boolean)
  return names.length === 0 ? '' : `, through a proxy (${names.join(', ')})`
}
