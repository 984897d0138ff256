import { expect, it } from 'vitest'
import { type Actor, statuses } from '../actor.ts'
import { testApp } from '../app.ts'
import { addPasskey, Authenticator, browserOf, prove, signInWith } from '../support/authenticator.ts'
import { addTotp, codeAt } from '../support/totp.ts'

const start = new Date('2026-01-01T12:00:00Z')
const after = (seconds: number) => new Date(start.getTime() + seconds * 1000)
const required = (who: 'admins' | 'all') => ({ now: start, env: { REQUIRE_SECOND_FACTOR: who } })
const due = {
  status: 403,
  body: { error: { code: 'InsufficientPermissions', message: expect.stringContaining('requires a second factor') } },
}
const unproved = { status: 403, body: { error: { code: 'InsufficientPermissions', message: expect.stringMatching(/^You have a/) } } }
const isDue = async (browser: Actor) =>
  (await browser.graphql('{ viewer { mustProveSecondFactor } }')).body.data.viewer.mustProveSecondFactor

it('requires a second factor of the users that the setting names', async () => {
  for (const [who, isMemberDue] of [
    ['off', false],
    ['admins', false],
    ['all', true],
  ] as const) {
    await using app = await testApp({ env: { REQUIRE_SECOND_FACTOR: who } })
    const people = [await app.member(), await app.admin(), await app.owner()]
    const dues = await Promise.all(
      people.map(async (one) => isDue(await one.session(one.email.startsWith('owner') ? undefined : 'correct horse'))),
    )
    expect(dues).toEqual([isMemberDue, who !== 'off', who !== 'off'])
    expect((await app.anonymous.graphql('{ server { requireSecondFactor } }')).body.data.server).toEqual({
      requireSecondFactor: who.toUpperCase(),
    })
  }
})

it('allows a session without a second factor to read itself, set one up, change the password and sign out, and nothing else', async () => {
  await using app = await testApp(required('all'))
  const admin = await app.admin()
  const browser = await admin.session()
  const refused = [
    () => browser.get('/api/packages'),
    () => browser.get('/api/search?q=x'),
    () => browser.get('/api/auth/keys'),
    () => browser.get('/api/auth/sessions'),
    () => browser.post('/api/auth/keys', { name: 'ci' }),
    () => browser.patch('/api/auth/profile', { displayName: 'Eve' }),
    () => browser.get('/api/admin/users'),
    () => browser.post('/api/auth/sessions/revoke-others'),
    () => browser.delete('/api/auth/passkeys/019ac000-0000-7000-8000-000000000000'),
    () => browser.delete('/api/auth/totp'),
    () => browser.delete('/api/auth/identities/019ac000-0000-7000-8000-000000000000'),
    () => browser.post('/api/auth/recovery-codes'),
    () => browser.get('/api/packages/versions/new'),
  ]
  for (const request of refused) expect(await request()).toMatchObject(due)
  const authorization = await browser.get('/oauth/authorize?client_id=snug&response_type=code')
  expect(authorization.status).not.toBe(200)
  expect(await browser.get('/api/auth/me')).toMatchObject({ status: 200, body: { email: admin.email } })
  expect(await browser.get('/api/auth/passkeys')).toMatchObject({ status: 200, body: { passkeys: [] } })
  const own = await browser.graphql(
    '{ viewer { hasTotp recoveryCodesLeft hasSecondFactor passkeys { id } sessions(first: 1) { totalCount } } }',
  )
  expect(own.body.data.viewer).toEqual({ hasTotp: false, recoveryCodesLeft: 0, hasSecondFactor: false, passkeys: [], sessions: null })
  expect(await browser.post('/api/auth/confirm-password', { currentPassword: 'correct horse' })).toMatchObject({ status: 200 })
  const other = await admin.session()
  expect(await other.post('/api/auth/logout')).toMatchObject({ status: 200 })
  const changed = { currentPassword: 'correct horse', newPassword: 'a wholly different staple' }
  expect(await browser.post('/api/auth/change-password', changed)).toMatchObject({ status: 200 })
  // Tokens keep working.
  expect(await admin.get('/api/admin/users')).toMatchObject({ status: 200 })
})

it('frees the session with which a passkey or an authenticator app was added, and no other', async () => {
  await using app = await testApp(required('admins'))
  for (const add of [addPasskey, (session: Actor) => addTotp(session, start)]) {
    const admin = await app.admin()
    const [browser, other] = [await admin.session(), await admin.session()]
    expect(await isDue(browser)).toBe(true)
    await add(browser)
    expect(await isDue(browser)).toBe(false)
    expect(await browser.get('/api/admin/users')).toMatchObject({ status: 200 })
    expect(await other.get('/api/admin/users')).toMatchObject(due)
  }
})

it('needs a recent confirmation to set up a factor, which a session without one can give', async () => {
  await using app = await testApp(required('all'))
  const browser = await (await app.member()).session()
  app.clock.now = after(700)
  expect(await browser.post('/api/auth/totp')).toMatchObject({ status: 403 })
  await browser.post('/api/auth/confirm-password', { currentPassword: 'correct horse' })
  await addTotp(browser, after(700))
  expect(await browser.get('/api/auth/keys')).toMatchObject({ status: 200 })
})

it('adds no further factor with the password alone, but after a proof with the first one', async () => {
  await using app = await testApp(required('all'))
  const alice = await app.member()
  const first = await alice.session()
  const [started, withTotp, withPasskey] = [await alice.session(), await alice.session(), await alice.session()]
  const { secret } = (await started.post('/api/auth/totp')).body as { secret: string }
  const { body: options } = await withPasskey.post('/api/auth/passkeys/options')
  const passkey = await addPasskey(first)
  // Both were started before the account had a factor.
  const credential = new Authenticator().create(options)
  expect(await withPasskey.post('/api/auth/passkeys', { name: 'Mine', credential })).toMatchObject(unproved)
  expect(await started.post('/api/auth/totp/confirm', { otp: codeAt(secret, start) })).toMatchObject(unproved)
  for (const path of ['passkeys/options', 'totp']) expect(await withTotp.post(`/api/auth/${path}`)).toMatchObject(unproved)
  const query = 'mutation { startPasskeyRegistration { __typename } }'
  expect((await withTotp.graphql(query)).body.errors[0].extensions).toMatchObject({ code: 'InsufficientPermissions' })
  for (const session of [started, withTotp, withPasskey]) expect(await isDue(session)).toBe(true)
  expect((await first.get('/api/auth/passkeys')).body.passkeys).toHaveLength(1)
  expect(await prove(withTotp, passkey)).toMatchObject({ status: 200 })
  await addTotp(withTotp, start)
})

it('adds no passkey with the password alone to an account with an authenticator app', async () => {
  await using app = await testApp(required('all'))
  const alice = await app.member()
  const [browser, other] = [await alice.session(), await alice.session()]
  const { body: options } = await other.post('/api/auth/passkeys/options')
  await addTotp(browser, start)
  const credential = new Authenticator().create(options)
  expect(await other.post('/api/auth/passkeys', { name: 'Mine', credential })).toMatchObject(unproved)
  for (const path of ['passkeys/options', 'totp']) expect(await other.post(`/api/auth/${path}`)).toMatchObject(unproved)
  expect(await isDue(other)).toBe(true)
  await addPasskey(browser)
})

it('accepts sessions of passkeys and codes, and a proof with a passkey', async () => {
  await using app = await testApp(required('all'))
  const alice = await app.member()
  const [browser, withPassword] = [await alice.session(), await alice.session()]
  const passkey = await addPasskey(browser)
  expect(await isDue(browserOf(app, alice.user, await signInWith(app, passkey)))).toBe(false)
  expect(await withPassword.get('/api/auth/keys')).toMatchObject(due)
  expect(await prove(withPassword, passkey)).toMatchObject({ status: 200 })
  expect(await withPassword.get('/api/auth/keys')).toMatchObject({ status: 200 })
  const { secret, recoveryCodes } = await addTotp(browser, start)
  for (const codes of [{ otp: codeAt(secret, after(30)) }, { recoveryCode: recoveryCodes[0] }]) {
    const answer = await app.anonymous.post(
      '/api/auth/login',
      { email: alice.email, password: 'correct horse', ...codes },
      { ip: app.address() },
    )
    expect(await isDue(browserOf(app, alice.user, answer))).toBe(false)
  }
})

it('keeps the last factor where one is required', async () => {
  await using app = await testApp(required('all'))
  const browser = await (await app.member()).session()
  await addPasskey(browser)
  await addTotp(browser, start)
  const [{ id }] = (await browser.get('/api/auth/passkeys')).body.passkeys as [{ id: string }]
  expect(await browser.delete('/api/auth/totp')).toMatchObject({ status: 200 })
  expect(await browser.delete(`/api/auth/passkeys/${id}`)).toMatchObject({ status: 409, body: { error: { code: 'Conflict' } } })
  await addTotp(browser, start)
  expect(await browser.delete(`/api/auth/passkeys/${id}`)).toMatchObject({ status: 200 })
  expect(await browser.delete('/api/auth/totp')).toMatchObject({ status: 409 })
})

it('requires a new password before the second factor', async () => {
  await using app = await testApp(required('all'))
  const browser = await (await app.member({ mustChangePassword: true })).session()
  const first = { status: 403, body: { error: { message: expect.stringContaining('Choose a new password first') } } }
  for (const path of ['totp', 'passkeys/options', 'passkey/proof-options'])
    expect(await browser.post(`/api/auth/${path}`)).toMatchObject(first)
  expect(await browser.post('/api/auth/confirm-password', { currentPassword: 'correct horse' })).toMatchObject(first)
})

it('accepts a code of the authenticator app or a recovery code in a session without a second factor', async () => {
  await using app = await testApp(required('all'))
  const alice = await app.member()
  const sessions = [await alice.session(), await alice.session(), await alice.session()] as const
  const { secret, recoveryCodes } = await addTotp(sessions[0], start)
  const prove = (session: Actor, codes: object) => session.post('/api/auth/totp/proof', codes)
  const used = { otp: codeAt(secret, start) }
  for (const codes of [{}, used, { otp: '000000' }, { recoveryCode: 'abcd' }])
    expect(await prove(sessions[1], codes)).toMatchObject({ status: 400, body: { error: { code: 'InvalidInput' } } })
  expect(await sessions[1].get('/api/auth/keys')).toMatchObject(due)
  expect(await prove(sessions[1], { otp: codeAt(secret, after(30)) })).toMatchObject({ status: 200 })
  expect(await prove(sessions[2], { otp: codeAt(secret, after(30)) })).toMatchObject({ status: 400 })
  // Of several requests with the same recovery code, one succeeds.
  const same = await Promise.all([0, 1, 2].map(() => prove(sessions[2], { recoveryCode: recoveryCodes[0] })))
  expect(statuses(same)).toEqual([200, 400, 400])
  for (const session of sessions) expect(await session.get('/api/auth/keys')).toMatchObject({ status: 200 })
  expect(await prove(await (await app.member()).session(), used)).toMatchObject({ status: 409 })
})

it('limits wrong codes in a session', async () => {
  await using app = await testApp(required('all'))
  const alice = await app.member()
  const [browser, other] = [await alice.session(), await alice.session()]
  const { secret } = await addTotp(browser, start)
  for (let time = 0; time < 10; time++) expect(await other.post('/api/auth/totp/proof', { otp: '000000' })).toMatchObject({ status: 400 })
  expect(await other.post('/api/auth/totp/proof', { otp: codeAt(secret, after(30)) })).toMatchObject({ status: 429 })
})

it('frees sessions when the setting is turned off, on the next start', async () => {
  await using app = await testApp(required('all'))
  const browser = await (await app.member()).session()
  expect(await browser.get('/api/auth/keys')).toMatchObject(due)
  await app.stop()
  await using other = await testApp({ sameDatabaseAs: app, config: { REQUIRE_SECOND_FACTOR: 'off' } })
  expect(await browser.at(other).get('/api/auth/keys')).toMatchObject({ status: 200 })
})

it('reports administrators without a required second factor', async () => {
  await using app = await testApp(required('admins'))
  const [admin, other] = [await app.admin(), await app.admin()]
  await app.admin({ isActive: false })
  const items = async () => (await admin.graphql('{ attention { kind count } }')).body.data.attention
  // The owner is the third.
  expect(await items()).toContainEqual({ kind: 'SECOND_FACTORS_MISSING', count: 3 })
  await addPasskey(await admin.session())
  await addTotp(await other.session(), start)
  expect(await items()).toContainEqual({ kind: 'SECOND_FACTORS_MISSING', count: 1 })
})
