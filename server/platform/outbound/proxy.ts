import type { Agent, ProxyEnv } from 'node:http'
import ipaddr from 'ipaddr.js'
import type { Config } from '../config/config.ts'

/** The forward proxies, and the hosts that are contacted without one. */
export type ProxySettings = Partial<Pick<Config, 'HTTP_PROXY' | 'HTTPS_PROXY' | 'ALL_PROXY' | 'NO_PROXY'>>

/** Timeout in milliseconds for a connection to a proxy and through it to the server. Node does not end it with the request's signal. */
const connectMs = 15_000

/** Returns the forward proxy for requests to a URL, or null if they are sent directly: to hosts in NO_PROXY and to this machine. */
export function proxyFor({ NO_PROXY = [], ...settings }: ProxySettings, url: URL): URL | null {
  const proxy = settings[variableFor(settings, url)]
  if (proxy === undefined || isThisMachine(bare(url.hostname)) || NO_PROXY.some((entry) => includes(entry, url))) return null
  return new URL(proxy)
}

/** Returns the setting that contains the proxy for a URL. */
export const variableFor = (settings: ProxySettings, { protocol }: URL): 'HTTP_PROXY' | 'HTTPS_PROXY' | 'ALL_PROXY' => {
  const own = protocol === 'https:' ? 'HTTPS_PROXY' : 'HTTP_PROXY'
  return settings[own] === undefined ? 'ALL_PROXY' : own
}

/** Describes the way to a URL, without credentials. */
export function describeRoute(settings: ProxySettings, url: URL): string {
  const proxy = proxyFor(settings, url)
  return proxy ? `through the proxy ${proxy.origin}` : 'directly'
}

/** Returns the agent options that send requests through a proxy. Node encodes and sends its credentials. */
export const agentOptions = ({ href }: URL): { proxyEnv: ProxyEnv; timeout: number } => ({
  proxyEnv: { HTTP_PROXY: href, HTTPS_PROXY: href },
  timeout: connectMs,
})

/** Returns an agent that sends requests for a URL through its proxy; undefined if they are sent directly. */
export async function openAgent(settings: ProxySettings, url: URL): Promise<Agent | undefined> {
  const proxy = proxyFor(settings, url)
  if (!proxy) return undefined
  // Loaded on demand, because importing `node:http` also loads `fetch`.
  const library = url.protocol === 'https:' ? await import('node:https') : await import('node:http')
  return new library.Agent(agentOptions(proxy))
}

/** Returns the environment variables that make other programs use the same proxies. */
export function proxyEnvironment(settings: ProxySettings, { withCredentials }: { withCredentials: boolean }): Record<string, string> {
  const { NO_PROXY = [] } = settings
  const proxies = (['http', 'https'] as const).flatMap((scheme) => {
    const text = settings[variableFor(settings, new URL(`${scheme}://host`))]
    if (text === undefined) return []
    const value = (withCredentials ? text : new URL(text).origin).replace(/\/$/, '')
    return [`${scheme}_proxy`, `${scheme.toUpperCase()}_PROXY`].map((name) => [name, value])
  })
  const direct = ['no_proxy', 'NO_PROXY'].map((name) => [name, ['localhost', '127.0.0.1', '::1', ...NO_PROXY].join(',')])
  return proxies.length === 0 ? {} : Object.fromEntries<string>([...proxies, ...direct] as [string, string][])
}

/** Returns the value of the header `Proxy-Authorization`, or null for a proxy without credentials. */
export function proxyAuthorization({ username, password }: URL): string | null {
  if (username === '' && password === '') return null
  return `Basic ${Buffer.from(`${decodeURIComponent(username)}:${decodeURIComponent(password)}`).toString('base64')}`
}

/** Returns a host without brackets and trailing dot. */
const bare = (host: string): string => host.replace(/^\[|\]$/g, '').replace(/\.$/, '')

const addressIn = (host: string) => (ipaddr.IPv4.isValidFourPartDecimal(host) || ipaddr.IPv6.isValid(host) ? ipaddr.process(host) : null)

function isThisMachine(host: string): boolean {
  return /(^|\.)localhost$/.test(host) || addressIn(host)?.range() === 'loopback'
}

/** Whether an entry of NO_PROXY includes the host and port of a URL. A name includes its subdomains. */
function includes(entry: string, { hostname, port, protocol }: URL): boolean {
  if (entry === '*') return true
  const host = bare(hostname)
  const range = entry.replace(/[[\]]/g, '')
  const address = addressIn(host)
  if (ipaddr.isValidCIDR(range)) {
    const [network, bits] = ipaddr.parseCIDR(range)
    return address?.kind() === network.kind() && address.match(network, bits)
  }
  const [, name = entry, wantedPort] = ipaddr.IPv6.isValid(entry) ? [] : (/^(.*?)(?::(\d+))?$/.exec(entry) ?? [])
  if (wantedPort !== undefined && wantedPort !== (port || (protocol === 'https:' ? '443' : '80'))) return false
  const named = bare(name.replace(/^\*?\./, ''))
  const namedAddress = addressIn(named)
  if (namedAddress) return address?.toString() === namedAddress.toString()
  return host === named || host.endsWith(`.${named}`)
}
