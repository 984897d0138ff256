import type { IncomingMessage } from 'node:http'
import type { Services } from '../../services.ts'
import type { Config } from '../config/config.ts'
import { isListed, publicOnly } from './addresses.ts'
import type { ProxySettings } from './proxy.ts'
import { checkedUrl, forbidden, NotFetched, requestUrl, type RequestRules } from './request.ts'

declare module '../../services.ts' {
  interface State {
    /** Clocks of the servers that prove identities, by issuer. */
    issuerClocks?: Map<string, { aheadMs: number; at: Date }>
  }
}

/** Compares the clock of this server with the header `Date` of an issuer's answer, which has a resolution of one second. A cache adds `Age`. */
export function compareClock({ state, now }: Pick<Services, 'state' | 'now'>, issuer: string, { headers }: IncomingMessage): void {
  const [date, age] = [Date.parse(headers.date ?? ''), Number(headers.age ?? 0)]
  if (Number.isNaN(date) || Number.isNaN(age)) return
  const at = now()
  const clocks = (state.issuerClocks ??= new Map<string, { aheadMs: number; at: Date }>())
  clocks.set(issuer, { aheadMs: at.getTime() - (date + age * 1000 + 500), at })
}

type IssuerRules = Omit<RequestRules, 'servers' | 'proxies' | 'isConfigured' | 'isAllowed' | 'mayRedirect'>

/**
 * Requests a URL of an OpenID issuer: of a sign-in provider or a CI system. Administrators enter issuers, and an issuer names further URLs, so that only
 * https and public addresses are contacted, except on the hosts in TOKEN_ISSUER_HOSTS and those for which `isTrusted` returns true.
 * @throws NotFetched
 */
export async function requestIssuer(
  config: Pick<Config, 'DNS_SERVERS' | 'TOKEN_ISSUER_HOSTS'> & ProxySettings,
  text: string,
  { isTrusted, ...rules }: IssuerRules & { isTrusted?: (url: URL) => boolean },
): Promise<IncomingMessage> {
  const isConfigured = (url: URL) => isListed(config.TOKEN_ISSUER_HOSTS, url) || isTrusted?.(url) === true
  const isSecure = (url: URL) => url.protocol === 'https:' || isConfigured(url)
  try {
    const url = checkedUrl(text)
    if (!isSecure(url)) throw forbidden(`${url.origin} is not https, which is not allowed`)
    const mayRedirect = (_from: URL, to: URL) => isSecure(to)
    return await requestUrl(text, {
      ...rules,
      servers: config.DNS_SERVERS,
      proxies: config,
      isConfigured,
      isAllowed: publicOnly,
      mayRedirect,
    })
  } catch (error) {
    if (!(error instanceof NotFetched) || !error.isForbidden) throw error
    throw new NotFetched(`${error.message}: an operator can add the host to TOKEN_ISSUER_HOSTS`, { isForbidden: true, cause: error })
  }
}
