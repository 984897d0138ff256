import { expect, it } from 'vitest'
import { type Actor, statuses } from '../actor.ts'
import type { TestApp } from '../app.ts'
import { addPasskey, signInOptions, signInWith } from '../support/authenticator.ts'
import { packageArchive } from '../support/archive.ts'
import { anotherInstance } from '../support/instances.ts'
import { Browser } from '../support/oidc.ts'
import { publish, publishArchive } from '../support/publish.ts'
import { robotOf } from '../support/service-accounts.ts'
import { StubIssuer } from '../support/stub-issuer.ts'
import { acmeRule, githubClaims } from '../support/token-issuer.ts'
import { addTotp, codeAt } from '../support/totp.ts'
import { trustedApp } from '../support/trusted-app.ts'

const clara = { sub: 'clara-1', email: 'clara@acme.example', email_verified: true, name: 'Clara' }
const signUp = { OIDC_SIGNUP: 'domain', OIDC_SIGNUP_DOMAINS: 'acme.example' }
const done = { status: expect.toBeOneOf([200, 201, 204]) }

/** A server with a second instance, to which the returned functions send requests. On SQLite, both are the same. */
async function pair(...stubs: StubIssuer[]) {
  const trusted = await trustedApp({ hosts: stubs.map(({ issuer }) => new URL(issuer).host), env: signUp, alone: true })
  const second = await anotherInstance(trusted.app)
  const other: TestApp = second ?? trusted.app
  return {
    ...trusted,
    other,
    [Symbol.asyncDispose]: async () => {
      await second?.[Symbol.asyncDispose]()
      await trusted[Symbol.asyncDispose]()
    },
  }
}

it('applies changes of a sign-in provider on every instance at the next request', async () => {
  await using stub = await StubIssuer.start()
  await using foreign = await StubIssuer.start()
  await using all = await pair(stub, foreign)
  const { admin, other } = all
  const names = async () => (await other.anonymous.get('/api/auth/providers')).body.oidcProviders.map(({ name }: { name: string }) => name)
  const secretAtExchange = () => stub.exchanges.at(-1)?.get('client_secret')
  stub.behaviour.metadata = { token_endpoint_auth_methods_supported: ['client_secret_post'] }
  expect(await names()).toEqual([])
  const provider = { name: 'acme', issuer: stub.issuer, clientId: 'snug', clientSecret: 'first secret', groupsClaim: 'groups' }
  expect(await admin.post('/api/admin/oidc-providers', provider)).toMatchObject(done)
  expect(await names()).toEqual(['acme'])
  expect(await new Browser(other).signIn(stub, clara)).toBe('/')
  expect(secretAtExchange()).toBe('first secret')
  const change = (body: object) => admin.patch('/api/admin/oidc-providers/acme', body)
  expect(await change({ clientSecret: 'second secret' })).toMatchObject(done)
  expect(await new Browser(other).signIn(stub, clara)).toBe('/')
  expect(secretAtExchange()).toBe('second secret')

  const rules = [{ group: 'ops', role: 'admin' }]
  expect(await admin.put('/api/admin/oidc-providers/acme/group-rules', { rules })).toMatchObject(done)
  const browser = new Browser(other)
  expect(await browser.signIn(stub, { ...clara, groups: ['ops'] })).toBe('/')
  expect(await browser.viewer()).toMatchObject({ role: 'ADMIN' })
  expect(await admin.put('/api/admin/oidc-providers/acme/group-rules', { rules: [] })).toMatchObject(done)

  // New keys and another issuer: nothing of the discovery is kept.
  await stub.rotateKeys()
  expect(await new Browser(other).signIn(stub, clara)).toBe('/')
  expect(await change({ issuer: foreign.issuer, clientSecret: 'x' })).toMatchObject(done)
  expect((await new Browser(other).start()).origin).toBe(foreign.issuer)
  expect(await admin.delete('/api/admin/oidc-providers/acme')).toMatchObject(done)
  expect(await names()).toEqual([])
  expect((await new Browser(other).get('/auth/oidc/acme')).headers.location).toContain('error=unknown_provider')
})

it('finishes on one instance a sign-in that another one started', async () => {
  await using stub = await StubIssuer.start()
  await using all = await pair(stub)
  const { app, other, admin, member } = all
  await admin.post('/api/admin/oidc-providers', { name: 'acme', issuer: stub.issuer, clientId: 'snug' })
  const started = new Browser(app)
  const at = await started.start()
  const finished = new Browser(other, started.cookies)
  expect(await finished.finish(stub, at, clara)).toBe('/')
  expect(await finished.viewer()).toMatchObject({ email: clara.email })
  expect(await new Browser(app, started.cookies).finish(stub, at, clara)).toContain('error=expired')

  const passkey = await addPasskey(await member.session())
  const { options, headers, ip } = await signInOptions(app)
  const credential = passkey.get(options)
  const login = (one: TestApp) => one.anonymous.post('/api/auth/passkey/login', { credential }, { headers, ip })
  expect(statuses([await login(other), await login(app)])).toEqual([200, 401])
})

it('applies changes of rules and issuers to the verified jobs of every instance at the next request', async () => {
  await using all = await pair()
  const { app, other, admin, member, issuer, addRule, tokenIssuerId } = all
  await publish(member, { name: 'acme_ui', version: '0.9.0' })
  const token = await issuer.token(app, githubClaims)
  const read = async () => (await other.withToken(token).get('/api/packages/acme_ui')).status
  expect(await read()).toBe(403)
  const rule = await addRule(acmeRule)
  expect([await read(), await read()]).toEqual([200, 200])
  const path = `/api/trusted-publishers/${rule}`
  expect(await member.put(path, { tokenIssuerId, ...acmeRule, repository: 'acme/elsewhere' })).toMatchObject(done)
  expect(await read()).toBe(403)
  expect(await member.put(path, { tokenIssuerId, ...acmeRule })).toMatchObject(done)
  expect([await read(), await read()]).toEqual([200, 200])
  expect(await member.delete(path)).toMatchObject(done)
  expect(await read()).toBe(403)
  await addRule(acmeRule)
  expect([await read(), await read()]).toEqual([200, 200])
  expect(await admin.delete(`/api/token-issuers/${tokenIssuerId}`)).toMatchObject(done)
  expect(await read()).toBe(401)
  await all.addIssuer()
  expect(await read()).toBe(403)
})

it('applies the switch for manual publishing on every instance at the next request', async () => {
  await using all = await pair()
  const { other, member } = all
  await publish(member.at(other), { name: 'acme_ui', version: '0.9.0' })
  const attempt = async (version: string) =>
    (await publishArchive(member.at(other), await packageArchive({ name: 'acme_ui', version }))).status
  expect(await member.put('/api/packages/acme_ui/options', { allowsManualPublishing: false })).toMatchObject(done)
  expect(await attempt('1.0.0')).toBe(403)
  expect(await member.put('/api/packages/acme_ui/options', { allowsManualPublishing: true })).toMatchObject(done)
  expect(await attempt('1.0.0')).toBe(200)
})

it('applies changes of tokens and service accounts on every instance at the next request', async () => {
  await using all = await pair()
  const { app, other, admin, member } = all
  await publish(member, { name: 'acme_ui', version: '0.9.0' })
  const read = async (secret: string) => (await other.withToken(secret).get('/api/packages/acme_ui')).status
  const { body } = await member.post('/api/auth/keys', { name: 'ci', packages: ['acme_ui'], actions: ['read'] })
  expect([await read(body.secret), await read(body.secret)]).toEqual([200, 200])
  expect((await other.withToken(body.secret).get('/api/packages/versions/new')).status).toBe(403)
  const rotated = await member.post(`/api/auth/keys/${body.id}/rotate`, { overlapHours: 0 })
  expect([await read(body.secret), await read(rotated.body.secret)]).toEqual([401, 200])
  expect(await member.delete(`/api/auth/keys/${body.id}`)).toMatchObject(done)
  expect(await read(rotated.body.secret)).toBe(401)

  const { robot, account } = await robotOf(app, admin, 'server')
  const status = async (actor: Actor) => (await actor.at(other).get('/api/packages/acme_ui')).status
  const disable = (isActive: boolean) => admin.put(`/api/service-accounts/${account.id}`, { isActive })
  expect([await status(robot), await status(robot)]).toEqual([200, 200])
  expect(await disable(false)).toMatchObject(done)
  expect(await status(robot)).toBe(401)
  expect(await disable(true)).toMatchObject(done)
  expect(await status(robot)).toBe(200)
  expect(await admin.delete(`/api/service-accounts/${account.id}`)).toMatchObject(done)
  expect(await status(robot)).toBe(401)
})

it('applies changes of second factors on every instance at the next request', async () => {
  await using all = await pair()
  const { app, other, member } = all
  const browser = await member.session()
  const passkey = await addPasskey(browser)
  expect(await signInWith(other, passkey)).toMatchObject({ status: 200 })
  const [{ id }] = (await browser.get('/api/auth/passkeys')).body.passkeys as [{ id: string }]
  expect(await browser.delete(`/api/auth/passkeys/${id}`)).toMatchObject(done)
  expect(await signInWith(other, passkey)).toMatchObject({ status: 401 })

  const login = (codes: object = {}) =>
    other.anonymous.post('/api/auth/login', { email: member.email, password: 'correct horse', ...codes }, { ip: other.address() })
  expect(await login()).toMatchObject({ status: 200 })
  const { secret } = await addTotp(browser, new Date())
  expect(await login()).toMatchObject({ status: 401, body: { error: { secondFactor: ['otp', 'recoveryCode'] } } })
  const signedIn = await login({ otp: codeAt(secret, new Date(Date.now() + 30_000)) })
  expect(signedIn).toMatchObject({ status: 200 })
  const owner = await (await app.owner()).session()
  expect(await owner.post(`/api/admin/users/${member.id}/reset-second-factor`)).toMatchObject(done)
  expect((await browser.at(other).get('/api/auth/me')).status).toBe(401)
  expect(await login()).toMatchObject({ status: 200 })
})

it('counts wrong codes across all instances', async () => {
  await using all = await pair()
  const { app, other, member } = all
  await addTotp(await member.session(), new Date())
  const attempt = (one: TestApp) => {
    const sent = { email: member.email, password: 'correct horse', otp: '000000' }
    return one.anonymous.post('/api/auth/login', sent, { ip: '198.51.100.7' })
  }
  for (let round = 0; round < 5; round++) for (const one of [app, other]) expect((await attempt(one)).status).toBe(401)
  for (const one of [app, other]) expect((await attempt(one)).status).toBe(429)
})
