import { expect, it } from 'vitest'
import { announceSetupCode } from '../server/setup/service.ts'
import { statuses } from './actor.ts'
import { testApp, type TestApp } from './app.ts'

const account = { email: 'Ada@Example.com', displayName: 'Ada', password: 'a fine password' }

async function freshServer(now?: Date) {
  const app = await testApp({ setUp: false, ...(now && { now }) })
  await announceSetupCode(app.services)
  return app
}
const codeOf = (app: TestApp) =>
  app.lines
    .findLast((line) => line.startsWith('Setup code: '))
    ?.slice(12)
    .trim() ?? ''

it('prints a code and nothing else exactly so', async () => {
  await using app = await freshServer()
  expect(codeOf(app)).toMatch(/^[2-9A-HJKMNP-Z]{4}-[2-9A-HJKMNP-Z]{4}-[2-9A-HJKMNP-Z]{4}$/)
  expect(app.lines.join('')).toContain('http://localhost:8080/setup')
})

it('makes the owner, who can sign in', async () => {
  await using app = await freshServer()
  expect(await app.anonymous.get('/api/setup/status')).toMatchObject({
    status: 200,
    body: { needsSetup: true, signupEnabled: false, publicBrowsing: false },
  })
  expect(await app.anonymous.post('/api/setup/verify', { code: codeOf(app).toLowerCase().replaceAll('-', ' ') })).toMatchObject({
    status: 200,
    body: { status: 'ok' },
  })
  const made = await app.anonymous.post('/api/setup/complete', account)
  expect(made).toMatchObject({
    status: 201,
    body: { email: 'Ada@Example.com', displayName: 'Ada', role: 'owner', isActive: true, mustChangePassword: false, status: 'active' },
  })
  expect(await app.anonymous.post('/api/auth/login', { email: ' ada@example.COM ', password: account.password })).toMatchObject({
    status: 200,
    body: { userId: made.body.userId },
  })
  expect(await app.anonymous.get('/api/setup/status')).toMatchObject({ body: { needsSetup: false } })
})

it('is over once there is an owner', async () => {
  await using app = await testApp()
  expect(await app.anonymous.post('/api/setup/verify', { code: 'x' })).toMatchObject({ status: 404, body: { error: { code: 'NotFound' } } })
  expect(await app.anonymous.post('/api/setup/complete', account)).toMatchObject({ status: 404, body: { error: { code: 'NotFound' } } })
})

it('keeps everything else shut until then, on both doors', async () => {
  await using app = await freshServer()
  for (const path of ['/api/auth/keys', '/api/auth/me']) {
    expect(await app.anonymous.get(path)).toMatchObject({
      status: 403,
      body: { error: { code: 'InsufficientPermissions', message: expect.stringContaining('Finish the setup') } },
    })
  }
  expect(await app.anonymous.post('/api/auth/login', { email: 'a@b.c', password: 'x' })).toMatchObject({ status: 403 })
  const { body } = await app.anonymous.graphql('{ packageNames }')
  expect(body.errors[0]).toMatchObject({ extensions: { code: 'InsufficientPermissions' } })
  expect(await app.anonymous.get('/api/v1/health')).toMatchObject({ status: 200 })
})

it('refuses a wrong code, and no code at all', async () => {
  await using app = await freshServer()
  expect(await app.anonymous.post('/api/setup/verify', { code: 'AAAA-BBBB-CCCC' })).toMatchObject({
    status: 400,
    body: { error: { code: 'InvalidInput' } },
  })
  expect(await app.anonymous.post('/api/setup/complete', account)).toMatchObject({ status: 403 })
})

it('lets only the address that verified the code go on, for thirty minutes', async () => {
  await using app = await freshServer(new Date('2026-01-01T12:00:00Z'))
  expect(await app.anonymous.post('/api/setup/verify', { code: codeOf(app) }, { ip: '192.0.2.1' })).toMatchObject({ status: 200 })
  expect(await app.anonymous.post('/api/setup/verify', { code: codeOf(app) }, { ip: '192.0.2.2' })).toMatchObject({ status: 403 })
  expect(await app.anonymous.post('/api/setup/complete', account, { ip: '192.0.2.2' })).toMatchObject({ status: 403 })
  app.clock.now = new Date('2026-01-01T12:30:00Z')
  expect(await app.anonymous.post('/api/setup/complete', account, { ip: '192.0.2.1' })).toMatchObject({ status: 403 })
  app.clock.now = new Date('2026-01-01T12:29:59Z')
  expect(await app.anonymous.post('/api/setup/complete', account, { ip: '192.0.2.1' })).toMatchObject({ status: 201 })
})

it('forgets the code after a day, and an old one when a new one is printed', async () => {
  await using app = await freshServer()
  const old = codeOf(app)
  app.clock.now = new Date(Date.now() + 86_400_000 + 1000)
  expect(await app.anonymous.post('/api/setup/verify', { code: old })).toMatchObject({ status: 400 })
  await announceSetupCode(app.services)
  expect(codeOf(app)).not.toBe(old)
  expect(await app.anonymous.post('/api/setup/verify', { code: old })).toMatchObject({ status: 400 })
  expect(await app.anonymous.post('/api/setup/verify', { code: codeOf(app) })).toMatchObject({ status: 200 })
})

it('prints a new code after twenty wrong ones', async () => {
  await using app = await freshServer()
  const first = codeOf(app)
  for (let round = 0; round < 20; round++) await app.anonymous.post('/api/setup/verify', { code: 'wrong' }, { ip: app.address() })
  expect(codeOf(app)).not.toBe(first)
})

it('allows five tries in a quarter of an hour', async () => {
  await using app = await freshServer()
  for (let round = 0; round < 5; round++)
    expect(await app.anonymous.post('/api/setup/verify', { code: 'wrong' })).toMatchObject({ status: 400 })
  const refused = await app.anonymous.post('/api/setup/verify', { code: codeOf(app) })
  expect(refused).toMatchObject({ status: 429, body: { error: { code: 'RateLimitExceeded' } } })
  expect(Number(refused.headers['retry-after'])).toBeGreaterThan(0)
})

it.each([
  [{ ...account, email: 'nobody' }, 'email'],
  [{ ...account, email: undefined }, 'email'],
  [{ ...account, displayName: ' ' }, 'displayName'],
  [{ ...account, displayName: 'a\u0000b' }, 'displayName'],
  [{ ...account, password: 'short' }, 'password'],
  [{ ...account, password: 'password1' }, 'password'],
  [{ ...account, password: 'ada@example.com' }, 'password'],
  [{ ...account, password: 'x'.repeat(73) }, 'password'],
  [{ ...account, password: 12345678 }, 'password'],
])('names the field of an account that does not do: %j', async (input, field) => {
  await using app = await freshServer()
  await app.anonymous.post('/api/setup/verify', { code: codeOf(app) })
  const { status, body } = await app.anonymous.post('/api/setup/complete', input)
  expect({ status, ...body.error }).toMatchObject({
    status: 400,
    code: 'InvalidInput',
    message: expect.stringMatching(new RegExp(`^${field}: `)),
  })
  expect(await app.anonymous.get('/api/setup/status')).toMatchObject({ body: { needsSetup: true } })
})

it('never makes two owners of two completions at once', async () => {
  await using app = await freshServer()
  await app.anonymous.post('/api/setup/verify', { code: codeOf(app) })
  const both = await Promise.all([
    app.anonymous.post('/api/setup/complete', account),
    app.anonymous.post('/api/setup/complete', { ...account, email: 'bob@example.com' }),
  ])
  expect(statuses(both)).toEqual([201, 404])
  expect(await app.services.database.reads.all('select id from users')).toHaveLength(1)
})
