import { once } from 'node:events'
import { request } from 'node:http'
import { json as readJson } from 'node:stream/consumers'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { schema } from '../../server/schema.ts'
import type { Route } from '../../server/platform/rest/route.ts'
import { routesOf } from '../../server/routes.ts'
import type { Actor } from '../actor.ts'
import { testApp, type TestApp } from '../app.ts'
import { bodyFor, pathFor } from '../support/minimal-request.ts'
import { rest } from '../support/policy-rest.ts'

/** The routes of a server without a mirror. */
const routes = routesOf({})

let app: TestApp
/** A server without an owner, because the setup endpoints exist only until there is one. */
let fresh: TestApp
let alice: Actor
beforeAll(async () => {
  app = await testApp({ env: { SIGNUP_ENABLED: 'true' } })
  fresh = await testApp({ setUp: false })
  alice = await app.member()
})
afterAll(() => Promise.all([app, fresh].map((one) => one[Symbol.asyncDispose]())))

const json = { 'content-type': 'application/json' }
const withBody = routes.filter((route): route is Route => route.kind === 'operation' && bodyFor(schema, route) !== undefined)
const isOpen = ({ method, path }: Route) => rest[`${method} ${path}`] === 'open'
const titled = (list: Route[]) => list.map((route) => [`${route.method} ${route.path}`, route] as const)
const invalid = (message: unknown) => ({ status: 400, body: { error: { code: 'InvalidInput', message } } })

it.each(titled(withBody.filter((route) => !isOpen(route))))('requires credentials before reading the body: %s', async (_title, route) => {
  const send = (body: string) => app.anonymous.send(route.method, pathFor(route.path), body, { headers: json, ip: app.address() })
  for (const body of ['{"a": ', `["${'x'.repeat(1_100_000)}"]`])
    expect(await send(body)).toMatchObject({ status: 401, body: { error: { code: 'MissingAuthentication' } } })
})

it.each(titled(withBody.filter(isOpen)))(
  'counts toward the rate limit before reading the body of at most 64 KiB: %s',
  async (_title, route) => {
    const [actor, ip] = route.path.startsWith('/api/setup/') ? [fresh.anonymous, fresh.address()] : [app.anonymous, app.address()]
    const send = (body: string) => actor.send(route.method, pathFor(route.path), body, { headers: json, ip })
    expect(await send(`["${'x'.repeat(64 * 1024)}"]`)).toMatchObject({ status: 413, body: { error: { code: 'InvalidInput' } } })
    let answer = await send('{"a": ')
    expect(answer).toMatchObject(invalid(expect.stringMatching(/^The body is not valid JSON/)))
    for (let sent = 2; answer.status !== 429; sent++) {
      expect(sent).toBeLessThan(302)
      answer = await send('{"a": ')
    }
    expect(answer).toMatchObject({ body: { error: { code: 'RateLimitExceeded' } } })
  },
)

it('counts a token request toward the rate limit before reading the form', async () => {
  const ip = app.address()
  const send = () => app.anonymous.send('POST', '/oauth/token', '{"a": ', { headers: json, ip })
  for (let sent = 0; sent < 30; sent++) expect(await send()).toMatchObject({ status: 400, body: { error: 'invalid_request' } })
  expect(await send()).toMatchObject({ status: 429, body: { error: 'temporarily_unavailable' } })
})

it('does not execute a change for a token that was revoked while the body arrived', async () => {
  const [bob, url] = [await app.member(), await app.listen()]
  const body = JSON.stringify({ displayName: 'Too Late' })
  const headers = { ...json, authorization: `Bearer ${bob.secret}`, 'content-length': body.length, expect: '100-continue' }
  const sent = request(`${url}/api/auth/profile`, { method: 'PATCH', headers })
  sent.write(body.slice(0, 5))
  await once(sent, 'continue')
  const { keys } = (await bob.get('/api/auth/keys')).body
  expect((await bob.delete(`/api/auth/keys/${keys[0].id}`)).status).toBe(200)
  sent.end(body.slice(5))
  const [answer] = await once(sent, 'response')
  expect({ status: answer.statusCode, body: await readJson(answer) }).toMatchObject({
    status: 401,
    body: { error: { code: 'MissingAuthentication' } },
  })
})

it('accepts at most 10,000 values in a body and checks that before parsing', async () => {
  const send = (list: string) => alice.send('PATCH', '/api/auth/profile', `{"displayName": "Alice", "a": [${list}]}`, { headers: json })
  const many = (count: number) => Array.from({ length: count }, () => '1').join(',')
  expect(await send(many(9997))).toMatchObject({ status: 200 })
  for (const list of [many(9998), '{},'.repeat(330_000), `${many(9998)}, and no JSON`])
    expect(await send(list)).toMatchObject(invalid('The JSON has more than 10000 values.'))
  const query = await alice.graphql('{ __typename }', { unused: Array.from({ length: 10_000 }, () => 1) })
  expect(query).toMatchObject({ status: 400, body: { errors: [{ message: 'The JSON has more than 10000 values.' }] } })
})

it.each([
  ['{"displayName":"a","displayName":"b"}', 'displayName'],
  ['{"displayName":"a", "display\\u004eame" : "b"}', 'displayName'],
  ['{"displayName":"a","other":{"x":1,"y":[{"z":1}],"x":2}}', 'x'],
  ['{"displayName":"a","other":[{"z":1},{"z":1,"z":2}]}', 'z'],
  ['{"displayName":"\\\\\\"","displayName":"b"}', 'displayName'],
  ['{"__proto__":1,"displayName":"a","__proto__":2}', '__proto__'],
  [`{"displayName":"${'\\"'.repeat(400_000)}","displayName":"b"}`, 'displayName'],
])('refuses duplicate keys in an object: %.60s', async (body, key) => {
  expect(await alice.send('PATCH', '/api/auth/profile', body, { headers: json })).toMatchObject(
    invalid(`${key}: duplicate key. Send it once.`),
  )
})

it.each([
  '{"displayName":"a","other":[{"displayName":1},{"displayName":2}],"more":{"displayName":3}}',
  '{"displayName":"\\"displayName\\":","other":"displayName\\\\"}',
  '{"displayName":"a","other":"{{[[,,","Displayname":"b"}',
])('accepts keys that are only similar: %s', async (body) => {
  expect(await alice.send('PATCH', '/api/auth/profile', body, { headers: json })).toMatchObject({ status: 200 })
})

it.each(['{"displayName": "a', '{"displayName: "a"}', '{"displayName": "a"}}', '"\\', '{"\\x": 1}', ']]', '{"a" "b": 1}'])(
  'refuses invalid JSON: %s',
  async (body) => {
    expect(await alice.send('PATCH', '/api/auth/profile', body, { headers: json })).toMatchObject(
      invalid(expect.stringMatching(/^The body is not valid JSON/)),
    )
  },
)
