import { expect, it } from 'vitest'
import { testApp } from '../app.ts'

const form = (fields: Record<string, string>) =>
  [new URLSearchParams(fields).toString(), { headers: { 'content-type': 'application/x-www-form-urlencoded' } }] as const

it.each([
  ['a form', (token: string) => form({ token, client_id: 'cli' })],
  ['a form without a client', (token: string) => form({ token })],
  ['a hint about the type of the token', (token: string) => form({ token, token_type_hint: 'refresh_token' })],
  ['JSON', (token: string) => [{ token, client_id: 'cli', token_type_hint: 'access_token' }] as const],
])('revokes a token with %s, and the tokens that were created with it', async (_what, request) => {
  await using app = await testApp()
  const alice = await app.member()
  const { body: child } = await alice.post('/api/auth/keys', { name: 'child' })
  expect(await app.anonymous.post('/oauth/revoke', ...request(alice.secret ?? ''))).toMatchObject({
    status: 200,
    headers: { 'cache-control': 'no-store' },
    body: '',
  })
  expect((await alice.get('/api/auth/me')).status).toBe(401)
  expect((await app.withToken(child.secret).get('/api/auth/me')).status).toBe(401)
  expect(await (await app.admin()).get('/api/admin/audit-log?kind=token.revoked')).toMatchObject({ body: { entries: [{ agent: null }] } })
})

it('answers the same for unknown, revoked and malformed tokens', async () => {
  await using app = await testApp()
  const alice = await app.member()
  const revoke = (token: string) => app.anonymous.post('/oauth/revoke', ...form({ token }))
  const known = await revoke(alice.secret ?? '')
  for (const token of [alice.secret ?? '', 'svc_pat_unknown', 'x', 'é'])
    expect(await revoke(token)).toMatchObject({ status: known.status, body: known.body })
})

it.each([
  ['no token', {}, 'invalid_request'],
  ['two tokens', { token: ['a', 'b'] }, 'invalid_request'],
  ['a token of another type', { token: 5 }, 'invalid_request'],
  ['another client', { token: 'x', client_id: 'other' }, 'invalid_client'],
])('rejects %s', async (_what, body, error) => {
  await using app = await testApp()
  const alice = await app.member()
  const given = 'token' in body && body.token === 'x' ? { ...body, token: alice.secret } : body
  expect(await app.anonymous.post('/oauth/revoke', given)).toMatchObject({ status: 400, body: { error } })
  expect((await alice.get('/api/auth/me')).status).toBe(200)
})

it('works whatever credential the request has', async () => {
  await using app = await testApp()
  const [alice, bob] = [await app.member(), await app.member()]
  expect((await app.withToken('svc_pat_wrong').post('/oauth/revoke', { token: alice.secret })).status).toBe(200)
  expect((await alice.get('/api/auth/me')).status).toBe(401)
  expect((await bob.get('/api/auth/me')).status).toBe(200)
})
