import { Resolver } from 'node:dns/promises'
import type { Services } from '../../services.ts'

/** Returns the name of the TXT record that proves control of a domain. */
export const recordHost = (domain: string): string => `_svc-verify.${domain}`

/** Returns the expected value of the TXT record. The value is public in the DNS and not secret. */
export const recordValue = (token: string): string => `svc-verify=${token}`

/** Matches any well-formed verification record. */
export const recordValuePattern = /^svc-verify=[0-9a-f]{40}$/

/** Returns the TXT records at the verification name of a domain. Returns null and logs the reason if the resolvers do not answer. */
export async function lookUpRecords({ config, log }: Pick<Services, 'config' | 'log'>, domain: string): Promise<string[] | null> {
  try {
    return await lookUpTxt(recordHost(domain), config.DNS_SERVERS)
  } catch (error) {
    if (!(error instanceof ResolversFailed)) throw error
    log.warning(`The DNS look-up for the domain ${domain} failed: ${error.message}`)
    return null
  }
}

/** Returns the beginning of a message about a missing verification record. */
export const describeMissingRecord = (records: readonly string[]): string =>
  records.length ? 'There are other TXT records, but not the expected one' : 'There is no TXT record'

/** Error codes that confirm that the record does not exist: NXDOMAIN, and a name without TXT records. */
const absent = new Set(['ENOTFOUND', 'ENODATA'])

/** Thrown when the resolvers give no reliable answer. */
class ResolversFailed extends Error {}

/**
 * Returns the TXT records of a host, each with its strings concatenated (RFC 7208, section 3.3), or an empty list. Queries only the configured
 * resolvers and only TXT records; never resolves or connects to an address. Times out after `withinMs` milliseconds.
 * @throws ResolversFailed if the resolvers fail, refuse or time out.
 */
async function lookUpTxt(host: string, servers: readonly string[], withinMs = 5000): Promise<string[]> {
  const resolver = new Resolver({ timeout: Math.ceil(withinMs / 3), tries: 2 })
  if (servers.length) resolver.setServers(servers)
  const giveUp = setTimeout(() => resolver.cancel(), withinMs)
  try {
    return (await resolver.resolveTxt(host)).map((strings) => strings.join(''))
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : ''
    if (absent.has(code)) return []
    throw new ResolversFailed(`TXT ${host}: ${code}`, { cause: error })
  } finally {
    clearTimeout(giveUp)
  }
}
