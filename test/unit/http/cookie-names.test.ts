import { expect, it } from 'vitest'
import { cookieName } from '../../../server/platform/http/cookies.ts'

it.each([
  ['http://localhost', 'svc_session'],
  ['https://pub.example.com', '__Host-svc_session'],
])('names the session cookie of %s %s', (serverUrl, name) => {
  expect(cookieName('session', serverUrl)).toBe(name)
})

const urls = [
  'http://h:8080',
  'http://h:8081',
  'http://h/a',
  'http://h/b',
  'http://h/a/b',
  'http://h:8080/a',
  'https://h:8443',
  'https://h/c',
]

it('adds eight characters for a port or a path, different for each', () => {
  const names = urls.map((url) => cookieName('session', url))
  for (const name of names) expect(name).toMatch(/^(?:__Host-)?svc_session_[\da-f]{8}$/)
  expect(new Set(names).size).toBe(urls.length)
})

it('keeps the suffix when a proxy reports https for a server with an http URL', () => {
  const [inside, outside] = [false, true].map((secure) => cookieName('csrf', 'http://h:8080/a', secure))
  expect(outside).toBe(`__Host-${inside}`)
})
