import type { Services } from '../../services.ts'
import { lookUpTxt, ResolversFailed } from './dns.ts'

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
