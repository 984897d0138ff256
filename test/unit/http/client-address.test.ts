import fc from 'fast-check'
import { isIP } from 'node:net'
import { expect, it } from 'vitest'
import { clientAddress, parseAddress, proxyTrust } from '../../../server/platform/http/client-address.ts'

const noProxy = proxyTrust(false)
const oneHop = proxyTrust(true)
const chain = proxyTrust(['10.0.0.0/8', '203.0.113.7', '2001:db8::/32'])

it.each([
  ['1.2.3.4', '1.2.3.4'],
  [' 1.2.3.4:5678 ', '1.2.3.4'],
  ['"1.2.3.4:5678"', '1.2.3.4'],
  ['[2001:DB8:0::1]:443', '2001:db8::1'],
  ['"[2001:db8::1]"', '2001:db8::1'],
  ['[2001:db8::1]', '2001:db8::1'],
  ['2001:db8::1', '2001:db8::1'],
  ['fe80::1%eth0', 'fe80::1'],
  ['::ffff:192.0.2.1', '192.0.2.1'],
  ['[::ffff:c000:201]:80', '192.0.2.1'],
])('parses the address %s', (text, address) => {
  expect(parseAddress(text)?.toString()).toBe(address)
})

it.each([
  '',
  'unknown',
  '_hidden',
  '127.1',
  '0x7f000001',
  '010.0.0.1',
  '1.2.3.4.5',
  '1.2.3.4:port',
  '[1.2.3.4',
  '256.1.1.1',
  "'; --",
  '::1::',
])('rejects %j as an address', (text) => {
  expect(parseAddress(text)).toBeNull()
})

it('ignores forwarded addresses by default', () => {
  expect(clientAddress('127.0.0.1', '192.0.2.1', noProxy)).toBe('127.0.0.1')
  expect(clientAddress('::ffff:10.1.2.3', undefined, noProxy)).toBe('10.1.2.3')
  expect(clientAddress(undefined, '192.0.2.1', oneHop)).toBe('')
})

it('trusts one hop: the rightmost entry from a peer with a private address', () => {
  for (const peer of [
    '127.0.0.1',
    '10.1.2.3',
    '192.168.0.9',
    '172.16.0.1',
    '::1',
    'fd00::1',
    'fe80::1%eth0',
    '::ffff:10.0.0.1',
    '100.64.0.1',
    '100.127.255.254',
    '::ffff:100.100.1.1',
  ])
    expect(clientAddress(peer, '198.51.100.9, 10.9.9.9, 192.0.2.1', oneHop)).toBe('192.0.2.1')
  // A client with a private address behind the proxy is the client, regardless of the entries it sent itself.
  expect(clientAddress('127.0.0.1', '198.51.100.9, 10.9.9.9', oneHop)).toBe('10.9.9.9')
  for (const peer of ['192.0.2.200', '100.63.255.255', '100.128.0.1']) expect(clientAddress(peer, '198.51.100.9', oneHop)).toBe(peer)
  expect(clientAddress('127.0.0.1', '198.51.100.9, garbage', oneHop)).toBe('127.0.0.1')
  expect(clientAddress('127.0.0.1', ['198.51.100.9', '192.0.2.1'], oneHop)).toBe('192.0.2.1')
})

it('skips trusted hops from the right', () => {
  expect(clientAddress('10.1.1.1', '198.51.100.9, 192.0.2.1, 203.0.113.7', chain)).toBe('192.0.2.1')
  expect(clientAddress('2001:db8::5', '192.0.2.1', chain)).toBe('192.0.2.1')
  expect(clientAddress('127.0.0.1', '192.0.2.1', chain)).toBe('127.0.0.1')
  expect(clientAddress('10.1.1.1', '10.2.2.2, 10.3.3.3', chain)).toBe('10.2.2.2')
  expect(clientAddress('10.1.1.1', 'garbage, 203.0.113.7', chain)).toBe('203.0.113.7')
})

it('always returns a valid address, and never one from an untrusted hop', () => {
  const entry = fc.oneof(
    fc.ipV4(),
    fc.ipV6(),
    fc.string(),
    fc.ipV4().map((ip) => `${ip}:80`),
    fc.ipV6().map((ip) => `[${ip}]:1`),
  )
  fc.assert(
    fc.property(fc.array(entry), fc.ipV4(), (written, client) => {
      for (const trust of [noProxy, oneHop, chain]) {
        const given = clientAddress('127.0.0.1', [...written, client].join(','), trust)
        expect(isIP(given)).not.toBe(0)
        expect(given.length).toBeLessThanOrEqual(45)
        if (trust === oneHop) expect(given).toBe(client)
      }
    }),
  )
})
