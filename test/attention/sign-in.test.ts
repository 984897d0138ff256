import { expect, it } from 'vitest'
import { AccessToken } from '../../server/accounts/tokens/entity.ts'
import type { Actor } from '../actor.ts'
import { testApp } from '../app.ts'
import { Browser, providerEnv } from '../support/oidc.ts'
import { addTotp } from '../support/totp.ts'
import { robotOf } from '../support/service-accounts.ts'
import { publish } from '../support/publish.ts'
import { StubIssuer } from '../support/stub-issuer.ts'
import { acmeRule } from '../support/token-issuer.ts'
import { trustedApp } from '../support/trusted-app.ts'

const minuteMs = 60_000
type Item = { kind: string; severity: string; count: number; at: string | null; text: string }
const itemsOf = async (admin: Actor, kind: string): Promise<Item[]> =>
  (await admin.graphql('{ attention { kind severity count at text } }')).body.data.attention.filter((one: Item) => one.kind === kind)

const alice = { sub: 'alice', email: 'alice@acme.test', email_verified: true }
const signUp = { OIDC_SIGNUP: 'domain', OIDC_SIGNUP_DOMAINS: 'acme.test' }

it('reports a provider that fails until a sign-in succeeds, as urgent where others cannot sign in', async () => {
  await using stub = await StubIssuer.start()
  const env = { ...providerEnv(stub), ...signUp, OIDC_ACME_LABEL: 'Acme account' }
  await using app = await testApp({ env })
  const admin = await app.admin()
  const failing = () => itemsOf(admin, 'PROVIDER_FAILING')
  expect(await failing()).toEqual([])
  stub.behaviour.status = 503
  expect((await new Browser(app).get('/auth/oidc/acme')).headers.location).toContain('error=provider_failed')
  expect(await failing()).toMatchObject([
    { severity: 'WARNING', count: 1, at: expect.any(String), text: expect.stringMatching(/^Sign-in through Acme account failed\. .*\.$/) },
  ])
  app.config.PASSWORD_SIGN_IN = 'owner'
  expect(await failing()).toMatchObject([{ severity: 'ERROR' }])
  delete stub.behaviour.status
  expect(await new Browser(app).signIn(stub, alice)).toBe('/')
  expect(await failing()).toEqual([])
})

it('reports a secret that cannot be decrypted once, before anyone tries to sign in', async () => {
  await using stub = await StubIssuer.start()
  await using app = await testApp()
  const { issuer } = stub
  const provider = { name: 'acme', issuer, clientId: 'snug', clientSecret: 'the secret of this server' }
  expect((await (await (await app.admin()).session()).post('/api/admin/oidc-providers', provider)).status).toBe(201)
  await app.stop()
  const config = { JWT_SECRET: 'another secret for tests, long enough', INSTANCES_MAY_DIFFER: true }
  await using other = await testApp({ sameDatabaseAs: app, config })
  const admin = await other.admin()
  expect(await itemsOf(admin, 'SECRETS_UNREADABLE')).toMatchObject([{ text: expect.stringContaining('sign-in providers (acme)') }])
  expect(await itemsOf(admin, 'PROVIDER_FAILING')).toEqual([])
})

it('reports clocks that differ from those of providers and CI systems by more than a minute', async () => {
  await using all = await trustedApp()
  const { app, admin, tokenIssuerId } = all
  const differing = () => itemsOf(admin, 'ISSUER_CLOCKS_DIFFER')
  const refresh = () => admin.post(`/api/token-issuers/${tokenIssuerId}/refresh`)
  const setClock = (ms: number) => (app.clock.now = new Date(Date.now() + ms))
  setClock(30_000)
  await refresh()
  expect(await differing()).toEqual([])
  for (const [ms, words] of [
    [5 * minuteMs, '5 minutes ahead of'],
    [-2 * minuteMs, '2 minutes behind'],
  ] as const) {
    setClock(ms)
    expect((await refresh()).status).toBe(200)
    const text = `The clock of this server is ${words} that of GitHub Actions, so sign-ins or jobs may be refused.`
    expect(await differing()).toMatchObject([{ severity: 'WARNING', text }])
  }
  setClock(2 * 86_400_000)
  expect(await differing()).toEqual([])
  await admin.delete(`/api/token-issuers/${tokenIssuerId}`)
  setClock(-2 * minuteMs)
  expect(await differing()).toEqual([])
})

it('takes the age of cached answers into account', async () => {
  await using all = await trustedApp()
  const { app, admin, tokenIssuerId, issuer } = all
  issuer.answerKeys = (response) => {
    const headers = { date: new Date(Date.now() - 10 * minuteMs).toUTCString(), age: '600' }
    response.writeHead(200, headers).end(JSON.stringify({ keys: issuer.keys.map(({ jwk }) => jwk) }))
  }
  await admin.post(`/api/token-issuers/${tokenIssuerId}/refresh`)
  expect(Math.abs([...(app.services.state.issuerClocks?.values() ?? [])][0]?.aheadMs ?? Number.NaN)).toBeLessThan(minuteMs)
})

it('reports keys that could not be fetched, as urgent once jobs are refused', async () => {
  await using all = await trustedApp()
  const { app, admin, tokenIssuerId, issuer } = all
  const stale = () => itemsOf(admin, 'ISSUER_KEYS_STALE')
  const refresh = () => admin.post(`/api/token-issuers/${tokenIssuerId}/refresh`)
  expect(await stale()).toEqual([])
  issuer.answerDiscovery = (response) => response.writeHead(503).end()
  await refresh()
  const [item] = await stale()
  expect(item).toMatchObject({ severity: 'WARNING', text: expect.stringMatching(/^The keys of GitHub Actions .* 503\. .*up to a day\.$/) })
  app.clock.now = new Date(Date.now() + 25 * 3_600_000)
  expect(await stale()).toMatchObject([{ severity: 'ERROR', text: expect.stringContaining('Its jobs are refused.') }])
  issuer.answerDiscovery = null
  await refresh()
  expect(await stale()).toEqual([])
})

it('counts administrators without a second factor only if a password signs them in', async () => {
  await using app = await testApp()
  const [admin, other] = [await app.admin(), await app.admin()]
  await app.owner()
  const missing = async () => (await itemsOf(admin, 'SECOND_FACTORS_MISSING')).map(({ severity, count }) => `${severity} ${count}`)
  const before = await missing()
  expect(before).toEqual(['INFO 3'])
  await app.services.database.fork().execute('update users set password_hash = null where id = ?', [other.id])
  expect(await missing()).toEqual(['INFO 2'])
  app.config.PASSWORD_SIGN_IN = 'owner'
  expect(await missing()).toEqual(['INFO 1'])
  app.config.PASSWORD_SIGN_IN = 'all'
  await addTotp(await admin.session(), new Date())
  expect(await missing()).toEqual(['INFO 1'])
})

it('counts tokens that never expire, those of service accounts too, unless they are revoked', async () => {
  await using app = await testApp()
  const admin = await app.admin()
  const em = app.services.database.fork()
  const { account } = await robotOf(app, admin, 'server')
  for (const [name, more] of Object.entries({ a: {}, b: { revokedAt: new Date() }, c: { expiresAt: new Date() } }))
    em.create(AccessToken, { user: account.id, name, hash: name, prefix: 'svc_pat_abcd', scopes: 'read', ...more })
  await em.flush()
  await em.execute('update access_tokens set expires_at = created_at where user_id <> ? and hash not in (?, ?, ?)', [
    admin.id,
    'a',
    'b',
    'c',
  ])
  const endless = () => itemsOf(admin, 'TOKENS_NEVER_EXPIRE')
  const text = '2 access tokens never expire, 1 of them of service accounts.'
  expect(await endless()).toMatchObject([{ severity: 'INFO', count: 2, text }])
  app.config.TOKEN_MAX_DAYS = 90
  expect(await endless()).toMatchObject([
    { severity: 'WARNING', text: `${text} TOKEN_MAX_DAYS=90 applies to new tokens only: rotate or revoke older ones.` },
  ])
  const listed = await admin.graphql('{ accessTokens(first: 5, neverExpires: true) { totalCount } }')
  expect(listed.body.data.accessTokens.totalCount).toBe(2)
})

it('shows optional steps of the checklist as done once they are configured', async () => {
  await using all = await trustedApp()
  const { app, admin, member, addRule } = all
  const steps = async () => {
    const { body } = await admin.graphql('{ setupChecklist { steps { step isDone isOptional } } }')
    const optional = body.data.setupChecklist.steps.filter((one: { isOptional: boolean }) => one.isOptional)
    return optional.map(({ step, isDone }: { step: string; isDone: boolean }) => `${step} ${isDone}`)
  }
  expect(await steps()).toEqual(['SECOND_FACTOR false', 'SIGN_IN false', 'MIRROR false', 'TRUSTED_PUBLISHING false'])
  await publish(member, { name: 'acme_ui', version: '0.9.0' })
  await addRule(acmeRule)
  Object.assign(app.config, {
    oidcProviders: [
      {
        name: 'acme',
        label: 'a',
        issuer: 'https://a.test',
        clientId: 'a',
        clientSecret: null,
        scopes: 'openid',
        groupsClaim: null,
      },
    ],
  })
  await app.services.database.fork().execute('update users set password_hash = null')
  expect(await steps()).toEqual(['SECOND_FACTOR true', 'SIGN_IN true', 'MIRROR false', 'TRUSTED_PUBLISHING true'])
})
