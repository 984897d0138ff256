import type { Config } from '../../../platform/config/config.ts'
import { NotFetched } from '../../../platform/outbound/request.ts'
import { requestUpstream } from '../../../registry/mirror/upstream.ts'
import { type Check, messageOf, passed, warning } from './check.ts'

const timeoutMs = 10_000

/**
 * Checks that the upstream server of the mirror answers like a package server. Sends one request without credentials, for names of public packages.
 * Returns nothing without a mirror.
 */
export async function checkUpstream(config: Config): Promise<Check[]> {
  const { UPSTREAM_URL } = config
  if (UPSTREAM_URL === undefined) return []
  const advice =
    'Check UPSTREAM_URL, DNS_SERVERS and the firewall. Until then, clients get only what is in the mirror. In a closed network, this is expected.'
  try {
    const url = `${UPSTREAM_URL}/api/package-name-completion-data`
    const answer = await requestUpstream({ config }, url, {
      headers: { accept: 'application/json' },
      signal: AbortSignal.timeout(timeoutMs),
    })
    answer.destroy()
    const status = answer.statusCode ?? 0
    if (status < 500) return [passed('mirror', `The upstream server ${UPSTREAM_URL} answers (status ${status}).`)]
    return [warning('mirror', `The upstream server ${UPSTREAM_URL} answers with status ${status}.`, advice)]
  } catch (error) {
    if (!(error instanceof NotFetched)) throw error
    return [warning('mirror', `The upstream server ${UPSTREAM_URL} does not answer: ${messageOf(error)}`, advice)]
  }
}
