import { expect, it } from 'vitest'
import { readConfig } from '../../../server/platform/config/config.ts'
import { weakSettings } from '../../../server/platform/config/warnings.ts'

const good = '3b5c9f1e7a2d4c8e90b1f3a5d7c9e2b4'
const read = (settings: Record<string, string>) =>
  weakSettings(readConfig({ SERVER_URL: 'http://localhost:8080', JWT_SECRET: good, ...settings }))

it.each([
  'x'.repeat(32),
  ' '.repeat(32),
  'ab'.repeat(40),
  'changeme'.repeat(4),
  '0123456789'.repeat(3).concat('01'),
  good.slice(0, 17).repeat(2),
])('accepts the secret %j and warns without showing it', (secret) => {
  const [{ name, message } = { name: '', message: '' }, ...more] = read({ JWT_SECRET: secret })
  expect([name, message, more]).toEqual([
    'JWT_SECRET',
    expect.stringMatching(/^JWT_SECRET is easy to guess .* openssl rand -base64 32$/),
    [],
  ])
  expect(message).not.toContain(secret)
  expect(read({ JWT_SECRET_PREVIOUS: secret }).map((weak) => weak.name)).toEqual(['JWT_SECRET_PREVIOUS'])
})

it.each([good, 'a secret for tests that is long enough', 'v0nZ3Xk1nq7tY8oQmB2cLw5sR4uJ6hPa9dGfEiTzKxM='])(
  'does not warn about the secret %s',
  (secret) => {
    expect(read({ JWT_SECRET: secret })).toEqual([])
  },
)

it.each([4, 9])('accepts BCRYPT_COST=%i with a warning', (cost) => {
  expect(read({ BCRYPT_COST: String(cost) })).toEqual([
    { name: 'BCRYPT_COST', message: expect.stringContaining(`BCRYPT_COST is ${cost}: `) },
  ])
})

it.each([10, 12, 15])('accepts BCRYPT_COST=%i', (cost) => {
  expect(read({ BCRYPT_COST: String(cost) })).toEqual([])
})
