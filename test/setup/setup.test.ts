import { expect, it } from 'vitest'
import { announceSetupCode } from '../../server/accounts/setup/service.ts'
import { statuses } from '../actor.ts'
import { testApp, type TestApp } from '../app.ts'
import { cookieNames } from '../support/cookies.ts'

const names = cookieNames()

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
/** Enters the setup code from the log and returns the token that completes the setup. */
const verify = async (app: TestApp, options?: { ip?: string }): Promise<{ setupToken: string }> => {
  const { status, body } = await app.anonymous.post('/api/setup/verify', { code: codeOf(app) }, options)
  expect({ status, body }).toEqual({ status: 200, body: { status: 'ok', setupToken: expect.stringMatching(/^[\w-]{43}$/) } })
  return { setupToken: body.setupToken }
}
const forbidden = (message: string) => ({
  status: 403,
  body: { error: { code: 'InsufficientPermissions', message: expect.stringContaining(message) } },
})

it('prints a code on a line of its own', async () => {
  await using app = await freshServer()
  expect(codeOf(app)).toMatch(/^[2-9A-HJKMNP-Z]{4}-[2-9A-HJKMNP-Z]{4}-[2-9A-HJKMNP-Z]{4}$/)
  expect(app.lines.join('')).toContain('http://localhost:8080/setup')
})

it('creates the owner, who can sign in', async () => {
  await using app = await freshServer()
  expect(await app.anonymous.get('/api/setup/status')).toMatchObject({
    status: 200,
    body: { needsSetup: true, signupEnabled: false, publicBrowsing: false },
  })
  const verified = await app.anonymous.post('/api/setup/verify', { code: codeOf(app).toLowerCase().replaceAll('-', ' ') })
  expect(verified).toMatchObject({ status: 200, body: { status: 'ok' } })
  const made = await app.anonymous.post('/api/setup/complete', { ...account, setupToken: verified.body.setupToken })
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

it('is unavailable once there is an owner', async () => {
  await using app = await testApp()
  expect(await app.anonymous.post('/api/setup/verify', { code: 'x' })).toMatchObject({ status: 404, body: { error: { code: 'NotFound' } } })
  expect(await app.anonymous.post('/api/setup/complete', account)).toMatchObject({ status: 404, body: { error: { code: 'NotFound' } } })
})

it('blocks everything else until the setup is complete, in REST and GraphQL', async () => {
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

it('refuses a wrong or missing code', async () => {
  await using app = await freshServer()
  expect(await app.anonymous.post('/api/setup/verify', { code: 'AAAA-BBBB-CCCC' })).toMatchObject({
    status: 400,
    body: { error: { code: 'InvalidInput' } },
  })
  expect(await app.anonymous.post('/api/setup/complete', account)).toMatchObject({ status: 403 })
})

it('continues only for the address that verified the code, within 30 minutes', async () => {
  await using app = await freshServer(new Date('2026-01-01T12:00:00Z'))
  const sent = { ...account, ...(await verify(app, { ip: '192.0.2.1' })) }
  expect(await app.anonymous.post('/api/setup/verify', { code: codeOf(app) }, { ip: '192.0.2.2' })).toMatchObject({ status: 403 })
  expect(await app.anonymous.post('/api/setup/complete', sent, { ip: '192.0.2.2' })).toMatchObject(forbidden('another address'))
  app.clock.now = new Date('2026-01-01T12:30:00Z')
  expect(await app.anonymous.post('/api/setup/complete', sent, { ip: '192.0.2.1' })).toMatchObject(forbidden('30 minutes'))
  app.clock.now = new Date('2026-01-01T12:29:59Z')
  expect(await app.anonymous.post('/api/setup/complete', sent, { ip: '192.0.2.1' })).toMatchObject({ status: 201 })
})

it('continues only for the client that verified the code, even behind the same proxy', async () => {
  await using app = await freshServer()
  const { setupToken } = await verify(app)
  for (const given of [{}, { setupToken: '' }, { setupToken: 'x'.repeat(43) }])
    expect(await app.anonymous.post('/api/setup/complete', { ...account, ...given })).toMatchObject(forbidden('Another client'))
  const mutation = 'mutation ($input: CompleteSetupInput!) { completeSetup(input: $input) { user { role } } }'
  const refused = await app.anonymous.graphql(mutation, { input: account }, { ip: app.address() })
  expect(refused.body.errors[0].extensions).toMatchObject({ code: 'InsufficientPermissions' })
  // A later verification replaces the earlier one.
  const again = await app.anonymous.graphql('mutation ($input: VerifySetupCodeInput!) { verifySetupCode(input: $input) { setupToken } }', {
    input: { code: codeOf(app) },
  })
  expect(await app.anonymous.post('/api/setup/complete', { ...account, setupToken })).toMatchObject(forbidden('Another client'))
  const done = await app.anonymous.graphql(mutation, { input: { ...account, ...again.body.data.verifySetupCode } })
  expect(done.body).toEqual({ data: { completeSetup: { user: { role: 'OWNER' } } }, extensions: { cost: expect.any(Number) } })
})

it('accepts the setup token from an HttpOnly cookie', async () => {
  await using app = await freshServer()
  const { cookies } = await app.anonymous.post('/api/setup/verify', { code: codeOf(app) })
  expect(cookies).toEqual([expect.objectContaining({ name: names.setup, httpOnly: true, sameSite: 'Strict', path: '/', maxAge: 1800 })])
  const headers = { cookie: `${names.setup}=${cookies[0]?.value}` }
  expect(await app.anonymous.post('/api/setup/complete', { ...account, password: 'short' }, { headers })).toMatchObject({ status: 400 })
  const done = await app.anonymous.post('/api/setup/complete', account, { headers })
  expect(done).toMatchObject({ status: 201, cookies: [{ name: names.setup, value: '' }] })
})

it('expires the code after a day and when a new one is printed', async () => {
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

it('counts concurrent wrong codes and prints one new code for them', async () => {
  await using app = await freshServer()
  const answers = await Promise.all(
    Array.from({ length: 24 }, () => app.anonymous.post('/api/setup/verify', { code: 'wrong' }, { ip: app.address() })),
  )
  expect(statuses(answers)).toEqual(Array.from(answers, () => 400))
  expect(app.lines.filter((line) => line.startsWith('Setup code: '))).toHaveLength(2)
})

it('allows five attempts in 15 minutes', async () => {
  await using app = await freshServer()
  for (let round = 0; round < 5; round++)
    expect(await app.anonymous.post('/api/setup/verify', { code: 'wrong' })).toMatchObject({ status: 400 })
  const refused = await app.anonymous.post('/api/setup/verify', { code: codeOf(app) })
  expect(refused).toMatchObject({ status: 429, body: { error: { code: 'RateLimitExceeded' } } })
  expect(Number(refused.headers['retry-after'])).toBeGreaterThan(0)
})

it.each([
  [{ ...account, email: 'no-address' }, 'email'],
  [{ ...account, email: undefined }, 'email'],
  [{ ...account, displayName: ' ' }, 'displayName'],
  [{ ...account, displayName: 'a\u0000b' }, 'displayName'],
  [{ ...account, password: 'short' }, 'password'],
  [{ ...account, password: 'password1' }, 'password'],
  [{ ...account, password: 'ada@example.com' }, 'password'],
  [{ ...account, password: 'x'.repeat(73) }, 'password'],
  [{ ...account, password: 12345678 }, 'password'],
])('names the invalid field of the account: %j', async (input, field) => {
  await using app = await freshServer()
  const { status, body } = await app.anonymous.post('/api/setup/complete', { ...input, ...(await verify(app)) })
  expect({ status, ...body.error }).toMatchObject({
    status: 400,
    code: 'InvalidInput',
    message: expect.stringMatching(new RegExp(`^${field}: `)),
  })
  expect(await app.anonymous.get('/api/setup/status')).toMatchObject({ body: { needsSetup: true } })
})

it('never creates two owners in concurrent completions', async () => {
  await using app = await freshServer()
  const verified = await verify(app)
  const both = await Promise.all([
    app.anonymous.post('/api/setup/complete', { ...account, ...verified }),
    app.anonymous.post('/api/setup/complete', { ...account, ...verified, email: 'bob@example.com' }),
  ])
  expect(statuses(both)).toEqual([201, 404])
  expect(await app.services.database.reads.all('select id from users')).toHaveLength(1)
})
