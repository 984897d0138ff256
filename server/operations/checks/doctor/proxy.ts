import type { Config } from '../../../platform/config/config.ts'
import { parseAddress, proxyTrust } from '../../../platform/http/client-address.ts'
import { through } from './address.ts'
import type { Arrival } from './answer.ts'
import type { Check } from './check.ts'

/** What is known about proxies between SERVER_URL and the server: response headers, and how a request arrived. */
type Seen = { headers: Headers; arrival: Arrival | null }

/** Checks that TRUST_PROXY and SERVER_URL match the proxy, if there is one. */
export function checkProxy(config: Config, { headers, arrival }: Seen): Check {
  const { SERVER_URL, TRUST_PROXY, LISTEN_PORT } = config
  const check = { name: 'proxy' }
  const setting = `TRUST_PROXY=${Array.isArray(TRUST_PROXY) ? TRUST_PROXY.join(',') : TRUST_PROXY}`
  const isHttps = SERVER_URL.startsWith('https:')
  const isSeen = isHttps || through(headers) !== '' || arrival?.isForwarded === true
  if (!isHttps && headers.has('strict-transport-security')) {
    const message = `The proxy reports https, but SERVER_URL is ${SERVER_URL}.`
    return {
      ...check,
      status: 'warning',
      message,
      advice: `If clients use https, set SERVER_URL=${SERVER_URL.replace(/^http:/, 'https:')}`,
    }
  }
  if (isSeen && TRUST_PROXY === false) {
    const why = isHttps ? 'SERVER_URL is https, which requires a proxy' : 'There is a proxy'
    const message = `${why}, but ${setting}: all clients appear to have the proxy's address and share its rate limits.`
    return { ...check, status: 'warning', message, advice: 'Set TRUST_PROXY=true, or to the address ranges of all proxies.' }
  }
  if (isSeen && arrival) return checkForwarding(setting, arrival)
  if (!isSeen && TRUST_PROXY !== false && portOf(SERVER_URL) === LISTEN_PORT) {
    const message = `${setting}, but no proxy was detected: clients in the trusted network can claim any address.`
    return { ...check, status: 'warning', message, advice: 'Set TRUST_PROXY=false, unless there is a proxy that adds no headers.' }
  }
  return { ...check, status: 'ok', message: `${setting} matches the response.` }
}

/** Checks that the proxy forwards client addresses, and that the server trusts the proxy. */
function checkForwarding(setting: string, { peer, isTrusted, isForwarded }: Arrival): Check {
  const check = { name: 'proxy' }
  const consequence = "all clients appear to have the proxy's address and share its rate limits"
  if (!isForwarded) {
    const message = `The proxy ${peer} does not send X-Forwarded-For: ${consequence}.`
    const advice = 'Configure the proxy to add the client address to X-Forwarded-For. See server/platform/deploy/nginx.conf and Caddyfile.'
    return { ...check, status: 'warning', message, advice }
  }
  if (isTrusted) return { ...check, status: 'ok', message: `The proxy ${peer} forwards client addresses, and ${setting} trusts the proxy.` }
  const message = `The proxy has the address ${peer}, which ${setting} does not include: ${consequence}.`
  const address = parseAddress(peer)
  const isNearby = address !== null && proxyTrust(true).isProxy(address)
  return { ...check, status: 'warning', message, advice: `Set TRUST_PROXY=${peer}${isNearby ? ', or TRUST_PROXY=true' : ''}.` }
}

const portOf = (url: string): number => Number(new URL(url).port || (url.startsWith('https:') ? 443 : 80))
