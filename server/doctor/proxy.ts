import type { Config } from '../config/config.ts'
import { parseAddress, proxyTrust } from '../http/client-address.ts'
import { through } from './address.ts'
import type { Arrival } from './answer.ts'
import type { Check } from './check.ts'

/** What is known of what stands between SERVER_URL and the server: the headers of an answer, and how a request arrived. */
type Seen = { headers: Headers; arrival: Arrival | null }

/** Looks whether TRUST_PROXY and SERVER_URL fit the proxy in front, if there is one. */
export function checkProxy(config: Config, { headers, arrival }: Seen): Check {
  const { SERVER_URL, TRUST_PROXY, LISTEN_PORT } = config
  const check = { name: 'proxy' }
  const setting = `TRUST_PROXY=${Array.isArray(TRUST_PROXY) ? TRUST_PROXY.join(',') : TRUST_PROXY}`
  const isHttps = SERVER_URL.startsWith('https:')
  const isSeen = isHttps || through(headers) !== '' || arrival?.isForwarded === true
  if (!isHttps && headers.has('strict-transport-security')) {
    const message = `A proxy says that clients come over https, and SERVER_URL is ${SERVER_URL}.`
    return { ...check, status: 'warning', message, advice: `If that is right, set SERVER_URL=${SERVER_URL.replace(/^http:/, 'https:')}` }
  }
  if (isSeen && TRUST_PROXY === false) {
    const why = isHttps ? 'SERVER_URL is https, so a proxy is in front' : 'A proxy is in front'
    const message = `${why}, and ${setting}: all clients have the address of the proxy, and share its limits.`
    return { ...check, status: 'warning', message, advice: 'Set TRUST_PROXY=true, or to the address ranges of all proxies.' }
  }
  if (isSeen && arrival) return checkForwarding(setting, arrival)
  if (!isSeen && TRUST_PROXY !== false && portOf(SERVER_URL) === LISTEN_PORT) {
    const message = `${setting}, and no proxy is to be seen in front: clients in the trusted network can claim any address.`
    return { ...check, status: 'warning', message, advice: 'Set TRUST_PROXY=false, unless a proxy that says nothing of itself is there.' }
  }
  return { ...check, status: 'ok', message: `${setting} fits what the answer shows.` }
}

/** Looks whether the proxy names its clients, and whether the server believes it. */
function checkForwarding(setting: string, { peer, isTrusted, isForwarded }: Arrival): Check {
  const check = { name: 'proxy' }
  const consequence = 'all clients have the address of the proxy, and share its limits'
  if (!isForwarded) {
    const message = `The proxy in front, ${peer}, does not send X-Forwarded-For: ${consequence}.`
    const advice = 'Have it add the address of its client to X-Forwarded-For, as server/deploy/nginx.conf and Caddyfile do.'
    return { ...check, status: 'warning', message, advice }
  }
  if (isTrusted) return { ...check, status: 'ok', message: `The proxy in front, ${peer}, names its clients, and ${setting} trusts it.` }
  const message = `The proxy in front has the address ${peer}, which ${setting} does not name: ${consequence}.`
  const address = parseAddress(peer)
  const isNearby = address !== null && proxyTrust(true).isProxy(address)
  return { ...check, status: 'warning', message, advice: `Set TRUST_PROXY=${peer}${isNearby ? ', or TRUST_PROXY=true' : ''}.` }
}

const portOf = (url: string): number => Number(new URL(url).port || (url.startsWith('https:') ? 443 : 80))
