import { describe, expect, it } from 'vitest'
import type { Actor } from '../actor.ts'
import { Session } from '../../server/accounts/sessions/entity.ts'
import { testApp, type TestApp } from '../app.ts'
import { addPasskey, prove, signInWith } from '../support/authenticator.ts'
import { Browser, providerEnv } from '../support/oidc.ts'
import { StubIssuer } from '../support/stub-issuer.ts'
import { addTotp } from '../support/totp.ts'

const profile = { sub: 'alice-1', email: 'alice@acme.example', email_verified: true, name: 'Alice' }
/** Alice, who has just proved to her provider who she is. */
const alice = () => ({ ...profile, auth_time: Math.floor(Date.now() / 1000) })
const signUp = { OIDC_SIGNUP: 'domain', OIDC_SIGNUP_DOMAINS: 'acme.example', OIDC_DEFAULT_ROLE: 'member' }
const server = (stub: StubIssuer, env: Record<string, string> = {}) =>
  testApp({ now: new Date(), env: { ...providerEnv(stub), ...signUp, ...env } })
const run = (app: TestApp, sql: string) => app.services.database.fork().getConnection().execute(sql)
const removeOnly = async (browser: Actor) => {
  const [{ id }] = (await browser.get('/api/auth/passkeys')).body.passkeys as [{ id: string }]
  return browser.delete(`/api/auth/passkeys/${id}`)
}

it('asks an account that must sign in through its provider to do so, instead of starting a paused session', async () => {
  await using stub = await StubIssuer.start()
  await using app = await server(stub, { OIDC_MAX_IDLE_DAYS: '5' })
  const browser = new Browser(app)
  await browser.signIn(stub, alice())
  const passkey = await addPasskey(browser.actor)
  expect(await signInWith(app, passkey)).toMatchObject({ status: 200 })
  app.clock.now = new Date((app.clock.now?.getTime() ?? 0) + 5 * 86_400_000)
  const refused = await signInWith(app, passkey)
  const message = expect.stringContaining(`through ${new URL(stub.issuer).host} for 5 days`)
  expect(refused).toMatchObject({ status: 401, body: { error: { code: 'MissingAuthentication', message } } })
  expect(refused.cookies.filter(({ value }) => value !== '' && value.length > 20)).toEqual([])
})

it('counts a linked identity as a way to sign in when the last passkey is removed, and the way of the session not', async () => {
  await using stub = await StubIssuer.start()
  await using app = await server(stub)
  const linked = new Browser(app)
  await linked.signIn(stub, alice())
  await addPasskey(linked.actor)
  expect(await removeOnly(linked.actor)).toMatchObject({ status: 200 })
  await addPasskey(linked.actor)
  await run(app, 'delete from linked_identities')
  expect(await removeOnly(linked.actor)).toMatchObject({ status: 409 })
})

it('counts a password only for those who may sign in with one', async () => {
  await using stub = await StubIssuer.start()
  await using app = await server(stub)
  const [member, owner] = [await app.member(), await app.owner()]
  const browsers = [await member.session(), await owner.session()]
  for (const browser of browsers) await addPasskey(browser)
  await app.stop()
  await using strict = await testApp({ sameDatabaseAs: app, config: { PASSWORD_SIGN_IN: 'owner' } })
  expect((await Promise.all(browsers.map((browser) => removeOnly(browser.at(strict))))).map(({ status }) => status)).toEqual([409, 200])
})

describe('REQUIRE_SECOND_FACTOR=all', () => {
  const due = { status: 403, body: { error: { message: expect.stringContaining('requires a second factor') } } }
  const required = { REQUIRE_SECOND_FACTOR: 'all' }
  const signedIn = async (app: TestApp, stub: StubIssuer, claims: object = {}) => {
    const browser = new Browser(app)
    await browser.signIn(stub, { ...alice(), ...claims })
    return browser
  }

  it.each([
    [['mfa'], true],
    [['pwd', 'otp'], true],
    [['fpt', 'hwk'], true],
    [['pwd'], false],
    [['pwd', 'pin'], false],
    [['otp', 'sms'], false],
    [['user', 'pwd'], false],
    [{ 0: 'mfa' }, false],
    [[['mfa']], false],
  ])('accepts the methods %j of a provider: %s', async (amr, isAccepted) => {
    await using stub = await StubIssuer.start()
    await using app = await server(stub, required)
    const browser = await signedIn(app, stub, { amr })
    expect(await browser.get('/api/auth/keys')).toMatchObject(isAccepted ? { status: 200 } : due)
  })

  it('accepts every sign-in of a provider that is trusted', async () => {
    await using stub = await StubIssuer.start()
    await using app = await server(stub, { ...required, OIDC_ACME_TRUST_SECOND_FACTOR: 'true' })
    expect(await (await signedIn(app, stub)).get('/api/auth/keys')).toMatchObject({ status: 200 })
  })

  it('accepts nothing else before a factor is set up', async () => {
    await using stub = await StubIssuer.start()
    await using app = await server(stub, required)
    const browser = await signedIn(app, stub)
    expect(await browser.get('/api/auth/keys')).toMatchObject(due)
    const input = { provider: 'acme', returnTo: '/' }
    expect(await browser.mutate('linkIdentity', input, 'redirectUrl')).toMatchObject({ extensions: { code: 'InsufficientPermissions' } })
    await addPasskey(browser.actor)
    expect(await browser.get('/api/auth/keys')).toMatchObject({ status: 200 })
    expect(await removeOnly(browser.actor)).toMatchObject({ status: 409 })
    // The next sign-in proves it.
    expect(await (await signedIn(app, stub)).get('/api/auth/keys')).toMatchObject(due)
  })

  it('accepts a proof with the passkey or the authenticator app of the account', async () => {
    await using stub = await StubIssuer.start()
    await using app = await server(stub, required)
    const first = await signedIn(app, stub)
    const passkey = await addPasskey(first.actor)
    const { recoveryCodes } = await addTotp(first.actor, app.clock.now ?? new Date())
    const [second, third] = [await signedIn(app, stub), await signedIn(app, stub)]
    expect(await second.post('/api/auth/passkeys/options')).toMatchObject({ status: 403 })
    expect(await prove(second.actor, passkey)).toMatchObject({ status: 200 })
    expect(await third.post('/api/auth/totp/proof', { recoveryCode: recoveryCodes[0] })).toMatchObject({ status: 200 })
    for (const browser of [second, third]) expect(await browser.get('/api/auth/keys')).toMatchObject({ status: 200 })
  })

  it('proves who the person is, and a second factor, by a fresh round through the provider', async () => {
    await using stub = await StubIssuer.start()
    await using app = await server(stub, required)
    const browser = await signedIn(app, stub, { auth_time: undefined })
    expect(await browser.post('/api/auth/totp')).toMatchObject({
      status: 403,
      body: { error: { message: expect.not.stringContaining('requires a second') } },
    })
    for (const [amr, answer] of [
      [['pwd'], due],
      [['pwd', 'mfa'], { status: 200 }],
    ] as const) {
      const { redirectUrl } = await browser.mutate('confirmIdentity', { provider: 'acme', returnTo: '/' }, 'redirectUrl')
      expect(await browser.finish(stub, new URL(redirectUrl), { ...alice(), amr })).toBe('/')
      expect(await browser.get('/api/auth/keys')).toMatchObject(answer)
    }
  })
})

it('does not count an identity of a provider that is no longer configured', async () => {
  await using stub = await StubIssuer.start()
  await using app = await server(stub)
  const browser = new Browser(app)
  await browser.signIn(stub, alice())
  await addPasskey(browser.actor)
  await run(app, "update linked_identities set issuer = 'https://gone.example.com'")
  expect(await removeOnly(browser.actor)).toMatchObject({
    status: 409,
    body: { error: { message: expect.stringContaining('Add another') } },
  })
})

it('accepts a new sign-in instead of a proof for the first passkey of an account without a password only', async () => {
  await using stub = await StubIssuer.start()
  await using app = await server(stub)
  const later = (minutes: number) => (app.clock.now = new Date((app.clock.now?.getTime() ?? 0) + minutes * 60_000))
  const late = new Browser(app)
  await late.signIn(stub, profile)
  later(11)
  expect((await late.post('/api/auth/passkeys/options')).status).toBe(403)
  const browser = new Browser(app)
  await browser.signIn(stub, profile)
  expect((await browser.mutate('linkIdentity', { provider: 'acme' }, 'redirectUrl')).extensions).toMatchObject({ proof: 'provider' })
  await addPasskey(browser.actor)
  expect((await browser.post('/api/auth/passkeys/options')).status).toBe(403)
  const session = await (await app.member()).session()
  const stale = new Date((app.clock.now?.getTime() ?? 0) - 3_600_000)
  await app.services.database.fork().nativeUpdate(Session, {}, { provedAt: stale })
  expect((await session.post('/api/auth/passkeys/options')).status).toBe(403)
})
