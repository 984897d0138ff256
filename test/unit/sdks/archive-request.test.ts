import type { LookupAddress } from 'node:dns'
import { expect, it } from 'vitest'
import { isPrivate, lookupPublic, redirectTarget } from '../../../server/analysis/sdks/archive-site.ts'

const from = new URL('https://sdks.example.com/archive/3.11.0.zip')

it.each([
  ['https://sdks.example.com/elsewhere.zip', 'https://sdks.example.com/elsewhere.zip'],
  ['/elsewhere.zip', 'https://sdks.example.com/elsewhere.zip'],
  ['//sdks.example.com/elsewhere.zip', 'https://sdks.example.com/elsewhere.zip'],
  ['https://sdks.example.com:443/elsewhere.zip', 'https://sdks.example.com/elsewhere.zip'],
])('follows a redirect to %s', (location, target) => {
  expect(redirectTarget(from, location).href).toBe(target)
})

it.each([
  ['http://sdks.example.com/a', 'https://sdks.example.com/a'],
  ['http://sdks.example.com:8080/a', 'https://sdks.example.com/a'],
  ['http://sdks.example.com:8080/a', 'https://sdks.example.com:8080/a'],
  ['https://sdks.example.com:8443/a', 'https://sdks.example.com/a'],
  ['https://sdks.example.com:8443/a', 'https://sdks.example.com:8443/b'],
])('follows a redirect from %s to %s, on the same port or 443', (start, location) => {
  expect(redirectTarget(new URL(start), location).href).toBe(location)
})

it.each([
  ['http://sdks.example.com/a', 'https://sdks.example.com:8443/a'],
  ['http://sdks.example.com/a', 'http://sdks.example.com:443/a'],
  ['http://sdks.example.com:8080/a', 'http://sdks.example.com/a'],
  ['https://sdks.example.com:8443/a', 'http://sdks.example.com:8443/a'],
  ['https://sdks.example.com/a', 'https://sdks.example.com:80/a'],
])('rejects a redirect from %s to %s, on another port', (start, location) => {
  expect(() => redirectTarget(new URL(start), location)).toThrow('which is not on the same host')
})

it.each([
  'http://sdks.example.com/a',
  'http://sdks.example.com:8080/a',
  'https://sdks.example.com:8443/a',
  'https://example.com/a',
  'https://cdn.example.com/a',
  'https://sdks.example.com.evil.example/a',
  'https://sdks.example.com@evil.example/a',
  'https://user@sdks.example.com/a',
  'https://sdks.example.com.:8443/a',
  'https://10.0.0.1/a',
  'https://[::1]/a',
  'ftp://sdks.example.com/a',
  'file:///etc/passwd',
  'data:text/plain,a',
  'https://',
])('rejects a redirect to %s', (location) => {
  expect(() => redirectTarget(from, location)).toThrow('which is not on the same host')
})

it.each([
  '0.0.0.0',
  '10.1.2.3',
  '100.64.0.1',
  '127.0.0.1',
  '168.63.129.16',
  '169.254.169.254',
  '172.16.0.1',
  '192.168.1.1',
  '198.18.0.1',
  '224.0.0.1',
  '255.255.255.255',
  '::',
  '::1',
  '::ffff:10.0.0.1',
  '::ffff:a00:1',
  '::127.0.0.1',
  '64:ff9b::a00:1',
  '2002:a00:1::1',
  'fc00::1',
  'fe80::1',
  'fe80::1%eth0',
  'ff02::1',
  'not an address',
])('considers %s private', (address) => {
  expect(isPrivate(address)).toBe(true)
})

it.each(['8.8.8.8', '172.32.0.1', '2001:4860:4860::8888', '::ffff:8.8.8.8'])('considers %s public', (address) => {
  expect(isPrivate(address)).toBe(false)
})

it.each([true, false])('rejects a host name that resolves to a private address (all addresses: %s)', async (all) => {
  const outcome = new Promise<[Error | null, string | LookupAddress[]]>((resolve) => {
    lookupPublic('localhost', { all }, (error, found) => resolve([error, found]))
  })
  expect((await outcome)[0]?.message).toBe('it redirects to localhost, which has a private address now')
})
