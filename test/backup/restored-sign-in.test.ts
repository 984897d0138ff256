import { expect, it } from 'vitest'
import { restoreBackup } from '../../server/operations/backup/restore/restore.ts'
import { resealSecrets, sealedColumns, warnOfUnreadableSecrets } from '../../server/operations/checks/sealed.ts'
import { readRow } from '../../server/platform/db/statements.ts'
import type { Config } from '../../server/platform/config/config.ts'
import type { Actor } from '../actor.ts'
import { type TestApp, testApp } from '../app.ts'
import { adminJson } from '../support/admin.ts'
import { addPasskey, signInWith } from '../support/authenticator.ts'
import { backUp, emptyPlace, folderOfTest } from '../support/backups.ts'
import { Browser } from '../support/oidc.ts'
import { publish } from '../support/publish.ts'
import { robotOf } from '../support/service-accounts.ts'
import { StubIssuer } from '../support/stub-issuer.ts'
import { acmeRule, githubClaims } from '../support/token-issuer.ts'
import { addTotp, codeAt } from '../support/totp.ts'
import { trustedApp } from '../support/trusted-app.ts'

const clara = { sub: 'clara-1', email: 'clara@acme.example', email_verified: true, name: 'Clara' }
const otherSecret = 'another secret for tests, long enough'

/** Starts a server that has each way to sign in, and backs it up. */
async function backedUp() {
  const stub = await StubIssuer.start()
  const trusted = await trustedApp({
    hosts: [new URL(stub.issuer).host],
    env: { OIDC_SIGNUP: 'domain', OIDC_SIGNUP_DOMAINS: 'acme.example' },
  })
  const { app, admin, member, issuer } = trusted
  await publish(member, { name: 'acme_ui', version: '0.9.0' })
  await trusted.addRule(acmeRule)
  const provider = { name: 'acme', issuer: stub.issuer, clientId: 'snug', clientSecret: 'the client secret of the company' }
  expect(await admin.post('/api/admin/oidc-providers', provider)).toMatchObject({ status: 201 })
  const clarasBrowser = new Browser(app)
  expect(await clarasBrowser.signIn(stub, clara)).toBe('/')
  const [bob, browser] = [await app.member(), await member.session()]
  const passkey = await addPasskey(browser)
  const totp = await addTotp(await bob.session(), new Date())
  const narrowed = await member.post('/api/auth/keys', { name: 'narrowed', packages: ['acme_ui'], actions: ['read'] })
  const robot = await robotOf(app, await app.owner(), 'server')
  const jobToken = await issuer.token(app, { ...githubClaims, exp: Math.floor(Date.now() / 1000) + 3000 })
  expect(await app.withToken(jobToken).get('/api/packages/acme_ui')).toMatchObject({ status: 200 })
  const folder = folderOfTest()
  await backUp(app, folder)
  await app.stop()
  return {
    app,
    admin,
    bob,
    stub,
    issuer,
    passkey,
    totp,
    clarasBrowser,
    jobToken,
    robot: robot.robot,
    narrowed: narrowed.body.secret as string,
    /** Restores the backup into a new place, and starts a server on it. */
    restore: async (config: Partial<Config> = {}) => {
      const place = { ...(await emptyPlace(app)), ...config }
      await restoreBackup(place, folder)
      return testApp({ sameDatabaseAs: app, config: place })
    },
    [Symbol.asyncDispose]: async () => {
      await stub[Symbol.asyncDispose]()
      await trusted[Symbol.asyncDispose]()
    },
  }
}

type BackedUp = Awaited<ReturnType<typeof backedUp>>

const login = (app: TestApp, { email }: Actor, codes: object = {}) =>
  app.anonymous.post('/api/auth/login', { email, password: 'correct horse', ...codes }, { ip: app.address() })
const attentionOf = async (app: TestApp, admin: Actor) =>
  (await admin.at(app).graphql('{ attention { kind severity count text } }')).body.data.attention as { kind: string; text: string }[]

/** The code after the first one, with which the app was confirmed. */
const nextCode = ({ totp }: BackedUp) => codeAt(totp.secret, new Date(Date.now() + 30_000))

/** Uses the tokens of people and programs, which do not depend on the settings of the server. */
async function expectTokens(app: TestApp, { narrowed, robot }: BackedUp) {
  expect(await app.withToken(narrowed).get('/api/packages/acme_ui')).toMatchObject({ status: 200 })
  expect(await app.withToken(narrowed).get('/api/packages/versions/new')).toMatchObject({ status: 403 })
  expect(await robot.at(app).get('/api/packages/acme_ui')).toMatchObject({ status: 200 })
}

it('signs in each way after a restore', async () => {
  await using all = await backedUp()
  await using app = await all.restore()
  await expectTokens(app, all)
  expect(await signInWith(app, all.passkey)).toMatchObject({ status: 200 })
  expect(await login(app, all.bob)).toMatchObject({ status: 401, body: { error: { secondFactor: ['otp', 'recoveryCode'] } } })
  expect(await login(app, all.bob, { otp: nextCode(all) })).toMatchObject({ status: 200 })
  expect(await login(app, all.bob, { recoveryCode: all.totp.recoveryCodes[0] })).toMatchObject({ status: 200 })
  const browser = new Browser(app)
  expect(await browser.signIn(all.stub, clara)).toBe('/')
  expect(await browser.viewer()).toMatchObject({ email: clara.email })
  for (const token of [all.jobToken, await all.issuer.token(app, githubClaims)])
    expect(await app.withToken(token).get('/api/packages/acme_ui')).toMatchObject({ status: 200 })
  // The session of the provider was restored with the address that ends it there.
  const ended = await new Browser(app, all.clarasBrowser.cookies).actor.graphql('mutation { logout { endSessionUrl } }')
  expect(ended.body.data.logout.endSessionUrl).toContain(`${all.stub.issuer}/logout`)
  expect((await attentionOf(app, all.admin)).map(({ kind }) => kind)).not.toContain('SECRETS_UNREADABLE')
})

it('reports the secrets that another JWT_SECRET cannot decrypt, and works without them', async () => {
  await using all = await backedUp()
  await using app = await all.restore({ JWT_SECRET: otherSecret })
  await expectTokens(app, all)
  const text =
    'These secrets cannot be decrypted with JWT_SECRET: the client secrets of sign-in providers (acme); the secrets of authenticator apps (1). ' +
    'Set JWT_SECRET_PREVIOUS to the former secret. If it is lost, enter the client secrets again, and reset the second factor of people who ' +
    'have neither a recovery code nor a passkey.'
  await warnOfUnreadableSecrets(app.services)
  expect(app.lines.at(-1)).toContain(text)
  expect(await attentionOf(app, all.admin)).toContainEqual({ kind: 'SECRETS_UNREADABLE', severity: 'ERROR', count: 2, text })
  const doctor = await adminJson(app, 'doctor', '--quick')
  expect(doctor.body.checks).toContainEqual(expect.objectContaining({ name: 'secrets', status: 'warning' }))

  // An authenticator app: the refusal names the other ways.
  for (const codes of [{}, { otp: nextCode(all) }])
    expect(await login(app, all.bob, codes)).toMatchObject({
      status: 401,
      body: { error: { message: expect.stringMatching(/^The server cannot decrypt the secret/), secondFactor: ['recoveryCode'] } },
    })
  expect(await login(app, all.bob, { recoveryCode: all.totp.recoveryCodes[0] })).toMatchObject({ status: 200 })
  const owner = await (await app.owner()).session()
  expect(await owner.post(`/api/admin/users/${all.bob.id}/reset-second-factor`)).toMatchObject({ status: 200 })
  expect(await login(app, all.bob)).toMatchObject({ status: 200 })

  // A client secret: the page of the provider works, and the sign-in after the secret was entered again.
  expect(await app.anonymous.get('/api/auth/providers')).toMatchObject({ status: 200, body: { oidcProviders: [{ name: 'acme' }] } })
  expect(await all.admin.at(app).get('/api/admin/oidc-providers')).toMatchObject({ status: 200 })
  const started = await new Browser(app).get('/auth/oidc/acme')
  expect(started.headers.location).toContain('/login?error=provider_failed&provider=acme')
  const change = { clientSecret: 'the client secret of the company' }
  expect(await all.admin.at(app).patch('/api/admin/oidc-providers/acme', change)).toMatchObject({ status: 200 })
  expect(await new Browser(app).signIn(all.stub, clara)).toBe('/')

  // Sessions have ended with the former secret.
  expect(await new Browser(app, all.clarasBrowser.cookies).viewer()).toBeNull()
  expect((await attentionOf(app, all.admin)).map(({ kind }) => kind)).not.toContain('SECRETS_UNREADABLE')
})

it('encrypts all secrets with the new JWT_SECRET, so that the previous one can be removed', async () => {
  await using all = await backedUp()
  const rotated = await all.restore({ JWT_SECRET: otherSecret, JWT_SECRET_PREVIOUS: all.app.config.JWT_SECRET })
  const read = async () => {
    const em = rotated.services.database.fork()
    const sealed: (string | undefined)[] = []
    for (const { table, column } of sealedColumns)
      sealed.push((await readRow<{ text: string }>(em, `select ${column} as text from ${table} where ${column} is not null`, []))?.text)
    return sealed
  }
  const before = await read()
  await resealSecrets(rotated.services)
  expect(rotated.lines.at(-1)).toContain('Secrets that were encrypted again with JWT_SECRET: 3.')
  const after = await read()
  for (const [index, text] of after.entries()) expect(text).not.toBe(before[index])
  await resealSecrets(rotated.services)
  expect(await read()).toEqual(after)
  await rotated.stop()
  await using app = await testApp({ sameDatabaseAs: rotated, config: { JWT_SECRET_PREVIOUS: undefined } })
  expect(await login(app, all.bob, { otp: nextCode(all) })).toMatchObject({ status: 200 })
  expect(await new Browser(app).signIn(all.stub, clara)).toBe('/')
  expect((await attentionOf(app, all.admin)).map(({ kind }) => kind)).not.toContain('SECRETS_UNREADABLE')
  await rotated[Symbol.asyncDispose]()
})

it('refuses passkeys and job tokens of the former SERVER_URL, and accepts the other ways to sign in', async () => {
  await using all = await backedUp()
  const SERVER_URL = 'http://pub.example.test'
  await using app = await all.restore({ SERVER_URL })
  await expectTokens(app, all)
  expect(await signInWith(app, all.passkey)).toMatchObject({ status: 401 })
  expect(await attentionOf(app, all.admin)).toContainEqual({
    kind: 'PASSKEYS_VOID',
    severity: 'WARNING',
    count: 1,
    text: `1 passkey is for another address than ${SERVER_URL} and no longer accepted. Their owners sign in another way and add new ones.`,
  })
  expect(await login(app, all.bob, { otp: nextCode(all) })).toMatchObject({ status: 200 })
  const browser = new Browser(app)
  const at = await browser.start()
  expect(at.searchParams.get('redirect_uri')).toBe(`${SERVER_URL}/auth/oidc/acme/callback`)
  expect(await browser.finish(all.stub, at, clara)).toBe(`${SERVER_URL}/`)
  // Also the token that the former server had verified, and that the restored database contains.
  for (const token of [all.jobToken, await all.issuer.token(all.app, githubClaims)])
    expect(await app.withToken(token).get('/api/packages/acme_ui')).toMatchObject({
      status: 401,
      body: { error: { message: `The token is for http://localhost:8080. Request one for the audience ${SERVER_URL} only.` } },
    })
  expect(await app.withToken(await all.issuer.token(app, githubClaims)).get('/api/packages/acme_ui')).toMatchObject({ status: 200 })
})
