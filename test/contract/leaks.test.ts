import { expect, it } from 'vitest'
import { audit } from '../../server/accounts/audit/service.ts'
import { User } from '../../server/accounts/users/entity.ts'
import { type TestApp, testApp } from '../app.ts'
import { codeFor } from '../support/oauth.ts'
import { cookieNames } from '../support/cookies.ts'

const names = cookieNames()

/** Returns the error of the leak check for an app in which `happen` ran, or "nothing". */
async function leakError(happen: (app: TestApp) => Promise<void>): Promise<string> {
  const app = await testApp()
  await happen(app)
  return app[Symbol.asyncDispose]().then(
    () => 'nothing',
    (error: unknown) => String(error),
  )
}

const storeInAuditLog = async ({ services }: TestApp, secret: string) => {
  const em = services.database.fork()
  audit(em, { kind: 'user.updated', actor: null, summary: `They said ${secret}` })
  await em.flush()
}

it('reports nothing when nothing leaks', async () => {
  expect(await leakError(async (app) => void (await (await app.member()).session()))).toBe('nothing')
})

it('finds a cookie in the log', async () => {
  const browse = async (app: TestApp) => app.services.log.info(`cookie ${(await (await app.member()).session()).cookies[names.session]}`)
  expect(await leakError(browse)).toContain('cookie in the log')
})

it('finds tokens from REST, GraphQL and the factories in the audit log', async () => {
  expect(await leakError(async (app) => storeInAuditLog(app, (await app.member()).secret ?? ''))).toContain('token in the database')
  const rest = async (app: TestApp) => storeInAuditLog(app, (await (await app.member()).post('/api/auth/keys', { name: 'ci' })).body.secret)
  expect(await leakError(rest)).toContain('secret in the database')
  const graphql = async (app: TestApp) => {
    const { body } = await (await app.member()).graphql('mutation { createToken(input: { name: "ci" }) { secret } }')
    await storeInAuditLog(app, body.data.createToken.secret)
  }
  expect(await leakError(graphql)).toContain('secret in the database')
})

it('finds passwords, invitations and codes in any table, also in lower case', async () => {
  const person = { email: 'ivy@example.com', displayName: 'Ivy' }
  const invite = async (app: TestApp) => {
    const { body } = await (await app.admin()).post('/api/admin/users', { ...person, mode: 'invite' })
    await storeInAuditLog(app, new URL(body.inviteUrl).pathname.split('/').at(-1) ?? '')
  }
  expect(await leakError(invite)).toContain('inviteUrl in the database')
  const generated = async (app: TestApp) => {
    const { body } = await (await app.admin()).post('/api/admin/users', person)
    await app.services.database.fork().nativeUpdate(User, { id: body.userId }, { displayName: body.generatedPassword.toLowerCase() })
  }
  expect(await leakError(generated)).toContain('generatedPassword in the database')
  const code = async (app: TestApp) => storeInAuditLog(app, (await codeFor(await (await app.member()).session())).code)
  expect(await leakError(code)).toContain('authorization code in the database')
})

it('learns secrets from requests over the network', async () => {
  const overNetwork = async (app: TestApp) => {
    const [url, { email }] = [await app.listen(), await app.member({ password: 'a password of hers' })]
    const body = JSON.stringify({ email, password: 'a password of hers' })
    const { status } = await fetch(`${url}/api/auth/login`, { method: 'POST', headers: { 'content-type': 'application/json' }, body })
    expect(status).toBe(200)
    app.services.log.info('typed: a password of hers')
  }
  expect(await leakError(overNetwork)).toContain('password in the log')
})
