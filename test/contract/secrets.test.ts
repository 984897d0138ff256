import { expect, it } from 'vitest'
import { makeOwner, resetPasswordByEmail } from '../../server/operations/admin/people.ts'
import { sha256 } from '../../server/platform/http/keys.ts'
import { announceSetupCode } from '../../server/accounts/setup/service.ts'
import type { Actor } from '../actor.ts'
import { type TestApp, testApp } from '../app.ts'
import { dumpDatabase } from '../support/database-dump.ts'
import { codeFor } from '../support/oauth.ts'

type Secrets = Map<string, string>

const passwordOf = (who: string) => `${who} has a long password`

/** Creates the owner with the setup code from the log and removes that line from the recorded log, because the code belongs there. */
async function setUp(app: TestApp, secrets: Secrets): Promise<Actor> {
  await announceSetupCode(app.services)
  const line = app.lines.findIndex((text) => text.startsWith('Setup code: '))
  const [code = ''] = app.lines.splice(line, 1).map((text) => text.slice('Setup code: '.length).trim())
  secrets.set('setup code', code).set('owner password', passwordOf('owner'))
  const owner = { email: 'owner@example.com', displayName: 'Olive Owner', password: passwordOf('owner') }
  const { status, body } = await app.anonymous.post('/api/setup/verify', { code })
  expect(status).toBe(200)
  secrets.set('setup token', body.setupToken)
  expect((await app.anonymous.post('/api/setup/complete', { ...owner, setupToken: body.setupToken })).status).toBe(201)
  return signIn(app, secrets, owner.email, owner.password)
}

async function signIn(app: TestApp, secrets: Secrets, email: string, password: string): Promise<Actor> {
  const who = app.someone({ id: '', email, displayName: '' })
  const browser = await who.session(password)
  for (const [name, value] of Object.entries(browser.cookies)) secrets.set(`${name} of ${email}`, value)
  return browser
}

/** Sets passwords by invitation, one-time password, signup, change and reset. */
async function setAllPasswords(app: TestApp, owner: Actor, secrets: Secrets): Promise<Actor> {
  const { body: invited } = await owner.post('/api/admin/users', {
    email: 'ivy@example.com',
    displayName: 'Ivy',
    mode: 'invite',
    role: 'admin',
  })
  const invite = new URL(invited.inviteUrl).pathname.split('/').at(-1) ?? ''
  secrets.set('invite', invite).set('password of an invited person', passwordOf('ivy'))
  expect((await app.anonymous.get(`/invite/${invite}`)).status).toBeLessThan(500)
  expect((await app.anonymous.get(`/api/invites/${invite}`)).status).toBe(200)
  expect((await app.anonymous.post(`/api/invites/${invite}/accept`, { password: passwordOf('ivy') })).status).toBe(200)
  const { body: made } = await owner.post('/api/admin/users', { email: 'otto@example.com', displayName: 'Otto', role: 'member' })
  secrets.set('generated password', made.generatedPassword).set('chosen password', passwordOf('otto'))
  const otto = await signIn(app, secrets, 'otto@example.com', made.generatedPassword)
  expect(
    (await otto.post('/api/auth/change-password', { currentPassword: made.generatedPassword, newPassword: passwordOf('otto') })).status,
  ).toBe(200)
  const { body: reset } = await owner.post(`/api/admin/users/${made.userId}/reset-password`)
  expect((await owner.post(`/api/admin/users/${made.userId}/reset-password`, { password: passwordOf('given') })).status).toBe(200)
  secrets.set('reset password', reset.generatedPassword).set('password given at a reset', passwordOf('given'))
  secrets.set('password of a signup', passwordOf('sue'))
  expect(
    (await app.anonymous.post('/api/auth/signup', { email: 'sue@example.com', displayName: 'Sue', password: passwordOf('sue') })).status,
  ).toBe(202)
  return signIn(app, secrets, 'ivy@example.com', passwordOf('ivy'))
}

/** Creates tokens by REST, GraphQL and OAuth. */
async function issueTokens(app: TestApp, ivy: Actor, secrets: Secrets): Promise<string> {
  const { body: rest } = await ivy.post('/api/auth/keys', { name: 'ci', scopes: ['read'] })
  const { body: graphql } = await ivy.graphql('mutation { createToken(input: { name: "other" }) { secret } }')
  const exchange = await codeFor(ivy)
  const { body: oauth } = await app.anonymous.post('/oauth/token', exchange)
  secrets.set('token', rest.secret).set('token over GraphQL', graphql.data.createToken.secret).set('token by OAuth', oauth.access_token)
  secrets.set('OAuth code', exchange.code).set('PKCE verifier', exchange.code_verifier)
  expect(await app.anonymous.post('/oauth/token', exchange)).toMatchObject({ status: 400 })
  return rest.secret
}

/** Sends secrets in wrong fields, as users do by mistake. */
async function sendSecretsInWrongFields(app: TestApp, token: string): Promise<void> {
  const lost = app.withToken(token)
  const places = [
    `/api/packages/${token}`,
    `/api/search?q=${token}`,
    `/api/auth/keys/${token}`,
    `/${token}`,
    `/api/admin/audit-log?actor=${token}`,
    `/api/users/${token}/avatar`,
  ]
  for (const url of places) expect((await lost.get(url)).status).toBeLessThan(500)
  await lost.send('DELETE', `/api/auth/keys/${token}`)
  await lost.graphql('query ($name: String!) { package(name: $name) { name } }', { name: token })
  await app.anonymous.post('/api/auth/login', { email: passwordOf('owner'), password: token })
  await app.anonymous.post('/api/auth/login', { email: 'owner@example.com', password: `${passwordOf('owner')}x` })
  await app.anonymous.send('POST', '/api/auth/login', `{"email": "owner@example.com", "password": "${passwordOf('owner')}"`, {
    headers: { 'content-type': 'application/json' },
  })
}

it('stores no secret in the log, the audit log or the database', async () => {
  await using app = await testApp({ setUp: false, env: { SIGNUP_ENABLED: 'true' } })
  const secrets: Secrets = new Map([['JWT_SECRET', app.config.JWT_SECRET]])
  const owner = await setUp(app, secrets)
  const ivy = await setAllPasswords(app, owner, secrets)
  const token = await issueTokens(app, ivy, secrets)
  await sendSecretsInWrongFields(app, token)
  const operation = { em: app.services.database.fork(), config: app.config }
  secrets.set('password by the operator', /: (\S+)\n/.exec((await resetPasswordByEmail(operation, 'sue@example.com')).text)?.[1] ?? '')
  await makeOwner(operation, 'ivy@example.com')
  const audited = [await ivy.get('/api/admin/audit-log'), await ivy.get('/api/admin/audit-log', { headers: { accept: 'text/csv' } })]
  const places = {
    log: app.lines.join(''),
    'audit log': audited.map(({ raw }) => raw.toString()).join('\n'),
    database: (await dumpDatabase(app)).toString('latin1'),
  }

  expect(places.log).toContain('POST /api/auth/login 200')
  expect(places['audit log']).toContain('The operator reset the password of Sue')
  expect(places.database).toContain(sha256(token))
  expect([...secrets].filter(([, secret]) => secret.length < 12)).toEqual([])
  expect(secrets.size).toBeGreaterThanOrEqual(20)
  for (const [place, text] of Object.entries(places)) {
    // Token lists show the first characters of a token so that users can distinguish them.
    const found = [...secrets].filter(([, secret]) => text.toLowerCase().includes(secret.replace(/^svc_pat_.{4}/, '').toLowerCase()))
    expect(
      found.map(([name]) => name),
      place,
    ).toEqual([])
  }
})
