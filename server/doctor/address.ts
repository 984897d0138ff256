import { z } from 'zod'
import type { Config } from '../config/config.ts'
import { type Check, messageOf } from './check.ts'

/** What a request to SERVER_URL showed. */
export type AddressFindings = {
  checks: Check[]
  /** The version of the server that answered; null when none did. */
  version: string | null
  /** What the answer of the server says of itself; null when none answered. */
  headers: Headers | null
  /** By how much this machine's clock is ahead of that of what answered, to the second. */
  aheadMs: number | null
}

/**
 * Asks the server itself, at the address that clients use, whether it is ready, and looks whether it is a server of this kind that answers. A
 * server that does not run is a warning.
 */
export async function checkAddress(config: Config): Promise<AddressFindings> {
  const answer = await ask(`${config.SERVER_URL}/readyz`)
  if (typeof answer === 'string') {
    const isListening = typeof (await ask(`${ownAddress(config)}/livez`)) !== 'string'
    return { checks: [unreachable(config, answer, isListening)], ...nothing }
  }
  const said = readiness.safeParse(answer.body)
  if (!said.success) return { checks: [foreign(config, '/readyz', answer)], ...nothing }
  const failing = Object.entries(said.data.checks).flatMap(([name, { status }]) => (status === 'ok' ? [] : [name]))
  // Probes answer at the root, too: only another address shows that a proxy takes the path of SERVER_URL away.
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

/** What answers there; or why nothing does. */
async function ask(url: string): Promise<Answer | string> {
  const before = Date.now()
  try {
    const signal = AbortSignal.timeout(5000)
    const response = await fetch(url, { redirect: 'manual', headers: { accept: 'application/json' }, signal })
    const { status, headers } = response
    const middle = (before + Date.now()) / 2
    const body: unknown = await response.json().catch(() => null)
    const date = Date.parse(headers.get('date') ?? '')
    // The header has whole seconds.
    const aheadMs = Number.isNaN(date) ? null : middle - (date + 500)
    return { status, headers, body, aheadMs }
  } catch (error) {
    const reason = error instanceof Error && error.cause instanceof Error ? error.cause : error
    return messageOf(reason) || 'no answer'
  }
}

/** Where the server listens on this machine, past every proxy. */
function ownAddress({ HOST, LISTEN_PORT }: Config): string {
  const host = ['0.0.0.0', '::'].includes(HOST) ? 'localhost' : HOST
  return `http://${host.includes(':') ? `[${host}]` : host}:${LISTEN_PORT}`
}

function unreachable({ SERVER_URL, LISTEN_PORT }: Config, why: string, isListening: boolean): Check {
  const check = { name: 'address', status: 'warning' } as const
  if (!isListening) return { ...check, message: `No server answers at ${SERVER_URL} (${why}): it is not running, or not on this machine.` }
  const message = `The server listens on port ${LISTEN_PORT}, but cannot be reached from here at SERVER_URL, ${SERVER_URL}: ${why}.`
  return { ...check, message, advice: 'Check the name, the certificate and the proxy, unless only other machines reach that address.' }
}

function foreign({ SERVER_URL }: Config, path: string, { status, headers }: Answer): Check {
  const to = headers.get('location')
  const what = to === null ? `${status} (${headers.get('content-type') ?? 'no type'})` : `a redirect to ${to}`
  const message = `${SERVER_URL}${path} answers with ${what}, which is not this server's answer${through(headers)}.`
  const advice =
    to === null
      ? 'Let the proxy pass everything on to the server, with its path as it is.'
      : 'Set SERVER_URL to the address that answers without a redirect.'
  return { name: 'address', status: 'failed', message, advice }
}

function state({ SERVER_URL }: Config, { headers }: Answer, failing: string[]): Check {
  const check = { name: 'address' }
  if (failing.length === 0)
    return { ...check, status: 'ok', message: `The server answers at ${SERVER_URL} and is ready${through(headers)}.` }
  const message = `The server answers at ${SERVER_URL}, and is not ready: ${failing.join(', ')}${through(headers)}.`
  return { ...check, status: 'failed', message, advice: "The server's log says why." }
}

/** Where the answer came through, as far as it says. The server itself sends neither header. */
export function through(headers: Headers): string {
  const [server, via] = [headers.get('server'), headers.get('via')]
  const names = [server, via && `via ${via}`].filter(Boolean)
  return names.length === 0 ? '' : `, through a proxy (${names.join(', ')})`
}
