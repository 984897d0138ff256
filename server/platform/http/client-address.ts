import type { FastifyInstance, FastifyRequest } from 'fastify'
import ipaddr from 'ipaddr.js'
import { isIPv4 } from 'node:net'

type Address = ipaddr.IPv4 | ipaddr.IPv6
/** A range of addresses that share the first bits with an address. */
export type AddressRange = { address: Address; bits: number }
type ForwardedHeader = string | string[] | undefined

/** Which peers are trusted proxies, and whether several of them may be chained. */
export type ProxyTrust = { isProxy: (address: Address) => boolean; isChain: boolean }

/**
 * Parses TRUST_PROXY. `true` trusts one hop from a loopback, private, shared (100.64.0.0/10, RFC 6598) or link-local address; a list of addresses and
 * ranges trusts every hop in it; `false` trusts no peer.
 */
export function proxyTrust(setting: boolean | string[]): ProxyTrust {
  if (setting === false) return { isProxy: () => false, isChain: false }
  if (setting === true) return { isProxy: (address) => nearby.has(address.range()), isChain: false }
  const ranges = setting.map((text): AddressRange => {
    const [address, bits] = ipaddr.parseCIDR(text.includes('/') ? text : `${text}/${ipaddr.parse(text).kind() === 'ipv4' ? 32 : 128}`)
    return { address, bits }
  })
  return { isProxy: (address) => ranges.some((range) => isInRange(range, address)), isChain: true }
}

/** Defines `request.ip` and `request.protocol`, taken from the socket or from the headers of a trusted proxy. */
export function readForwardedHeaders(app: FastifyInstance, trust: ProxyTrust): void {
  app.decorateRequest('ip', {
    getter(this: FastifyRequest) {
      return clientAddress(this.socket.remoteAddress, this.headers['x-forwarded-for'], trust)
    },
  })
  app.decorateRequest('protocol', {
    getter(this: FastifyRequest) {
      const { socket, headers } = this
      const forwarded = headers['x-forwarded-proto']
      const peer = forwarded === undefined ? null : parseAddress(socket.remoteAddress ?? '')
      const said = peer && trust.isProxy(peer) ? entries(forwarded).at(-1)?.toLowerCase() : undefined
      return said === 'https' || said === 'http' ? said : 'encrypted' in socket && socket.encrypted ? 'https' : 'http'
    },
  })
}

/**
 * Returns the client's address in its shortest form: the peer's address, or the entry that the trusted proxies added to `X-Forwarded-For`, read from
 * the right. Entries further left come from the client and are ignored. If an entry is not an address, returns the last trusted hop.
 */
export function clientAddress(peer: string | undefined, forwardedFor: ForwardedHeader, { isProxy, isChain }: ProxyTrust): string {
  // Fast path: a direct IPv4 connection needs no parsing.
  if (peer !== undefined && forwardedFor === undefined && isIPv4(peer)) return peer
  let client = parseAddress(peer ?? '')
  if (!client) return ''
  const hops = entries(forwardedFor)
  while (isProxy(client)) {
    const named = parseAddress(hops.pop() ?? '')
    if (!named) break
    client = named
    if (!isChain) break
  }
  return client.toString()
}

/** Parses an address as proxies write it: quoted, in brackets, with a port or a zone. IPv4-mapped IPv6 becomes IPv4. Returns null if invalid. */
export function parseAddress(text: string): Address | null {
  const bare = text
    .trim()
    .replace(/^"(.*)"$/, '$1')
    .replace(/^\[([^\]]*)\](?::\d{1,5})?$/, '$1')
    .replace(/^(\d+(?:\.\d+){3}):\d{1,5}$/, '$1')
    .replace(/%[\w.-]+$/, '')
  // Stricter than ipaddr.js, which also accepts 127.1, 0x7f000001 and octal numbers.
  if (isIPv4(bare)) return ipaddr.IPv4.parse(bare)
  if (!ipaddr.IPv6.isValid(bare)) return null
  const address = ipaddr.IPv6.parse(bare)
  return address.isIPv4MappedAddress() ? address.toIPv4Address() : address
}

/** Address ranges that TRUST_PROXY=true trusts. Cloud load balancers and overlay networks use the shared range, 100.64.0.0/10 (`carrierGradeNat`). */
const nearby = new Set(['loopback', 'private', 'carrierGradeNat', 'uniqueLocal', 'linkLocal'])

/** Returns whether a range contains an address. IPv4-mapped IPv6 addresses must have been converted (see `parseAddress`). */
export function isInRange({ address: range, bits }: AddressRange, address: Address): boolean {
  if (range instanceof ipaddr.IPv4) return address instanceof ipaddr.IPv4 && address.match(range, bits)
  return address instanceof ipaddr.IPv6 && address.match(range, bits)
}

/** Returns whether a range contains all addresses of another one. */
export const containsRange = (outer: AddressRange, { address, bits }: AddressRange): boolean =>
  outer.bits <= bits && isInRange(outer, address)

/** Parses an address or a range in CIDR notation (RFC 4632, RFC 4291). IPv4-mapped IPv6 becomes IPv4. Returns null if invalid. */
export function parseRange(text: string): AddressRange | null {
  const [, base = '', length] = /^([0-9A-Fa-f.:]+)(?:\/(\d{1,3}))?$/.exec(text.trim()) ?? []
  const address = parseAddress(base)
  if (!address) return null
  const width = address.kind() === 'ipv4' ? 32 : 128
  const isMapped = width === 32 && base.includes(':')
  const bits = length === undefined ? width : Number(length) - (isMapped ? 96 : 0)
  if (bits < 0 || bits > width) return null
  return { address: networkAddress(address, bits), bits }
}

const networkAddress = (address: Address, bits: number): Address =>
  address instanceof ipaddr.IPv4
    ? ipaddr.IPv4.networkAddressFromCIDR(`${address.toString()}/${bits}`)
    : ipaddr.IPv6.networkAddressFromCIDR(`${address.toString()}/${bits}`)

/** Returns a range in its shortest form: one address without its number of bits. */
export const formatRange = ({ address, bits }: AddressRange): string =>
  bits === (address.kind() === 'ipv4' ? 32 : 128) ? address.toString() : `${address.toString()}/${bits}`

const entries = (header: ForwardedHeader): string[] =>
  header === undefined ? [] : (Array.isArray(header) ? header.join(',') : header).split(',').map((entry) => entry.trim())
