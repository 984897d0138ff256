import { expect, it } from 'vitest'
import { routesOf } from '../../server/routes.ts'
import { testApp } from '../app.ts'
import { publish } from '../support/publish.ts'

/** The routes of a server without a mirror. */
const routes = routesOf({})

const noStore = { 'cache-control': 'private, no-store' }

it('prevents caching of all GraphQL answers', async () => {
  await using app = await testApp()
  const alice = await app.member()
  const session = await alice.session()
  for (const actor of [alice, session, app.anonymous, app.withToken('svc_pat_wrong')]) {
    for (const query of ['{ viewer { email } }', '{ nothing }', '{', 'mutation { logout }'])
      expect({ query, ...(await actor.graphql(query)) }).toMatchObject({ headers: noStore })
    const address = `/graphql?query=${encodeURIComponent('{ viewer { email } }')}`
    expect(await actor.get(address)).toMatchObject({ headers: noStore })
    expect(await actor.head(address)).toMatchObject({ headers: noStore })
    expect(await actor.put('/graphql')).toMatchObject({ status: 405, headers: noStore })
    expect(await actor.post('/graphql', '{', { headers: { 'content-type': 'application/json' } })).toMatchObject({ headers: noStore })
  }
})

it('prevents shared caches from storing answers for signed-in users, on every endpoint', async () => {
  await using app = await testApp()
  const owner = await app.owner()
  await publish(owner, { name: 'acme', version: '1.0.0' })
  const values: Record<string, string> = { pkg: 'acme', version: '1.0.0', file: 'acme-1.0.0.tar.gz', userId: owner.id, kind: 'privacy' }
  const reads = routes.filter(({ method }) => method === 'GET')
  const said = new Map<string, unknown>()
  for (const { path } of reads) {
    const answer = await owner.get(path.replace(/:(\w+)/g, (_match, name: string) => values[name] ?? 'x'))
    said.set(`${path} ${answer.status}`, answer.headers['cache-control'])
  }
  expect(said.get('/api/auth/me 200')).toBe('private, no-store')
  expect([...said].filter(([, header]) => !/^private, |^no-store$/.test(String(header)))).toEqual([])
  for (const path of ['/api/packages/acme', '/api/archives/acme-1.0.0.tar.gz'])
    expect((await owner.get(path)).headers.vary).toContain('authorization, cookie')
  expect(await owner.get('/api/packages/missing')).toMatchObject({ status: 404, headers: noStore })
  expect(await app.anonymous.get('/api/auth/me')).toMatchObject({ status: 401, headers: noStore })
})

it('prevents caching of answers that set cookies', async () => {
  await using app = await testApp()
  const alice = await app.member()
  const login = await app.anonymous.post('/api/auth/login', { email: alice.email, password: 'correct horse' })
  expect(login).toMatchObject({ status: 200, headers: { ...noStore, 'set-cookie': expect.anything() } })
  const logout = await (await alice.session()).post('/api/auth/logout')
  expect(logout).toMatchObject({ status: 200, headers: { ...noStore, 'set-cookie': expect.anything() } })
  const mutation = 'mutation ($email: String!) { login(input: { email: $email, password: "correct horse" }) { user { email } } }'
  const graphql = await app.anonymous.graphql(mutation, { email: alice.email })
  expect(graphql).toMatchObject({ status: 200, headers: { ...noStore, 'set-cookie': expect.anything() } })
})

it('sends Strict-Transport-Security to clients that use https', async () => {
  const https = { 'strict-transport-security': 'max-age=31536000', 'cross-origin-opener-policy': 'same-origin' }
  await using secure = await testApp({ env: { SERVER_URL: 'https://pub.example.com' } })
  for (const path of ['/', '/api/v1/version', '/api/nothing', '/graphql?query={server{version}}'])
    expect(await secure.anonymous.get(path)).toMatchObject({ headers: https })
  await using plain = await testApp()
  const proxied = { ip: '127.0.0.1', headers: { 'x-forwarded-proto': 'https' } }
  expect(await plain.anonymous.get('/', proxied)).toMatchObject({ headers: https })
  for (const options of [{}, { ...proxied, ip: '203.0.113.9' }])
    for (const name of Object.keys(https)) expect((await plain.anonymous.get('/', options)).headers).not.toHaveProperty(name)
})
