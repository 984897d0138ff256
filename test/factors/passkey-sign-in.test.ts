import { generateKeyPairSync } from 'node:crypto'
import { expect, it } from 'vitest'
import { testApp } from '../app.ts'
import { addPasskey, Authenticator, browserOf, type Deviation, signInOptions, signInWith } from '../support/authenticator.ts'
import { cookieNames } from '../support/cookies.ts'

const names = cookieNames()
const refusal = {
  status: 401,
  body: { error: { code: 'MissingAuthentication', message: 'The passkey was not accepted. Try again, or sign in another way.' } },
}

it('signs in with a passkey, without a password', async () => {
  await using app = await testApp()
  const alice = await app.member({ displayName: 'Alice' })
  const passkey = await addPasskey(await alice.session())
  const { answer, options } = await signInOptions(app)
  expect(answer).toMatchObject({ status: 200, cookies: [{ httpOnly: true, sameSite: 'Strict', maxAge: 300 }] })
  expect(answer.headers).toMatchObject({ 'cache-control': expect.stringContaining('no-store') })
  expect(options).toEqual({ challenge: expect.any(String), rpId: 'localhost', timeout: 300_000, userVerification: 'required' })
  const signedIn = await signInWith(app, passkey)
  expect(signedIn).toMatchObject({ status: 200, body: { userId: alice.id, displayName: 'Alice' } })
  expect(signedIn.cookies.map(({ name }) => name)).toEqual(expect.arrayContaining([names.session, names.csrf, names.device]))
  const browser = browserOf(app, alice.user, signedIn)
  expect(await browser.get('/api/auth/me')).toMatchObject({ status: 200, body: { userId: alice.id } })
  const rows = await app.services.database.reads.all("select way, has_second_factor from sessions where way = 'passkey'")
  expect(rows).toEqual([{ way: 'passkey', has_second_factor: expect.anything() }])
  expect(await browser.get('/api/auth/passkeys')).toMatchObject({
    body: { passkeys: [{ name: 'Laptop', status: 'active', lastUsedAt: expect.any(String), isBackedUp: false }] },
  })
  const log = await (await app.admin()).get('/api/admin/audit-log')
  expect(JSON.stringify(log.body)).toContain('Alice signed in with the passkey \\"Laptop\\"')
})

it('signs in through GraphQL', async () => {
  await using app = await testApp()
  const alice = await app.member()
  const passkey = await addPasskey(await alice.session())
  const { options, headers } = await signInOptions(app)
  const variables = { input: { credential: passkey.get(options) } }
  const query = 'mutation ($input: SignInWithPasskeyInput!) { signInWithPasskey(input: $input) { user { uuid } } }'
  const answer = await app.anonymous.graphql(query, variables, { headers })
  expect(answer.body).toMatchObject({ data: { signInWithPasskey: { user: { uuid: alice.id } } } })
})

const otherKey = generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey
const deviations: Record<string, Deviation> = {
  'another origin': { origin: 'http://localhost:8081' },
  'another origin over https': { origin: 'https://localhost:8080' },
  'a similar origin': { origin: 'http://localhost:8080.evil.example' },
  'a frame in a page of another site': { crossOrigin: true },
  'another domain': { rpId: 'evil.example' },
  'a missing user verification': { userVerified: false },
  'a challenge that was never issued': { challenge: 'A'.repeat(43) },
  'a malformed challenge': { challenge: 'short' },
  'another key': { key: otherKey },
  'another user': { userHandle: Buffer.from('019ac000-0000-7000-8000-000000000000').toString('base64url') },
  'a response to the creation of a passkey': { type: 'webauthn.create' },
}

it.each(Object.entries(deviations))('refuses %s, with the same answer', async (_name, deviation) => {
  await using app = await testApp()
  const passkey = await addPasskey(await (await app.member()).session())
  const answer = await signInWith(app, passkey, deviation)
  expect(answer).toMatchObject(refusal)
  expect(answer.cookies.filter(({ name }) => name === names.session)).toEqual([])
  // A failed attempt does not disable the passkey.
  expect(await signInWith(app, passkey)).toMatchObject({ status: 200 })
})

it('answers alike for an unknown, removed and disabled passkey, and for malformed responses', async () => {
  await using app = await testApp()
  const alice = await (await app.member()).session()
  const removed = await addPasskey(alice, 'Removed')
  const [{ id }] = (await alice.get('/api/auth/passkeys')).body.passkeys as { id: string }[] as [{ id: string }]
  expect(await alice.delete(`/api/auth/passkeys/${id}`)).toMatchObject({ status: 200 })
  const gone = await app.member()
  const ofGone = await addPasskey(await gone.session())
  await (await app.admin()).put(`/api/admin/users/${gone.id}`, { isActive: false })
  const unknown = new Authenticator()
  unknown.create({ challenge: '', rp: { id: 'localhost' }, user: { id: Buffer.from(gone.id).toString('base64url') } })
  const answers = [await signInWith(app, removed), await signInWith(app, ofGone), await signInWith(app, unknown)]
  const { headers, ip } = await signInOptions(app)
  for (const credential of [{}, { id: 1 }, { ...unknown.get({ challenge: 'x', rpId: 'localhost' }), response: null }, { response: {} }])
    answers.push(await app.anonymous.post('/api/auth/passkey/login', { credential }, { headers, ip }))
  for (const answer of answers) expect(answer).toMatchObject(refusal)
  expect(new Set(answers.map(({ raw }) => raw.toString())).size).toBe(1)
})

it('refuses service accounts', async () => {
  await using app = await testApp()
  const robot = await app.member()
  const passkey = await addPasskey(await robot.session())
  await app.services.database.fork().getConnection().execute(`update users set kind = 'service' where id = '${robot.id}'`)
  expect(await signInWith(app, passkey)).toMatchObject(refusal)
})

it('accepts a challenge once, for five minutes, and only from the browser that received it', async () => {
  await using app = await testApp({ now: new Date('2026-01-01T12:00:00Z') })
  const passkey = await addPasskey(await (await app.member()).session())
  const { options, headers, ip } = await signInOptions(app)
  const other = await signInOptions(app)
  const post = (credential: object, sent: object) => app.anonymous.post('/api/auth/passkey/login', { credential }, { ip, ...sent })
  expect(await post(passkey.get(options), {})).toMatchObject(refusal)
  expect(await post(passkey.get(options), { headers: other.headers })).toMatchObject(refusal)
  const credential = passkey.get(options)
  expect(await post(credential, { headers })).toMatchObject({ status: 200 })
  expect(await post(credential, { headers })).toMatchObject(refusal)
  expect(await post(passkey.get(options), { headers })).toMatchObject(refusal)
  app.clock.now = new Date('2026-01-01T12:04:59Z')
  expect(await post(passkey.get(other.options), { headers: other.headers })).toMatchObject({ status: 200 })
  const late = await signInOptions(app)
  app.clock.now = new Date('2026-01-01T12:10:00Z')
  expect(await post(passkey.get(late.options), { headers: late.headers })).toMatchObject(refusal)
})

it('accepts no challenge of a registration or a proof', async () => {
  await using app = await testApp()
  const browser = await (await app.member()).session()
  const passkey = await addPasskey(browser)
  for (const path of ['passkeys/options', 'passkey/proof-options']) {
    const { challenge } = (await browser.post(`/api/auth/${path}`)).body as { challenge: string }
    expect(await signInWith(app, passkey, { challenge })).toMatchObject(refusal)
  }
})

it('allows two pages of a browser to start a sign-in', async () => {
  await using app = await testApp()
  const passkey = await addPasskey(await (await app.member()).session())
  const first = await signInOptions(app)
  const second = await app.anonymous.post('/api/auth/passkey/options', undefined, { headers: first.headers, ip: first.ip })
  const post = (options: { challenge: string; rpId: string }) =>
    app.anonymous.post('/api/auth/passkey/login', { credential: passkey.get(options) }, { headers: first.headers, ip: first.ip })
  expect(await post(second.body)).toMatchObject({ status: 200 })
  expect(await post(first.options)).toMatchObject({ status: 200 })
})

it('disables a passkey whose counter goes back', async () => {
  await using app = await testApp()
  const alice = await app.member({ displayName: 'Alice' })
  const browser = await alice.session()
  const passkey = await addPasskey(browser)
  expect(await signInWith(app, passkey, { counter: 7 })).toMatchObject({ status: 200 })
  // Only a valid signature disables it.
  expect(await signInWith(app, passkey, { counter: 3, key: otherKey })).toMatchObject(refusal)
  expect(await signInWith(app, passkey, { counter: 8 })).toMatchObject({ status: 200 })
  expect(await signInWith(app, passkey, { counter: 8 })).toMatchObject(refusal)
  expect(await signInWith(app, passkey, { counter: 9 })).toMatchObject(refusal)
  expect(await browser.get('/api/auth/passkeys')).toMatchObject({ body: { passkeys: [{ status: 'copied' }] } })
  const log = await (await app.admin()).get('/api/admin/audit-log')
  expect(JSON.stringify(log.body)).toContain('The passkey \\"Laptop\\" of Alice was disabled')
})

it('accepts authenticators that do not count', async () => {
  await using app = await testApp()
  const authenticator = new Authenticator()
  authenticator.counter = 0
  const passkey = await addPasskey(await (await app.member()).session(), 'Phone', authenticator)
  for (let time = 0; time < 3; time++) expect(await signInWith(app, passkey, { counter: 0 })).toMatchObject({ status: 200 })
  expect(await signInWith(app, passkey, { counter: 5 })).toMatchObject({ status: 200 })
  expect(await signInWith(app, passkey, { counter: 0 })).toMatchObject(refusal)
})

it('offers no passkeys without https, and refuses pages of other sites', async () => {
  await using app = await testApp({ env: { SERVER_URL: 'http://registry.example.com' } })
  expect(await app.anonymous.post('/api/auth/passkey/options')).toMatchObject({ status: 409 })
  expect((await app.anonymous.graphql('{ server { passkeyDomain } }')).body.data.server).toEqual({ passkeyDomain: null })
  for (const path of ['options', 'login'])
    expect(
      await app.anonymous.post(`/api/auth/passkey/${path}`, { credential: {} }, { headers: { origin: 'https://evil.example' } }),
    ).toMatchObject({ status: 403, body: { error: { code: 'CsrfMismatch' } } })
})

it('uses SERVER_URL, not the Host header', async () => {
  await using app = await testApp({ env: { SERVER_URL: 'https://pub.example.com/registry' } })
  const answer = await app.anonymous.post('/registry/api/auth/passkey/options', undefined, { headers: { host: 'evil.example' } })
  expect(answer).toMatchObject({ status: 200, body: { rpId: 'pub.example.com' } })
})

it('limits sign-ins with passkeys by client address', async () => {
  await using app = await testApp({ env: { SIGN_IN_LIMIT: '2' } })
  const post = () => app.anonymous.post('/api/auth/passkey/login', { credential: {} }, { ip: '198.51.100.9' })
  expect([await post(), await post(), await post()].map(({ status }) => status)).toEqual([401, 401, 429])
})

it('is needed in place of the password by an account without an authenticator app, until it is removed or no longer accepted', async () => {
  await using app = await testApp()
  const alice = await app.member()
  const browser = await alice.session()
  const login = (codes: object = {}) =>
    app.anonymous.post('/api/auth/login', { email: alice.email, password: 'correct horse', ...codes }, { ip: app.address() })
  const passkey = await addPasskey(browser)
  for (const codes of [{}, { otp: '123456' }, { recoveryCode: 'abcd' }]) {
    const answer = await login(codes)
    expect(answer).toMatchObject({ status: 401, body: { error: { code: 'MissingAuthentication', secondFactor: ['passkey'] } } })
    expect(answer.cookies).toEqual([])
  }
  const wrong = await app.anonymous.post('/api/auth/login', { email: alice.email, password: 'wrong' }, { ip: app.address() })
  expect(wrong.body.error).not.toHaveProperty('secondFactor')
  expect(await signInWith(app, passkey)).toMatchObject({ status: 200 })
  // Browsers do not offer it at another address.
  const moveTo = (domain: string) => app.services.database.orm.em.getConnection().execute('update passkeys set rp_id = ?', [domain])
  await moveTo('pub.example.com')
  expect(await login()).toMatchObject({ status: 200 })
  await moveTo('localhost')
  expect(await login()).toMatchObject({ status: 401 })
  const [{ id }] = (await browser.get('/api/auth/passkeys')).body.passkeys as [{ id: string }]
  expect(await browser.delete(`/api/auth/passkeys/${id}`)).toMatchObject({ status: 200 })
  expect(await login()).toMatchObject({ status: 200 })
})
