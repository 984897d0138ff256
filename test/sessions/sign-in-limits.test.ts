import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { expect, it } from 'vitest'
import type { Answer } from '../actor.ts'
import { type TestApp, testApp } from '../app.ts'
import { addPasskey, signInOptions } from '../support/authenticator.ts'
import { cookieNames } from '../support/cookies.ts'
import { addTotp, codeAt } from '../support/totp.ts'

const names = cookieNames()

type From = { ip?: string; device?: string | undefined }

const attempt = (app: TestApp, email: string, password: string, { ip = app.address(), device }: From = {}) =>
  app.anonymous.post('/api/auth/login', { email, password }, { ip, headers: device ? { cookie: `${names.device}=${device}` } : {} })
const failSignIn = (app: TestApp, email: string, from?: From) => attempt(app, email, 'wrong', from)
const signIn = (app: TestApp, email: string, from?: From) => attempt(app, email, 'correct horse', from)
const deviceOf = ({ cookies }: Answer) => cookies.find(({ name }) => name === names.device)?.value
const count = (answers: Answer[], status: number) => answers.filter((answer) => answer.status === status).length

/** Exhausts the sign-in failures allowed to unknown devices and expects 429 afterwards. */
async function exhaustFailures(app: TestApp, email: string, from?: () => From): Promise<void> {
  for (let round = 0; round < 50; round++) expect(await failSignIn(app, email, from?.())).toMatchObject({ status: 401 })
  expect(await signIn(app, email, from?.())).toMatchObject({ status: 429, headers: { 'retry-after': expect.stringMatching(/^[1-9]\d*$/) } })
}

/** Returns the amount of hashing during `task`. Each step of the bcrypt cost doubles it. */
async function measureHashing(task: () => Promise<unknown>): Promise<number> {
  let sum = 0
  const hear = (message: unknown) => void (sum += 2 ** (message as { cost: number }).cost)
  subscribe('snug:password-hash', hear)
  await task()
  unsubscribe('snug:password-hash', hear)
  return sum
}

it('checks at most ten of a hundred concurrent sign-ins from one address', async () => {
  await using app = await testApp()
  const { email } = await app.member()
  const ip = app.address()
  const wrong = Array.from({ length: 100 }, () => failSignIn(app, email, { ip }))
  const answers = await Promise.all([...wrong, signIn(app, email, { ip })])
  expect([count(answers, 401), count(answers, 429)]).toEqual([10, 91])
  for (const { status, headers } of answers) if (status === 429) expect(Number(headers['retry-after'])).toBeGreaterThan(0)
})

it('checks at most five concurrent current passwords and counts no correct one', async () => {
  await using app = await testApp()
  const [alice, bob] = [await app.member(), await app.member()]
  const change = (actor: typeof alice, currentPassword: string) =>
    actor.post('/api/auth/change-password', { currentPassword, newPassword: 'short' }, { ip: app.address() })
  const answers = await Promise.all(Array.from({ length: 30 }, () => change(alice, 'wrong')))
  expect([count(answers, 400), count(answers, 429)]).toEqual([5, 25])
  expect(await change(alice, 'correct horse')).toMatchObject({ status: 429 })
  const right = await Promise.all(Array.from({ length: 30 }, () => change(bob, 'correct horse')))
  expect(count(right, 400) + count(right, 429)).toBe(30)
  for (let round = 0; round < 6; round++)
    expect(await change(bob, 'correct horse')).toMatchObject({ body: { error: { message: expect.stringMatching(/^newPassword: /) } } })
})

it('limits lookups and acceptances of invitations separately, by SIGN_IN_LIMIT', async () => {
  await using app = await testApp({ env: { SIGN_IN_LIMIT: '12', SIGNUP_ENABLED: 'true' } })
  const ip = app.address()
  const account = { email: 'x@example.com', displayName: 'X', password: 'short' }
  const requests = [
    () => app.anonymous.get('/api/invites/x', { ip }),
    () => app.anonymous.post('/api/invites/x/accept', { password: 'a fine password' }, { ip }),
    () => app.anonymous.post('/api/auth/signup', account, { ip }),
    () => failSignIn(app, 'unknown@example.com', { ip }),
  ]
  for (const request of requests) {
    for (let round = 0; round < 12; round++) expect((await request()).status).not.toBe(429)
    expect(await request()).toMatchObject({ status: 429 })
  }
})

it('accepts sign-ins from known devices and address ranges during an attack', async () => {
  await using app = await testApp()
  const { email } = await app.member()
  const other = await app.member()
  const device = deviceOf(await signIn(app, email, { ip: '198.51.100.7' }))
  await signIn(app, email, { ip: '2001:db8:1:2::7' })
  const foreign = deviceOf(await signIn(app, other.email))
  await exhaustFailures(app, email)
  expect(await signIn(app, email, { device })).toMatchObject({ status: 200 })
  expect(await signIn(app, email, { ip: '198.51.100.200' })).toMatchObject({ status: 200 })
  expect(await signIn(app, email, { ip: '2001:db8:1:ffff::1' })).toMatchObject({ status: 200 })
  for (const from of [
    { ip: '198.51.101.7' },
    { ip: '2001:db8:2::7' },
    { device: foreign },
    { device: `${'A'.repeat(43)}.${'0'.repeat(64)}` },
  ])
    expect(await signIn(app, email, from)).toMatchObject({ status: 429 })
  await exhaustFailures(app, email, () => ({ ip: `198.51.100.${1 + Math.floor(Math.random() * 250)}` })).catch(() => {})
  expect(await signIn(app, email, { device })).toMatchObject({ status: 200 })
})

it('allows known devices 50 failures of their own and forgets them after a year', async () => {
  await using app = await testApp({ now: new Date('2026-01-01T00:00:00Z') })
  const { email } = await app.member()
  const devices = [deviceOf(await signIn(app, email)), deviceOf(await signIn(app, email))]
  await exhaustFailures(app, email, () => ({ device: devices[0] }))
  expect(await signIn(app, email, { device: devices[1] })).toMatchObject({ status: 200 })
  expect(await signIn(app, email)).toMatchObject({ status: 200 })
  app.clock.now = new Date('2027-01-01T00:00:00Z')
  await exhaustFailures(app, email)
  expect(await signIn(app, email, { device: devices[1] })).toMatchObject({ status: 429 })
})

it('keeps ten devices and twenty address ranges per account, with hashes unique to the account, until its deletion', async () => {
  await using app = await testApp()
  const [alice, bob, admin] = [await app.member(), await app.member(), await app.admin()]
  const rows = (id: string) =>
    app.services.database.reads.all<{ kind: string; hash: string }>('select kind, hash from sign_in_origins where user_id = ?', id)
  const ip = '192.0.2.1'
  const device = deviceOf(await signIn(app, alice.email, { ip }))
  expect(deviceOf(await signIn(app, bob.email, { ip, device }))).toBe(device)
  const shared = new Set((await rows(alice.id)).map(({ hash }) => hash))
  expect((await rows(bob.id)).filter(({ hash }) => shared.has(hash))).toEqual([])
  for (let round = 0; round < 25; round++) await signIn(app, alice.email)
  const kinds = (await rows(alice.id)).map(({ kind }) => kind)
  expect([kinds.filter((kind) => kind === 'device').length, kinds.filter((kind) => kind === 'range').length]).toEqual([10, 20])
  expect(await admin.delete(`/api/admin/users/${alice.id}`)).toMatchObject({ status: 200 })
  expect(await rows(alice.id)).toEqual([])
})

it.each(['4', '6'])('spends the same hashing on every failed sign-in with BCRYPT_COST %s, whatever the stored cost', async (cost) => {
  await using app = await testApp({ env: { BCRYPT_COST: cost, SIGNUP_ENABLED: 'true' } })
  const [old, disabled, admin] = [await app.member(), await app.member({ isActive: false }), await app.admin()]
  const made = await admin.post('/api/admin/users', { email: 'new@example.com', displayName: 'N', mode: 'password' })
  const invited = await admin.post('/api/admin/users', { email: 'inv@example.com', displayName: 'I', mode: 'invite' })
  const expensive = '$2b$07$C6UzMDM.H6dfI/f/IKcEeO7ZW9f0T4Yh0a4vZ0yJX8cEJv5G7m6tS'
  const rich = await app.member()
  await app.services.database.orm.em.getConnection().execute('update users set password_hash = ? where id = ?', [expensive, rich.id])
  const emails = [old.email, disabled.email, made.body.email, invited.body.email, rich.email, 'unknown@example.com']
  const amounts = []
  for (const email of emails) amounts.push(await measureHashing(() => failSignIn(app, email)))
  expect(amounts).toEqual(emails.map(() => 2 ** 7))
  const signUp = (email: string) =>
    app.anonymous.post('/api/auth/signup', { email, displayName: 'X', password: 'a fine password' }, { ip: app.address() })
  const entries = () =>
    app.services.database.reads.all("select id from audit_entries where kind in ('user.created', 'user.signup_refused')")
  const before = (await entries()).length
  expect([await measureHashing(() => signUp('free@example.com')), await measureHashing(() => signUp(old.email))]).toEqual([
    2 ** Number(cost),
    2 ** Number(cost),
  ])
  expect((await entries()).length).toBe(before + 2)
})

it('does not count sign-ins with a passkey or a code towards the limit of their address, but wrong ones', async () => {
  const start = new Date('2026-01-01T12:00:00Z')
  await using app = await testApp({ now: start })
  const ip = '198.51.100.9'
  const login = (body: object) => app.anonymous.post('/api/auth/login', body, { ip })
  const passkeySignIn = async (answer: (options: { challenge: string; rpId: string }) => object) => {
    const { options, headers } = await signInOptions(app, ip)
    return app.anonymous.post('/api/auth/passkey/login', { credential: answer(options) }, { ip, headers })
  }
  const people = await Promise.all(Array.from({ length: 30 }, () => app.member()))
  for (const [index, person] of people.entries()) {
    const session = await person.session()
    const password = { email: person.email, password: 'correct horse' }
    if (index % 2 === 0) {
      const passkey = await addPasskey(session)
      expect(await login(password)).toMatchObject({ status: 401 })
      expect(await passkeySignIn((options) => passkey.get(options))).toMatchObject({ status: 200 })
    } else {
      const { secret } = await addTotp(session, start)
      expect(await login(password)).toMatchObject({ status: 401 })
      expect(await login({ ...password, otp: codeAt(secret, new Date(start.getTime() + 30_000)) })).toMatchObject({ status: 200 })
    }
  }
  const wrong: Answer[] = []
  for (const person of people) {
    if (wrong.length % 2 === 0) wrong.push(await passkeySignIn(() => ({})))
    else wrong.push(await login({ email: person.email, password: 'correct horse', otp: '000000' }))
  }
  expect([count(wrong, 401), count(wrong, 429)]).toEqual([10, 20])
})
