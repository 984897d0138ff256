import { expect, it } from 'vitest'
import { type TestApp, testApp } from '../app.ts'
import { addPasskey, signInWith } from '../support/authenticator.ts'
import { sample } from '../support/metrics.ts'
import { Browser, providerEnv } from '../support/oidc.ts'
import { publish } from '../support/publish.ts'
import { StubIssuer } from '../support/stub-issuer.ts'
import { acmeRule } from '../support/token-issuer.ts'
import { addTotp, codeAt } from '../support/totp.ts'
import { trustedApp } from '../support/trusted-app.ts'

const env = { METRICS_TOKEN: 'the token of the metrics' }
async function metricsOf({ anonymous }: TestApp): Promise<string> {
  return String((await anonymous.get('/metrics', { headers: { authorization: `Bearer ${env.METRICS_TOKEN}` } })).body)
}
const wayIn = (text: string, way: string) => sample(text, 'snug_sign_ins_total', { way })
const failuresIn = (text: string, reason: string) => sample(text, 'snug_sign_in_failures_total', { reason })

it('counts sign-ins by way, and failed ones by reason', async () => {
  await using app = await testApp({ alone: true, env })
  const start = new Date()
  app.clock.now = start
  const member = await app.member()
  const { secret, recoveryCodes } = await addTotp(await member.session(), start)
  app.clock.now = new Date(start.getTime() + 60_000)
  const [email, password] = [member.email, 'correct horse']
  const logIn = async (more: object) => (await app.anonymous.post('/api/auth/login', { email, password, ...more })).status
  expect(await logIn({ otp: codeAt(secret, app.clock.now) })).toBe(200)
  expect(await logIn({ recoveryCode: recoveryCodes[0] })).toBe(200)
  expect([await logIn({}), await logIn({ otp: '000000' }), await logIn({ password: 'wrong password' })]).toEqual([401, 401, 401])
  const text = await metricsOf(app)
  expect(['password', 'authenticator_app', 'recovery_code', 'passkey'].map((way) => wayIn(text, way))).toEqual([1, 1, 1, 0])
  expect(['wrong_password', 'wrong_code'].map((reason) => failuresIn(text, reason))).toEqual([1, 1])
})

it('counts sign-ins with passkeys', async () => {
  await using app = await testApp({ alone: true, env })
  const authenticator = await addPasskey(await (await app.member()).session())
  expect(await signInWith(app, authenticator)).toMatchObject({ status: 200 })
  expect(await signInWith(app, authenticator, { origin: 'https://elsewhere.test' })).toMatchObject({ status: 401 })
  const text = await metricsOf(app)
  expect([wayIn(text, 'passkey'), failuresIn(text, 'wrong_passkey')]).toEqual([1, 1])
})

it('counts sign-ins through providers, and failures by the code that the sign-in page receives', async () => {
  await using stub = await StubIssuer.start()
  await using app = await testApp({
    alone: true,
    env: { ...env, ...providerEnv(stub), OIDC_SIGNUP: 'domain', OIDC_SIGNUP_DOMAINS: 'acme.test' },
  })
  expect(await new Browser(app).signIn(stub, { sub: 'a', email: 'a@acme.test', email_verified: true })).toBe('/')
  expect(await new Browser(app).signIn(stub, { sub: 'b', email: 'b@other.test', email_verified: true })).toContain('error=not_linked')
  await new Browser(app).callback({ state: 'unknown', code: 'x' })
  await app.anonymous.get('/auth/oidc/nothing')
  stub.behaviour.status = 503
  await new Browser(app).get('/auth/oidc/acme')
  const text = await metricsOf(app)
  expect(wayIn(text, 'provider')).toBe(1)
  for (const reason of ['not_linked', 'expired', 'unknown_provider', 'provider_failed'])
    expect([reason, failuresIn(text, reason)]).toEqual([reason, 1])
})

it('counts refused jobs by reason, never by values of their tokens', async () => {
  await using all = await trustedApp({ alone: true, env })
  const { app, issuer, member, addRule, job } = all
  const read = async (claims: object) => (await (await job(claims)).get('/api/packages/acme_ui')).status
  await publish(member, { name: 'acme_ui', version: '0.9.0' })
  expect(await read({})).toBe(403)
  await addRule(acmeRule)
  expect(await read({})).toBe(200)
  expect(await read({ aud: 'https://elsewhere.test' })).toBe(401)
  expect(await read({ exp: 1000 })).toBe(401)
  expect(await read({ iss: 'https://unknown.test' })).toBe(401)
  expect(await read({ repository: 'acme/acme_ui', repository_id: '666' })).toBe(403)
  const forged = `${(await issuer.token(app, {})).split('.').slice(0, 2).join('.')}.${'A'.repeat(342)}`
  expect((await app.withToken(forged).get('/api/packages/acme_ui')).status).toBe(401)
  const text = await metricsOf(app)
  for (const reason of ['no_rule', 'audience', 'expired', 'issuer', 'rule', 'signature'])
    expect([reason, sample(text, 'snug_job_token_refusals_total', { reason })]).toEqual([reason, 1])
  expect(text).not.toMatch(/elsewhere|unknown\.test/)
})
