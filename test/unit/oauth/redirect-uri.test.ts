import fc from 'fast-check'
import { expect, it } from 'vitest'
import { isLoopbackRedirect, withParameters } from '../../../server/accounts/oauth/parameters.ts'
import { foreignRedirects, loopbackRedirects } from '../../support/redirects.ts'

it.each(loopbackRedirects)('trusts %j', (uri) => {
  expect(isLoopbackRedirect(uri)).toBe(true)
})

it.each(foreignRedirects)('does not trust %j', (uri) => {
  expect(isLoopbackRedirect(uri)).toBe(false)
})

const pieces = [
  'http',
  'https',
  ':',
  '/',
  '//',
  '\\',
  '@',
  '#',
  '?',
  '%',
  '%00',
  '.',
  '127.0.0.1',
  'localhost',
  '[::1]',
  '[',
  ']',
  'evil.com',
  '8000',
  '0',
  ' ',
  '\n',
  '。',
]

it('does not trust any URI that browsers resolve to another host', () => {
  const near = fc
    .array(fc.oneof({ weight: 5, arbitrary: fc.constantFrom(...pieces) }, fc.string()), { maxLength: 12 })
    .map((parts) => parts.join(''))
  const changed = fc
    .tuple(fc.constantFrom(...loopbackRedirects), fc.nat(30), fc.nat(3), near)
    .map(([uri, at, cut, put]) => uri.slice(0, at) + put + uri.slice(at + cut))
  fc.assert(
    fc.property(fc.oneof(near, changed), (uri) => {
      if (!isLoopbackRedirect(uri)) return
      const { protocol, hostname, username, password, hash } = new URL(uri)
      expect({ protocol, username, password, hash }).toEqual({ protocol: 'http:', username: '', password: '', hash: '' })
      expect(['127.0.0.1', 'localhost', '[::1]']).toContain(hostname)
    }),
    { numRuns: 20_000 },
  )
})

it('adds parameters that are parsed back unchanged', () => {
  fc.assert(
    fc.property(fc.constantFrom(...loopbackRedirects), fc.string({ unit: 'grapheme' }), (uri, state) => {
      const url = new URL(withParameters(uri, { code: 'abc', state, error: undefined }))
      expect([url.searchParams.get('code'), url.searchParams.get('state'), url.searchParams.has('error')]).toEqual(['abc', state, false])
      expect(url.origin).toBe(new URL(uri).origin)
    }),
  )
})
