import { expect, it } from 'vitest'
import type { Actor } from '../actor.ts'
import { testApp } from '../app.ts'
import { publish } from '../support/publish.ts'

const account = { email: 'new@example.com', displayName: 'New', password: 'a fine password' }
const signupOn = { env: { SIGNUP_ENABLED: 'true' } }

it('signs users up as members where enabled, with the same answer for taken addresses', async () => {
  await using app = await testApp(signupOn)
  const alice = await app.member()
  const fresh = await app.anonymous.post('/api/auth/signup', { ...account, role: 'owner', isActive: false })
  const taken = await app.anonymous.post('/api/auth/signup', { ...account, email: alice.email.toUpperCase() })
  expect(fresh).toMatchObject({ status: 202, body: { status: 'ok' }, cookies: [] })
  expect(taken.raw.equals(fresh.raw)).toBe(true)
  expect(await app.anonymous.post('/api/auth/login', account)).toMatchObject({ status: 200, body: { role: 'member', isActive: true } })
  expect(await alice.session()).toBeDefined()
})

it('refuses signups where they are disabled', async () => {
  await using app = await testApp()
  expect(await app.anonymous.post('/api/auth/signup', account)).toMatchObject({
    status: 403,
    body: { error: { code: 'InsufficientPermissions' } },
  })
  expect(await app.anonymous.get('/api/setup/status')).toMatchObject({ body: { signupEnabled: false } })
})

it('allows ten signups per address in 15 minutes', async () => {
  await using app = await testApp(signupOn)
  for (let round = 0; round < 10; round++) await app.anonymous.post('/api/auth/signup', { ...account, email: `p${round}@example.com` })
  expect(await app.anonymous.post('/api/auth/signup', account)).toMatchObject({
    status: 429,
    headers: { 'retry-after': expect.any(String) },
  })
})

it('refuses signups from another site and signups with invalid fields', async () => {
  await using app = await testApp(signupOn)
  expect(await app.anonymous.post('/api/auth/signup', account, { headers: { origin: 'https://evil.example' } })).toMatchObject({
    status: 403,
    body: { error: { code: 'CsrfMismatch' } },
  })
  for (const [field, value] of [
    ['email', 'x'],
    ['email', `${'x'.repeat(250)}@example.com`],
    ['displayName', ''],
    ['displayName', 'a\u202eb'],
    ['password', 'short'],
    ['password', account.email],
  ]) {
    const answer = await app.anonymous.post('/api/auth/signup', { ...account, [field as string]: value }, { ip: app.address() })
    expect(answer).toMatchObject({
      status: 400,
      body: { error: { code: 'InvalidInput', message: expect.stringMatching(new RegExp(`^${field}: `)) } },
    })
  }
  expect(await app.services.database.reads.all('select id from users')).toHaveLength(1)
})

it('changes a password, ends all sessions and keeps the tokens', async () => {
  await using app = await testApp()
  const alice = await app.member()
  const [one, other] = [await alice.session(), await alice.session()]
  const change = await one.post('/api/auth/change-password', { currentPassword: 'correct horse', newPassword: 'battery staple' })
  expect(change).toMatchObject({ status: 200, body: { status: 'ok' }, cookies: [{ value: '' }, { value: '' }] })
  for (const browser of [one, other]) expect(await browser.get('/api/auth/me')).toMatchObject({ status: 401 })
  expect(await alice.get('/api/auth/me')).toMatchObject({ status: 200 })
  await expect(alice.session()).rejects.toThrow('Cannot sign in')
  expect(await (await alice.session('battery staple')).get('/api/auth/me')).toMatchObject({ status: 200 })
})

it('requires the current password and allows five failures', async () => {
  await using app = await testApp()
  const browser = await (await app.member()).session()
  const attempt = (currentPassword: string, newPassword = 'battery staple') =>
    browser.post('/api/auth/change-password', { currentPassword, newPassword })
  expect(await attempt('correct horse', 'correct horse')).toMatchObject({
    status: 400,
    body: { error: { message: expect.stringMatching(/^newPassword: /) } },
  })
  expect(await attempt('correct horse', 'short')).toMatchObject({
    status: 400,
    body: { error: { message: expect.stringMatching(/^newPassword: /) } },
  })
  for (let round = 0; round < 5; round++)
    expect(await attempt('wrong')).toMatchObject({
      status: 400,
      body: { error: { code: 'InvalidInput', message: expect.stringMatching(/^currentPassword: /) } },
    })
  expect(await attempt('correct horse')).toMatchObject({ status: 429 })
  expect(await browser.get('/api/auth/me')).toMatchObject({ status: 200 })
})

it('restores full access once a password that was due is changed', async () => {
  await using app = await testApp()
  const alice = await app.member({ mustChangePassword: true })
  const browser = await alice.session()
  expect(await browser.patch('/api/auth/profile', { displayName: 'X' })).toMatchObject({ status: 403 })
  expect(
    await browser.post('/api/auth/change-password', { currentPassword: 'correct horse', newPassword: 'battery staple' }),
  ).toMatchObject({ status: 200 })
  const again = await alice.session('battery staple')
  expect(await again.patch('/api/auth/profile', { displayName: 'Al' })).toMatchObject({
    status: 200,
    body: { displayName: 'Al', mustChangePassword: false },
  })
})

it('changes only the display name of the caller', async () => {
  await using app = await testApp()
  const alice = await app.member()
  expect(
    await alice.patch('/api/auth/profile', { displayName: ' Alice ', role: 'owner', email: 'other@example.com', isActive: false }),
  ).toMatchObject({ status: 200, body: { displayName: 'Alice', role: 'member', email: alice.email, isActive: true } })
  for (const displayName of ['', 5, null, 'x'.repeat(101), 'a\u0007b'])
    expect(await alice.patch('/api/auth/profile', { displayName })).toMatchObject({
      status: 400,
      body: { error: { message: expect.stringMatching(/^displayName: /) } },
    })
})

it('requires write scope to change the account with a token', async () => {
  await using app = await testApp()
  const reader = await app.withScopes(await app.member(), ['read'])
  expect(await reader.patch('/api/auth/profile', { displayName: 'X' })).toMatchObject({
    status: 403,
    body: { error: { message: expect.stringContaining('"write"') } },
  })
  expect(await reader.post('/api/auth/change-password', { currentPassword: 'correct horse', newPassword: 'battery staple' })).toMatchObject(
    { status: 403 },
  )
  const viewer = await (await app.viewer()).session()
  expect(await viewer.patch('/api/auth/profile', { displayName: 'V' })).toMatchObject({ status: 200 })
})

it('shows the time of the last sign-in only to the user and to administrators', async () => {
  await using app = await testApp()
  const [alice, bob, admin] = [await app.member(), await app.member(), await app.admin()]
  const session = await alice.session()
  await publish(alice, { name: 'acme', version: '1.0.0' })
  const seenBy = async (actor: Actor) =>
    (await actor.graphql('{ package(name: "acme") { uploaders { email lastLoginAt } } }')).body.data.package.uploaders[0]
  expect(await seenBy(bob)).toEqual({ email: alice.email, lastLoginAt: null })
  for (const actor of [alice, session, admin]) expect(await seenBy(actor)).toEqual({ email: alice.email, lastLoginAt: expect.any(String) })
})
