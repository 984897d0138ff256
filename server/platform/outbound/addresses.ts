import { lookup, Resolver } from 'node:dns/promises'
import { BlockList } from 'node:net'
import ipaddr from 'ipaddr.js'

/** An address to connect to. */
export type Address = { address: string; family: 4 | 6 }

/** Decides which addresses and ports may be contacted. */
export type Guard = (address: string, port: number) => boolean

/** Allows public addresses on the ports of HTTP and HTTPS. */
export const publicOnly = (address: string, port: number): boolean => (port === 80 || port === 443) && isPublicAddress(address)

/** Networks of cloud providers with addresses that only their own machines reach: services of Azure (the wire server) and of IBM Cloud. */
const cloudServices = new BlockList()
cloudServices.addAddress('168.63.129.16')
cloudServices.addSubnet('161.26.0.0', 16)
cloudServices.addSubnet('166.8.0.0', 14)

/**
 * Returns whether an address is public unicast: not loopback, private, link-local, carrier-grade NAT, multicast, reserved, a service of a cloud
 * provider, or an IPv6 form that contains an IPv4 address.
 */
export function isPublicAddress(address: string): boolean {
  if (!ipaddr.isValid(address)) return false
  const parsed = ipaddr.parse(address)
  if (parsed.range() !== 'unicast' || (parsed.kind() === 'ipv4' && cloudServices.check(address))) return false
  // Global unicast addresses are in 2000::/3 (RFC 4291, section 2.4).
  return parsed.kind() === 'ipv4' || ((parsed.toByteArray()[0] ?? 0) & 0xe0) === 0x20
}

/** Stands for the address of a host that only a proxy can resolve. */
export const anyPublicAddress = '2000::'

/** Returns whether a list of hosts contains the host and port of a URL. A host without a port stands for the ports 80 and 443. */
export function isListed(hosts: readonly string[], { hostname, port, protocol }: URL): boolean {
  const actual = port || (protocol === 'https:' ? '443' : '80')
  return hosts.some((entry) => {
    const [, host = '', listed] = /^(.*?)(?::(\d+))?$/.exec(entry) ?? []
    const isSameHost = URL.parse(`http://${host}`)?.hostname.replace(/\.$/, '') === hostname.replace(/\.$/, '')
    return isSameHost && (listed === undefined ? actual === '80' || actual === '443' : Number(listed) === Number(actual))
  })
}

/** Returns whether a name belongs to a private network: without a dot, or below a domain that public DNS does not have (RFC 6761, 6762, 8375). */
export function isPrivateName(host: string): boolean {
  const name = host.replace(/\.$/, '')
  if (ipaddr.isValid(name.replace(/^\[|\]$/g, ''))) return false
  return !name.includes('.') || /\.(localhost|local|internal|intranet|private|corp|home|lan|home\.arpa|test|invalid|onion)$/.test(name)
}

const lookUpMs = 4000

/**
 * Resolves a host name, or returns the address that it is. Queries DNS servers directly, so that a slow one does not occupy a thread that reads files.
 * @throws Error if the name has no address.
 */
export async function resolveHost(host: string, servers: readonly string[]): Promise<Address[]> {
  const literal = host.replace(/^\[|\]$/g, '')
  if (ipaddr.isValid(literal)) return [{ address: literal, family: ipaddr.parse(literal).kind() === 'ipv4' ? 4 : 6 }]
  const resolver = new Resolver({ timeout: lookUpMs / 2, tries: 2 })
  if (servers.length > 0) resolver.setServers(servers)
  const giveUp = setTimeout(() => resolver.cancel(), lookUpMs)
  try {
    const [four, six] = await Promise.allSettled([resolver.resolve4(host), resolver.resolve6(host)])
    const found = [...addressesIn(four, 4), ...addressesIn(six, 6)]
    if (found.length === 0) throw new Error(`The host ${host} has no address.`, { cause: four.status === 'rejected' ? four.reason : six })
    return found
  } finally {
    clearTimeout(giveUp)
  }
}

/** Resolves a host name as `resolveHost`, otherwise as other programs do: from the hosts file and with the search domains of the system. */
export async function resolveConfiguredHost(host: string, servers: readonly string[]): Promise<Address[]> {
  try {
    return await resolveHost(host, servers)
  } catch (error) {
    const found = await lookup(host, { all: true }).catch(() => [])
    if (found.length === 0) throw error
    return found.map(({ address, family }) => ({ address, family: family === 6 ? 6 : 4 }))
  }
}

const addressesIn = (result: PromiseSettledResult<string[]>, family: 4 | 6): Address[] =>
  result.status === 'fulfilled' ? result.value.map((address) => ({ address, family })) : []
