import { expect, it } from 'vitest'
import type { Actor } from '../actor.ts'
import { Session } from '../../server/accounts/sessions/entity.ts'
import { testApp, type TestApp } from '../app.ts'
import { addPasskey, signInWith } from '../support/authenticator.ts'
import { Browser, providerEnv } from '../support/oidc.ts'
import { StubIssuer } from '../support/stub-issuer.ts'

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
