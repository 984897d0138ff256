import { expect, it } from 'vitest'
import { testApp } from '../app.ts'
import { codeFor } from '../support/oauth.ts'

type Given = Awaited<ReturnType<typeof codeFor>>

/** Requests that present a code but are refused before it can be exchanged. */
const refused: [string, string, (given: Given) => object][] = [
  ['no verifier', 'invalid_request', ({ code_verifier: _omitted, ...rest }) => rest],
  ['an empty verifier', 'invalid_request', (given) => ({ ...given, code_verifier: '' })],
  ['a malformed verifier', 'invalid_grant', (given) => ({ ...given, code_verifier: 'short' })],
  ['a wrong verifier', 'invalid_grant', (given) => ({ ...given, code_verifier: 'a'.repeat(43) })],
  ['two verifiers', 'invalid_request', (given) => ({ ...given, code_verifier: [given.code_verifier, 'x'] })],
  ['a verifier of another type', 'invalid_request', (given) => ({ ...given, code_verifier: 5 })],
  ['no redirect_uri', 'invalid_request', ({ redirect_uri: _omitted, ...rest }) => rest],
  ['another redirect_uri', 'invalid_grant', (given) => ({ ...given, redirect_uri: 'http://127.0.0.1:1/' })],
  ['another client', 'invalid_client', (given) => ({ ...given, client_id: 'other' })],
  ['two clients', 'invalid_request', (given) => ({ ...given, client_id: ['cli', 'cli'] })],
  ['no grant_type', 'invalid_request', ({ grant_type: _omitted, ...rest }) => rest],
  ['another grant_type', 'unsupported_grant_type', (given) => ({ ...given, grant_type: 'password' })],
  ['the code twice', 'invalid_request', (given) => ({ ...given, code: ['x', given.code] })],
]

it.each(refused)('spends a code that is presented with %s', async (_what, error, change) => {
  await using app = await testApp()
  const given = await codeFor(await (await app.member()).session())
  expect(await app.anonymous.post('/oauth/token', change(given))).toMatchObject({ status: 400, body: { error } })
  expect(await app.anonymous.post('/oauth/token', given)).toMatchObject({ status: 400, body: { error: 'invalid_grant' } })
})

it('revokes the token when its code is presented again without a verifier', async () => {
  await using app = await testApp()
  const { code_verifier: verifier, ...rest } = await codeFor(await (await app.member()).session())
  const { body } = await app.anonymous.post('/oauth/token', { ...rest, code_verifier: verifier })
  const client = app.withToken(body.access_token)
  expect((await client.get('/api/auth/me')).status).toBe(200)
  expect((await app.anonymous.post('/oauth/token', rest)).status).toBe(400)
  expect((await client.get('/api/auth/me')).status).toBe(401)
})
