import { connect } from 'node:tls'
import type { Services } from '../../services.ts'
import { inTime } from '../checks/cached-check.ts'

/** A problem of the certificate at SERVER_URL. `until` is when it expires. */
export type CertificateProblem = { kind: 'selfSigned' | 'expired' | 'expiring'; until: Date | null }

declare module '../../services.ts' {
  interface State {
    /** Last look at the certificate of SERVER_URL. */
    certificate?: Look
  }
}

type Look = { at: number; result: Promise<CertificateProblem | null> }

const cacheMs = 600_000
const [connectMs, waitMs, expiringMs] = [5000, 1500, 14 * 86_400_000]

/**
 * Returns the problem of the certificate at SERVER_URL, if it has one. Returns null if SERVER_URL is not https, or the server cannot reach it itself.
 * Connects at most once in ten minutes, and waits only briefly for a slow connection.
 */
export async function certificateProblem({
  config,
  state,
  now,
}: Pick<Services, 'config' | 'state' | 'now'>): Promise<CertificateProblem | null> {
  const url = new URL(config.SERVER_URL)
  if (url.protocol !== 'https:') return null
  const at = now().getTime()
  if (!state.certificate || at - state.certificate.at > cacheMs) state.certificate = { at, result: inspect(url, at).catch(() => null) }
  return inTime(state.certificate.result, waitMs).catch(() => null)
}

const selfSigned = ['DEPTH_ZERO_SELF_SIGNED_CERT', 'SELF_SIGNED_CERT_IN_CHAIN']

/** Connects and reads the certificate. Nothing is sent, so an untrusted certificate may be accepted here. */
function inspect({ hostname, port }: URL, at: number): Promise<CertificateProblem | null> {
  const { promise, resolve, reject } = Promise.withResolvers<CertificateProblem | null>()
  const host = hostname.replace(/^\[|\]$/g, '')
  const isName = !/^[\d.]+$|:/.test(host)
  const socket = connect({ host, port: Number(port || 443), ...(isName && { servername: host }), rejectUnauthorized: false })
  socket.setTimeout(connectMs, () => socket.destroy(new Error('no answer in time')))
  socket.once('error', reject)
  socket.once('secureConnect', () => {
    const { valid_to } = socket.getPeerCertificate()
    const until = valid_to ? new Date(valid_to) : null
    const code =
      socket.authorizationError && ((socket.authorizationError as NodeJS.ErrnoException).code ?? String(socket.authorizationError))
    socket.destroy()
    if (code === 'CERT_HAS_EXPIRED' || (until && until.getTime() < at)) return resolve({ kind: 'expired', until })
    if (code && selfSigned.includes(code)) return resolve({ kind: 'selfSigned', until })
    resolve(until && until.getTime() - at < expiringMs ? { kind: 'expiring', until } : null)
  })
  return promise
}
