import { expect, it } from 'vitest'
import { testApp } from '../app.ts'
import { cookieNames } from '../support/cookies.ts'

const names = cookieNames()

const login = (email: string, password = 'correct horse') => ({ email, password })

const days = (count: number) => new Date(Date.UTC(2026, 0, 1) + count * 86_400_000)

it('signs in with e-mail and password, and out again', async () => {
  await using app = await testApp()
  const alice = await app.member({ displayName: 'Alice' })
  const answer = await app.anonymous.post('/api/auth/login', login(alice.email.toUpperCase()))
  expect(answer).toMatchObject({
    status: 200,
    body: { userId: alice.id, displayName: 'Alice', role: 'member', lastLoginAt: expect.any(String) },
  })
  expect(answer.cookies).toMatchObject([
    { name: names.session, httpOnly: true, sameSite: 'Lax', path: '/', maxAge: 2_592_000 },
    { name: names.csrf, sameSite: 'Lax', path: '/' },
    { name: names.device, httpOnly: true, sameSite: 'Lax', path: '/', maxAge: 31_536_000 },
  ])
  const browser = await alice.session()
  expect(await browser.get('/api/auth/me')).toMatchObject({ status: 200, body: { userId: alice.id } })
  expect(await browser.post('/api/auth/logout')).toMatchObject({
    status: 200,
    body: { status: 'ok' },
    cookies: [{ value: '' }, { value: '' }],
  })
  expect(await browser.get('/api/auth/me')).toMatchObject({ status: 401 })
})

it('ends only the session that signs out', async () => {
  await using app = await testApp()
  const alice = await app.member()
  const [one, other] = [await alice.session(), await alice.session()]
  await one.post('/api/auth/logout')
  expect(await other.get('/api/auth/me')).toMatchObject({ status: 200 })
  expect(await alice.get('/api/auth/me')).toMatchObject({ status: 200 })
})

it('answers alike for an unknown e-mail, a wrong password, a disabled and an invited account', async () => {
  await using app = await testApp()
  const alice = await app.member()
  const gone = await app.member({ isActive: false })
  const invited = { email: 'ivy@example.com', displayName: 'Ivy', mode: 'invite' }
  expect(await (await app.admin()).post('/api/admin/users', invited)).toMatchObject({ status: 201 })
  const answers = await Promise.all(
    [login('unknown@example.com'), login(alice.email, 'wrong'), login(gone.email), login(invited.email)].map((body) =>
      app.anonymous.post('/api/auth/login', body),
    ),
  )
  for (const answer of answers)
    expect(answer).toMatchObject({ status: 401, body: { error: { code: 'MissingAuthentication' } }, cookies: [] })
  expect(new Set(answers.map(({ raw }) => raw.toString())).size).toBe(1)
})

it('answers an overlong e-mail address like any wrong one', async () => {
  await using app = await testApp()
  const answer = await app.anonymous.post('/api/auth/login', { email: `${'x'.repeat(1000)}@example.com`, password: 'correct horse' })
  expect(answer).toMatchObject({ status: 401, body: { error: { code: 'MissingAuthentication' } } })
})

it('sends one well-formed challenge with every 401 and 403', async () => {
  await using app = await testApp()
  const alice = await app.viewer()
  const anonymous = await app.anonymous.get('/api/auth/me')
  expect(anonymous.headers['www-authenticate']).toMatch(/^Bearer realm="pub", message="[\x20-\x7e]*\/settings\/tokens[\x20-\x7e]*"$/)
  const browser = await alice.session()
  const forged = await browser.post('/api/auth/keys', { name: 'x' }, { headers: { 'x-csrf-token': 'no' } })
  expect(forged).toMatchObject({
    status: 403,
    body: { error: { code: 'CsrfMismatch' } },
    headers: { 'www-authenticate': expect.stringMatching(/^Bearer realm="pub", message="/) },
  })
})

it('requires the CSRF token of the same session for every change, in REST and GraphQL', async () => {
  await using app = await testApp()
  const alice = await app.member()
  const [one, other] = [await alice.session(), await alice.session()]
  for (const token of ['', 'x', other.csrf]) {
    expect(await one.post('/api/auth/keys', { name: 'x' }, { headers: { 'x-csrf-token': token } })).toMatchObject({
      status: 403,
      body: { error: { code: 'CsrfMismatch' } },
    })
    const { body } = await one.graphql('mutation { logout }', {}, { headers: { 'x-csrf-token': token } })
    expect(body.errors[0].extensions.code).toBe('CsrfMismatch')
  }
  expect(await one.graphql('{ me { email } }', {}, { headers: { 'x-csrf-token': '' } })).toMatchObject({
    status: 200,
    body: { data: { me: { email: alice.email } } },
  })
  expect(await one.get('/api/auth/me')).toMatchObject({ status: 200 })
})

it('refuses a login from another site', async () => {
  await using app = await testApp()
  const alice = await app.member()
  const foreign: Record<string, string>[] = [{ origin: 'https://evil.example' }, { 'sec-fetch-site': 'cross-site' }, { origin: 'null' }]
  for (const headers of foreign) {
    expect(await app.anonymous.post('/api/auth/login', login(alice.email), { headers })).toMatchObject({
      status: 403,
      body: { error: { code: 'CsrfMismatch' } },
    })
  }
  const own = { origin: 'http://localhost:8080', 'sec-fetch-site': 'same-origin' }
  expect(await app.anonymous.post('/api/auth/login', login(alice.email), { headers: own })).toMatchObject({ status: 200 })
})

// Login, signup, setup and invitations check the origin instead, so that a stale cookie does not block users.
it('signs in, signs up and accepts invitations with an existing session but without its CSRF token', async () => {
  await using app = await testApp({ env: { SIGNUP_ENABLED: 'true' } })
  const alice = await app.member()
  const browser = await alice.session()
  const bare = (path: string, body: object, headers?: object) =>
    browser.post(path, body, { headers: { 'x-csrf-token': '', ...headers }, ip: app.address() })
  const again = await bare('/api/auth/login', login(alice.email))
  expect(again).toMatchObject({ status: 200, cookies: [{ name: names.session }, { name: names.csrf }, { name: names.device }] })
  expect(again.cookies[0]?.value).not.toBe(browser.cookies[names.session])
  const account = { email: 'new@example.com', displayName: 'New', password: 'a long enough one' }
  expect(await bare('/api/auth/signup', account)).toMatchObject({ status: 202 })
  expect(await bare('/api/invites/nonsense/accept', { password: account.password })).toMatchObject({ status: 404 })
  expect(await bare('/api/setup/verify', { code: 'AAAA-BBBB-CCCC' })).toMatchObject({ status: 404 })
  expect(await bare('/api/setup/complete', account)).toMatchObject({ status: 404 })
  for (const headers of [{ origin: 'https://evil.example' }, { 'sec-fetch-site': 'cross-site' }])
    expect(await bare('/api/auth/login', login(alice.email), headers)).toMatchObject({
      status: 403,
      body: { error: { code: 'CsrfMismatch' } },
    })
  expect(await bare('/api/auth/logout', {})).toMatchObject({ status: 403, body: { error: { code: 'CsrfMismatch' } } })
})

it('requires the CSRF token in GraphQL if the operation contains other fields', async () => {
  await using app = await testApp()
  const alice = await app.member()
  const browser = await alice.session()
  const enter = `login(input: { email: "${alice.email}", password: "correct horse" }) { user { email } }`
  const bare = (query: string, headers?: object) => browser.graphql(query, {}, { headers: { 'x-csrf-token': '', ...headers } })
  const signedIn = { status: 200, body: { data: { login: { user: { email: alice.email } } } } }
  expect(await bare(`mutation { __typename ${enter} }`)).toMatchObject(signedIn)
  expect(await bare(`mutation { ...f } fragment f on Mutation { ... { ${enter} } }`)).toMatchObject(signedIn)
  const refused = [{ extensions: { code: 'CsrfMismatch' } }]
  const others = ['logout', 'login: logout', '... { logout }', '...f', 'logout @skip(if: true)']
  for (const other of others) {
    const fragment = other === '...f' ? ' fragment f on Mutation { logout }' : ''
    const answer = await bare(`mutation { ${other} a: ${enter} }${fragment}`)
    expect({ other, errors: answer.body.errors, cookies: answer.cookies }).toMatchObject({ other, errors: refused, cookies: [] })
  }
  expect((await bare(`mutation { ${enter} }`, { origin: 'https://evil.example' })).body.errors).toMatchObject(refused)
  expect(await browser.get('/api/auth/me')).toMatchObject({ status: 200 })
})

it('allows ten logins per address in 15 minutes, across REST and GraphQL', async () => {
  await using app = await testApp()
  const alice = await app.member()
  for (let round = 0; round < 5; round++) await app.anonymous.post('/api/auth/login', login(alice.email))
  const field = (n: number) => `a${n}: login(input: { email: "${alice.email}", password: "correct horse" }) { user { email } }`
  await app.anonymous.graphql(`mutation { ${[1, 2, 3, 4, 5, 6].map(field).join(' ')} }`)
  const refused = await app.anonymous.post('/api/auth/login', login(alice.email))
  expect(refused).toMatchObject({
    status: 429,
    body: { error: { code: 'RateLimitExceeded' } },
    headers: { 'retry-after': expect.stringMatching(/^\d+$/) },
  })
  expect(await app.anonymous.post('/api/auth/login', login(alice.email), { ip: app.address() })).toMatchObject({ status: 200 })
})

it('counts an IPv6 address by its /64', async () => {
  await using app = await testApp()
  for (let round = 0; round < 10; round++) await app.anonymous.post('/api/auth/login', login('x@y.zz'), { ip: `2001:db8:1:2::${round}` })
  expect(await app.anonymous.post('/api/auth/login', login('x@y.zz'), { ip: '2001:db8:1:2:ffff::1' })).toMatchObject({ status: 429 })
  expect(await app.anonymous.post('/api/auth/login', login('x@y.zz'), { ip: '2001:db8:1:3::1' })).toMatchObject({ status: 401 })
})

it('expires a session after 7 days without use and after 30 days', async () => {
  await using app = await testApp({ now: new Date('2026-01-01T00:00:00Z') })
  const alice = await app.member()
  const browser = await alice.session()
  app.clock.now = days(6.9)
  expect(await browser.get('/api/auth/me')).toMatchObject({ status: 200 })
  app.clock.now = days(14)
  expect(await browser.get('/api/auth/me')).toMatchObject({ status: 401 })
  app.clock.now = days(15)
  const busy = await alice.session()
  for (let day = 16; day < 45; day++) {
    app.clock.now = days(day)
    expect(await busy.get('/api/auth/me')).toMatchObject({ status: 200 })
    // The last use is written concurrently with the request. Wait for the row.
    await expect
      .poll(async () =>
        Number(
          new Date((await app.services.database.reads.get<{ at: number | Date }>('select max(last_used_at) as at from sessions'))?.at ?? 0),
        ),
      )
      .toBe(days(day).getTime())
  }
  app.clock.now = days(45)
  expect(await busy.get('/api/auth/me')).toMatchObject({ status: 401 })
})

it('limits a session with a password change due to reading itself and signing out', async () => {
  await using app = await testApp()
  const alice = await app.member({ mustChangePassword: true })
  const browser = await alice.session()
  expect(await browser.get('/api/auth/me')).toMatchObject({ status: 200, body: { mustChangePassword: true } })
  expect(await browser.post('/api/auth/keys', { name: 'x' })).toMatchObject({
    status: 403,
    body: { error: { code: 'InsufficientPermissions', message: expect.stringContaining('password') } },
  })
  for (const path of ['/api/package-names', '/api/auth/keys', '/api/auth/sessions'])
    expect(await browser.get(path)).toMatchObject({ status: 403 })
  expect(await alice.get('/api/auth/keys')).toMatchObject({ status: 200 })
  expect(await browser.post('/api/auth/logout')).toMatchObject({ status: 200 })
})

it('names the invalid field and changes nothing', async () => {
  await using app = await testApp()
  const bad = async (body: unknown, headers?: Record<string, string>) =>
    app.anonymous.post('/api/auth/login', body, { ip: app.address(), ...(headers && { headers }) })
  expect(await bad({ email: 5, password: 'x' })).toMatchObject({
    status: 400,
    body: { error: { code: 'InvalidInput', message: 'email: must be a string, not 5.' } },
  })
  expect(await bad({ email: 'a@b.cc' })).toMatchObject({ status: 400, body: { error: { message: 'password: is required.' } } })
  expect(await bad({ email: 'a@b.cc', password: 'x'.repeat(2000) })).toMatchObject({
    status: 400,
    body: { error: { message: expect.stringMatching(/^password: /) } },
  })
  expect(await bad('{"email": ', { 'content-type': 'application/json' })).toMatchObject({
    status: 400,
    body: { error: { code: 'InvalidInput' } },
  })
  expect(await bad('[]', { 'content-type': 'application/json' })).toMatchObject({ status: 400 })
  expect(await bad('email=a', { 'content-type': 'text/plain' })).toMatchObject({ status: 415, body: { error: { code: 'InvalidInput' } } })
  expect(await bad({ email: 'a@b.cc', password: 'x'.repeat(1_100_000) })).toMatchObject({
    status: 413,
    body: { error: { code: 'InvalidInput' } },
  })
})
