import { expect, it } from 'vitest'
import { type TestApp, testApp } from '../app.ts'
import { Browser, providerEnv } from '../support/oidc.ts'
import { StubIssuer } from '../support/stub-issuer.ts'

const alice = { sub: 'alice-1', email: 'alice@acme.example', email_verified: true, name: 'Alice' }
const signUp = { OIDC_SIGNUP: 'domain', OIDC_SIGNUP_DOMAINS: 'acme.example' }
const advice = 'an operator can add the host to TOKEN_ISSUER_HOSTS'
const failed = '/login?error=provider_failed&provider=acme'

const add = async (app: TestApp, issuer: string) =>
  (await app.admin()).post('/api/admin/oidc-providers', { name: 'acme', issuer, clientId: 'snug', clientSecret: 'x' })
const check = async (app: TestApp) => (await (await app.admin()).post('/api/admin/oidc-providers/acme/test')).body
const lastError = async (app: TestApp) => (await (await app.admin()).get('/api/admin/oidc-providers')).body.oidcProviders[0].lastError

it.each([
  ['loopback', 'https://127.0.0.2', '127.0.0.2 is at 127.0.0.2, port 443, which may not be contacted'],
  ['private', 'https://10.0.0.1/realms/acme', '10.0.0.1 is at 10.0.0.1, port 443, which may not be contacted'],
  ['link-local', 'https://169.254.169.254', '169.254.169.254 is at 169.254.169.254, port 443, which may not be contacted'],
  ['mapped', 'https://[::ffff:10.0.0.1]', 'which may not be contacted'],
  ['private name', 'http://sso.internal', 'http://sso.internal is not https, which is not allowed'],
])('a provider added in the console does not reach a host that is %s, and its test advises what to set', async (_kind, issuer, message) => {
  await using app = await testApp({ env: { TOKEN_ISSUER_HOSTS: 'sso.example.com, 10.0.0.1:8443' } })
  expect((await add(app, issuer)).status).toBe(201)
  const { isUsable, findings } = await check(app)
  expect([isUsable, findings.length]).toEqual([false, 1])
  expect(findings[0]).toContain(message)
  expect(findings[0]).toContain(advice)
  expect(String((await new Browser(app).get('/auth/oidc/acme')).headers.location)).toContain(failed)
  expect(await lastError(app)).toContain(advice)
})

it('a provider added in the console reaches a host that the operator lists with its port', async () => {
  await using stub = await StubIssuer.start()
  const { host, hostname } = new URL(stub.issuer)
  await using unlisted = await testApp({ env: { ...signUp, TOKEN_ISSUER_HOSTS: `${hostname}, ${hostname}:1` } })
  await add(unlisted, stub.issuer)
  expect((await check(unlisted)).findings[0]).toContain(advice)
  await using app = await testApp({ env: { ...signUp, TOKEN_ISSUER_HOSTS: `sso.example.com ${host}` } })
  await add(app, stub.issuer)
  expect(await check(app)).toMatchObject({ isUsable: true, findings: [] })
  expect(await new Browser(app).signIn(stub, alice)).toBe('/')
})

it.each(['console', 'environment'])(
  'a provider of the %s sends this server to no private host that only its metadata names',
  async (source) => {
    await using stub = await StubIssuer.start()
    await using internal = await StubIssuer.start()
    const { host } = new URL(stub.issuer)
    const env = source === 'console' ? { TOKEN_ISSUER_HOSTS: host } : providerEnv(stub)
    await using app = await testApp({ env: { ...signUp, ...env } })
    if (source === 'console') await add(app, stub.issuer)
    for (const metadata of [
      { token_endpoint: `${internal.issuer}/token` },
      { jwks_uri: `${internal.issuer}/jwks` },
      { userinfo_endpoint: `${internal.issuer}/userinfo` },
    ]) {
      stub.behaviour.metadata = metadata
      expect([Object.keys(metadata), await new Browser(app).signIn(stub, alice)]).toEqual([Object.keys(metadata), failed])
      expect(await lastError(app)).toContain(advice)
    }
    stub.behaviour.metadata = {}
    stub.behaviour.keysAt = `${internal.issuer}/jwks`
    expect(await new Browser(app).signIn(stub, alice)).toMatch(/error=provider_/)
    expect(internal.requests).toEqual([])
  },
)

it('a provider of the environment reaches another private host that the operator lists', async () => {
  await using stub = await StubIssuer.start()
  await using internal = await StubIssuer.start()
  internal.keys = stub.keys
  await using app = await testApp({ env: { ...signUp, ...providerEnv(stub), TOKEN_ISSUER_HOSTS: new URL(internal.issuer).host } })
  stub.behaviour.metadata = { jwks_uri: `${internal.issuer}/jwks` }
  expect(await new Browser(app).signIn(stub, alice)).toBe('/')
  expect(internal.requests).toEqual(['/jwks'])
})
