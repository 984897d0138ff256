import { expect, it } from 'vitest'
import { email, emailKey } from '../../../server/accounts/users/input.ts'

it.each([
  'admin@localhost',
  'x%y@acme.dev',
  'x@müller.de',
  'x@xn--mller-kva.de',
  'x@日本.jp',
  'é.b@acme.dev',
  "o'neil+tag@mail.acme.co",
  ' Nina@Example.com ',
])('accepts %s', (address) => {
  expect(email.parse(address)).toBe(address.trim())
})

it.each([
  'acme.dev',
  '@acme.dev',
  'a@@acme.dev',
  'a@b@acme.dev',
  'a b@acme.dev',
  'a@acme dev.de',
  'a@acme',
  'a@acme..dev',
  'a@.dev',
  'a@acme.dev.',
  'a@-acme.dev',
  'a@acme.dev/x',
  'a@acme.dev:25',
  'a@%61cme.dev',
  'a@127.0.0.1',
  'a@2130706433',
  'a@[::1]',
  'a@ac\u00adme.dev',
  '.a@acme.dev',
  'a..b@acme.dev',
  '"a"@acme.dev',
  'a\u202eb@acme.dev',
  `${'a'.repeat(250)}@b.de`,
])('refuses %s', (address) => {
  expect(email.safeParse(address).success).toBe(false)
})

it('has one key for all spellings of a domain', () => {
  const keys = ['X@MÜLLER.DE', 'x@müller.de', 'x@mu\u0308ller.de', 'x@xn--mller-kva.de', ' x@Müller.de'].map(emailKey)
  expect(new Set(keys)).toEqual(new Set(['x@müller.de']))
  expect(['Nina@Example.com', 'admin@LOCALHOST', 'a@acme.dev/x', 'none'].map(emailKey)).toEqual([
    'nina@example.com',
    'admin@localhost',
    'a@acme.dev/x',
    'none',
  ])
})
