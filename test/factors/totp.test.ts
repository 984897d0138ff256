import { expect, it } from 'vitest'
import { type Actor, statuses } from '../actor.ts'
import { resealSecrets } from '../../server/operations/checks/sealed.ts'
import { testApp, type TestApp } from '../app.ts'
import { addPasskey } from '../support/authenticator.ts'
import { addTotp, codeAt } from '../support/totp.ts'

const start = new Date('2026-01-01T12:00:00Z')
const after = (seconds: number) => new Date(start.getTime() + seconds * 1000)

/** Signs in with the password and the given codes, from a new address. */
const login = (app: TestApp, { email }: Actor, codes: object = {}, password = 'correct horse') =>
  app.anonymous.post('/api/auth/login', { email, password, ...codes }, { ip: app.address() })

const lacksCode = (ways: string[]) => ({ status: 401, body: { error: { code: 'MissingAuthentication', secondFactor: ways } } })
const wrongCode = { status: 401, body: { error: { code: 'MissingAuthentication', message: 'The code is wrong or was used already.' } } }

it('adds an authenticator app, whose code the sign-in then needs', async () => {
  await using app = await testApp({ now: start })
  const alice = await app.member({ email: 'alice@example.com' })
  const browser = await alice.session()
  const started = await browser.post('/api/auth/totp')
  expect(started).toMatchObject({
    status: 200,
    body: { secret: expect.stringMatching(/^[A-Z2-7]{32}$/), qrCode: expect.stringMatching(/^<svg/) },
  })
  const uri = new URL(started.body.uri)
  expect([uri.protocol, uri.host, decodeURIComponent(uri.pathname)]).toEqual([
    'otpauth:',
    'totp',
    expect.stringContaining('alice@example.com'),
  ])
  expect(Object.fromEntries(uri.searchParams)).toMatchObject({ secret: started.body.secret, algorithm: 'SHA1', digits: '6', period: '30' })
  // Until it is confirmed, nothing changes.
  expect(await login(app, alice)).toMatchObject({ status: 200 })
  expect(await browser.post('/api/auth/totp/confirm', { otp: '000000' })).toMatchObject({
    status: 400,
    body: { error: { code: 'InvalidInput' } },
  })
  const confirmed = await browser.post('/api/auth/totp/confirm', { otp: codeAt(started.body.secret, start) })
  expect(confirmed).toMatchObject({ status: 200, headers: { 'cache-control': expect.stringContaining('no-store') } })
  expect(new Set(confirmed.body.recoveryCodes).size).toBe(10)
  for (const code of confirmed.body.recoveryCodes) expect(code).toMatch(/^[a-z2-7]{4}(?:-[a-z2-7]{4}){3}$/)
  expect((await browser.graphql('{ viewer { hasTotp recoveryCodesLeft hasSecondFactor } }')).body.data.viewer).toEqual({
    hasTotp: true,
    recoveryCodesLeft: 10,
    hasSecondFactor: true,
  })
  expect(await login(app, alice)).toMatchObject(lacksCode(['otp', 'recoveryCode']))
  expect(await login(app, alice, { otp: codeAt(started.body.secret, after(30)) })).toMatchObject({
    status: 200,
    body: { userId: alice.id },
  })
})

it('names the ways in GraphQL, and does not reveal the factor to those without the password', async () => {
  await using app = await testApp({ now: start })
  const [alice, bob] = [await app.member(), await app.member()]
  const browser = await alice.session()
  await addPasskey(browser)
  const { secret, recoveryCodes } = await addTotp(browser, start)
  const query = 'mutation ($input: LoginInput!) { login(input: $input) { user { id } } }'
  const answer = await app.anonymous.graphql(query, { input: { email: alice.email, password: 'correct horse' } })
  expect(answer.body.errors[0].extensions).toMatchObject({
    code: 'MissingAuthentication',
    secondFactor: ['otp', 'recoveryCode', 'passkey'],
  })
  const codes = [{}, { otp: codeAt(secret, after(30)) }, { otp: '1' }, { recoveryCode: recoveryCodes[0] }]
  const answers = await Promise.all(codes.map((sent) => login(app, alice, sent, 'a wrong password')))
  answers.push(await login(app, bob, {}, 'a wrong password'))
  expect(new Set(answers.map(({ raw }) => raw.toString()))).toEqual(
    new Set(['{"error":{"code":"MissingAuthentication","message":"The e-mail address or the password is wrong."}}']),
  )
  // Codes sent with a wrong password are not used up, and accounts without a factor ignore them.
  expect(await login(app, alice, { recoveryCode: recoveryCodes[0] })).toMatchObject({ status: 200 })
  expect(await login(app, alice, { otp: codeAt(secret, after(30)) })).toMatchObject({ status: 200 })
  expect(await login(app, bob, { otp: '123456', recoveryCode: 'x' })).toMatchObject({ status: 200 })
})

it('accepts codes of the previous and the next time step, each once and none before the last one', async () => {
  await using app = await testApp({ now: start })
  const alice = await app.member()
  const { secret } = await addTotp(await alice.session(), start)
  const at = (seconds: number) => login(app, alice, { otp: codeAt(secret, after(seconds)) })
  // The code that confirmed the app.
  expect(await at(0)).toMatchObject(wrongCode)
  expect(await at(30)).toMatchObject({ status: 200 })
  expect(await at(30)).toMatchObject(wrongCode)
  app.clock.now = after(300)
  expect(await at(240)).toMatchObject(wrongCode)
  expect(await at(360)).toMatchObject(wrongCode)
  expect(await at(270)).toMatchObject({ status: 200 })
  expect(await at(330)).toMatchObject({ status: 200 })
  expect(await at(300)).toMatchObject(wrongCode)
  app.clock.now = after(390)
  const spaced = codeAt(secret, after(390)).replace(/^.../, '$& ')
  expect(await login(app, alice, { otp: spaced })).toMatchObject({ status: 200 })
})

it.each(['', '12345', '1234567', 'abcdef', '１２３４５６', '-12345'])('refuses the malformed code "%s"', async (otp) => {
  await using app = await testApp({ now: start })
  const alice = await app.member()
  await addTotp(await alice.session(), start)
  expect(await login(app, alice, { otp })).toMatchObject({ status: 401, body: { error: { secondFactor: ['otp', 'recoveryCode'] } } })
})

it('accepts a code once when several requests send it at the same moment', async () => {
  await using app = await testApp({ now: start })
  const alice = await app.member()
  const { secret, recoveryCodes } = await addTotp(await alice.session(), start)
  for (const codes of [{ otp: codeAt(secret, after(30)) }, { recoveryCode: recoveryCodes[3] }]) {
    const answers = await Promise.all(Array.from({ length: 5 }, () => login(app, alice, codes)))
    expect(statuses(answers)).toEqual([200, 401, 401, 401, 401])
  }
})

it('accepts each recovery code once, in any spelling', async () => {
  await using app = await testApp({ now: start })
  const alice = await app.member()
  const browser = await alice.session()
  const { recoveryCodes } = await addTotp(browser, start)
  const [first = '', second = '', third = ''] = recoveryCodes
  const use = (recoveryCode: string) => login(app, alice, { recoveryCode })
  expect(await use(first)).toMatchObject({ status: 200 })
  expect(await use(first)).toMatchObject(wrongCode)
  expect(await use(` ${second.toUpperCase().replaceAll('-', ' ')} `)).toMatchObject({ status: 200 })
  expect(await use(third.slice(0, 12))).toMatchObject(wrongCode)
  expect((await browser.graphql('{ viewer { recoveryCodesLeft } }')).body.data.viewer).toEqual({ recoveryCodesLeft: 8 })
  const renewed = await browser.post('/api/auth/recovery-codes')
  expect(renewed.body.recoveryCodes).toHaveLength(10)
  expect(await use(third)).toMatchObject(wrongCode)
  expect(await use(renewed.body.recoveryCodes[9])).toMatchObject({ status: 200 })
})

it('does not accept the codes of another account', async () => {
  await using app = await testApp({ now: start })
  const [alice, bob] = [await app.member(), await app.member()]
  const ofAlice = await addTotp(await alice.session(), start)
  await addTotp(await bob.session(), start)
  expect(await login(app, bob, { otp: codeAt(ofAlice.secret, after(30)) })).toMatchObject(wrongCode)
  expect(await login(app, bob, { recoveryCode: ofAlice.recoveryCodes[0] })).toMatchObject(wrongCode)
})

it('limits wrong codes, without locking out known devices', async () => {
  await using app = await testApp({ now: start, env: { SIGN_IN_LIMIT: '1000' } })
  const alice = await app.member()
  const browser = await alice.session()
  const { secret } = await addTotp(browser, start)
  for (let time = 0; time < 10; time++) expect(await login(app, alice, { otp: '000000' })).toMatchObject(wrongCode)
  expect(await login(app, alice, { otp: codeAt(secret, after(30)) })).toMatchObject({ status: 429 })
  const known = { email: alice.email, password: 'correct horse', otp: codeAt(secret, after(30)) }
  expect(await browser.post('/api/auth/login', known)).toMatchObject({ status: 200 })
  const log = await (await app.admin()).get('/api/admin/audit-log')
  expect(JSON.stringify(log.body)).toContain('with the right password and a wrong code')
})

it('limits wrong codes of the setup', async () => {
  await using app = await testApp({ now: start })
  const browser = await (await app.member()).session()
  const { secret } = (await browser.post('/api/auth/totp')).body
  const confirm = (otp: string) => browser.post('/api/auth/totp/confirm', { otp })
  for (let time = 0; time < 10; time++) expect(await confirm('000000')).toMatchObject({ status: 400 })
  expect(await confirm(codeAt(secret, start))).toMatchObject({ status: 429 })
})

it('needs a recent confirmation to add, remove and renew', async () => {
  await using app = await testApp({ now: start })
  const browser = await (await app.member()).session()
  const proof = { status: 403, body: { error: { code: 'InsufficientPermissions' } } }
  app.clock.now = after(601)
  expect(await browser.post('/api/auth/totp')).toMatchObject(proof)
  expect(await browser.post('/api/auth/passkeys/options')).toMatchObject(proof)
  await browser.post('/api/auth/confirm-password', { currentPassword: 'correct horse' })
  expect(await browser.post('/api/auth/totp/confirm', { otp: '123456' })).toMatchObject({ status: 409 })
  expect(await browser.post('/api/auth/recovery-codes')).toMatchObject({ status: 409 })
  expect(await browser.delete('/api/auth/totp')).toMatchObject({ status: 409 })
  await addTotp(browser, after(601))
  expect(await browser.post('/api/auth/totp')).toMatchObject({ status: 409 })
  app.clock.now = after(1300)
  for (const answer of [await browser.post('/api/auth/recovery-codes'), await browser.delete('/api/auth/totp')])
    expect(answer).toMatchObject(proof)
})

it('signs in with the password alone again after the app was removed', async () => {
  await using app = await testApp({ now: start })
  const alice = await app.member()
  const browser = await alice.session()
  const { recoveryCodes } = await addTotp(browser, start)
  expect(await browser.delete('/api/auth/totp')).toMatchObject({ status: 200 })
  expect(await login(app, alice)).toMatchObject({ status: 200 })
  await addTotp(browser, start)
  expect(await login(app, alice, { recoveryCode: recoveryCodes[0] })).toMatchObject(wrongCode)
})

it('reads secrets sealed under the previous key until all are sealed again', async () => {
  await using app = await testApp({ now: start })
  const [alice, bob] = [await app.member(), await app.member()]
  const ofAlice = await addTotp(await alice.session(), start)
  const ofBob = await addTotp(await bob.session(), start)
  const JWT_SECRET = 'another secret for tests, long enough'
  await app.stop()
  await using rotated = await testApp({ sameDatabaseAs: app, config: { JWT_SECRET, JWT_SECRET_PREVIOUS: app.config.JWT_SECRET } })
  expect(await login(rotated, alice, { otp: codeAt(ofAlice.secret, after(30)) })).toMatchObject({ status: 200 })
  await resealSecrets(rotated.services)
  await rotated.stop()
  app.clock.now = after(60)
  await using later = await testApp({ sameDatabaseAs: app, config: { JWT_SECRET, JWT_SECRET_PREVIOUS: undefined } })
  expect(await login(later, alice, { otp: codeAt(ofAlice.secret, after(60)) })).toMatchObject({ status: 200 })
  // Bob did not sign in during the rotation.
  expect(await login(later, bob, { otp: codeAt(ofBob.secret, after(60)) })).toMatchObject({ status: 200 })
})

it('adds one authenticator app when two pages confirm at the same moment', async () => {
  await using app = await testApp({ now: start })
  const browser = await (await app.member()).session()
  const { secret } = (await browser.post('/api/auth/totp')).body
  const confirm = () => browser.post('/api/auth/totp/confirm', { otp: codeAt(secret, start) })
  expect(statuses(await Promise.all([confirm(), confirm(), confirm()]))).toEqual([200, 409, 409])
  expect((await browser.graphql('{ viewer { recoveryCodesLeft } }')).body.data.viewer).toEqual({ recoveryCodesLeft: 10 })
})
