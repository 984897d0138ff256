import type { Services } from '../services.ts'
import { lookUpTxt, ResolversFailed } from './dns.ts'

/** The name of the TXT record that proves that somebody holds a domain. */
export const recordHost = (domain: string): string => `_svc-verify.${domain}`

/** What the record shows. Anybody may read it in the DNS, so it is no secret. */
export const recordValue = (token: string): string => `svc-verify=${token}`

/** What any such record of this server's looks like. */
export const recordValueForm = /^svc-verify=[0-9a-f]{40}$/

/** The TXT records at the place of the one that proves a domain; null when the resolvers give no answer, and then the log says why. */
export async function lookUpRecords({ config, log }: Pick<Services, 'config' | 'log'>, domain: string): Promise<string[] | null> {
  try {
    return await lookUpTxt(recordHost(domain), config.DNS_SERVERS)
  } catch (error) {
    if (!(error instanceof ResolversFailed)) throw error
    log.warning(`The DNS look-up for the domain ${domain} failed: ${error.message}`)
    return null
  }
}

/** What is there instead of the record that is looked for, as the beginning of a message. */
export const otherThan = (records: readonly string[]): string =>
  records.length ? 'There are other TXT records, but not this one' : 'There is no TXT record'
