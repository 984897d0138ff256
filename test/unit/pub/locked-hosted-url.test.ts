import { expect, it } from 'vitest'
import { lockedHostedUrl } from '../../../server/platform/pub/hosted-url.ts'

// What `validateAndNormalizeHostedUrl(url).toString()` of the pub client returns.
it.each([
  ['https://pub.dev', 'https://pub.dev'],
  ['https://pub.dev/', 'https://pub.dev'],
  ['https://pub.dartlang.org', 'https://pub.dev'],
  ['https://pub.example.com/mirror', 'https://pub.example.com/mirror/'],
  ['https://pub.example.com/mirror/', 'https://pub.example.com/mirror/'],
  ['HTTPS://Pub.Example.com/Mirror', 'https://pub.example.com/Mirror/'],
  ['https://pub.example.com:443/a/b', 'https://pub.example.com/a/b/'],
  ['http://localhost:8080/mirror', 'http://localhost:8080/mirror/'],
  ['http://localhost:8080', 'http://localhost:8080'],
  ['https://pub.example.com/a/../mirror', 'https://pub.example.com/mirror/'],
])('writes %s as the package client does: %s', (url, written) => {
  expect(lockedHostedUrl(url)).toBe(written)
})
