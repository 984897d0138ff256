import { getNamedType, isEnumType, isInputObjectType, isListType, isNonNullType } from 'graphql'
import { afterAll, beforeAll, expect, it } from 'vitest'
import type { Route } from '../../server/platform/rest/route.ts'
import { routesOf } from '../../server/routes.ts'
import { schema } from '../../server/schema.ts'
import type { Actor } from '../actor.ts'
import { testApp, type TestApp } from '../app.ts'
import { bodyFor, pathFor, settledFields } from '../support/minimal-request.ts'

/** The routes of a server without a mirror. */
const routes = routesOf({})

let app: TestApp
/** A server without an owner, because the setup endpoints do not exist once the setup is complete. */
let fresh: TestApp
let owner: Actor
beforeAll(async () => {
  // No server listens on the port of UPSTREAM_URL.
  app = await testApp({ env: { SIGNUP_ENABLED: 'true', UPSTREAM_URL: 'http://127.0.0.1:9' } })
  fresh = await testApp({ setUp: false })
  owner = await (await app.owner()).session()
})
afterAll(() => Promise.all([app, fresh].map((one) => one[Symbol.asyncDispose]())))

const withBody = routes.filter((route): route is Route => route.kind === 'operation' && bodyFor(schema, route) !== undefined)
const inputOf = (route: Route) => {
  const type = schema.getType(/\$input: (\w+)!/.exec(route.operation)?.[1] ?? '')
  if (!isInputObjectType(type)) throw new Error(`${route.path} has no input`)
  const settled = settledFields(route)
  return Object.values(type.getFields()).filter(({ name, extensions }) => !settled.includes(name) && !extensions.isGraphqlOnly)
}
const restName = (route: Route, name: string) => Object.entries(route.names ?? {}).find(([, inner]) => inner === name)?.[0] ?? name

/** Texts longer than the limit of the few fields that accept long texts. */
const overlongTexts: Record<string, number> = { markdown: 262_145 }

/** Returns all users, tokens, sessions and invitations. Audit entries are excluded because failed logins are recorded. */
async function accountState({ services }: TestApp) {
  const { reads } = services.database
  const tables = [
    'users',
    'access_tokens',
    'sessions',
    'invites',
    'oauth_requests',
    'packages',
    'legal_documents',
    'publishers',
    'publisher_members',
    'publisher_claims',
  ]
  const rows = await Promise.all(tables.map((table) => reads.all(`select * from ${table} order by 1`)))
  return JSON.stringify(rows.flat().map(({ last_used_at: _used, ...row }) => row))
}

const serverOf = ({ path }: Route) => (path.startsWith('/api/setup/') ? fresh : app)
const send = (route: Route, body: unknown, headers: Record<string, string> = {}) =>
  (serverOf(route) === app ? owner : fresh.anonymous).send(route.method, pathFor(route.path), body, { ip: app.address(), headers })

it.each(withBody.map((route) => [`${route.method} ${route.path}`, route] as const))(
  'refuses invalid input, names the field and changes nothing: %s',
  async (_name, route) => {
    const before = await accountState(serverOf(route))
    const fine = bodyFor(schema, route) as Record<string, unknown>
    const json = { 'content-type': 'application/json' }
    expect(await send(route, JSON.stringify(fine), { 'content-type': 'text/plain' })).toMatchObject({
      status: 415,
      body: { error: { code: 'InvalidInput' } },
    })
    expect(await send(route, fine, { 'content-encoding': 'gzip' })).toMatchObject({
      status: 415,
      body: { error: { code: 'InvalidInput', message: 'The body has the Content-Encoding gzip. Send it without one.' } },
    })
    expect(await send(route, JSON.stringify(fine), { 'content-type': 'application/json; charset=iso-8859-1' })).toMatchObject({
      status: 415,
      body: { error: { code: 'InvalidInput', message: 'Send the body as UTF-8, not iso-8859-1.' } },
    })
    expect(await send(route, '{"a": ', json)).toMatchObject({ status: 400, body: { error: { code: 'InvalidInput' } } })
    expect(await send(route, '[]', json)).toMatchObject({ status: 400, body: { error: { code: 'InvalidInput' } } })
    expect(await send(route, { ...fine, padding: 'x'.repeat(1_100_000) })).toMatchObject({
      status: 413,
      body: { error: { code: 'InvalidInput' } },
    })
    for (const field of inputOf(route)) {
      const name = restName(route, field.name)
      const named = { status: 400, body: { error: { code: 'InvalidInput', message: expect.stringContaining(name) } } }
      expect({ name, ...(await send(route, `{"${name}": 1, "${name}": 2}`, json)) }).toMatchObject(named)
      const otherType = getNamedType(field.type).name === 'JSON' ? 'a text' : { an: 'object' }
      expect({ name, ...(await send(route, { ...fine, [name]: otherType })) }).toMatchObject(
        isListType(field.type) ? { status: 400 } : named,
      )
      if (isNonNullType(field.type)) {
        expect({ name, ...(await send(route, { ...fine, [name]: undefined })) }).toMatchObject(named)
        expect({ name, ...(await send(route, { ...fine, [name]: null })) }).toMatchObject(named)
      }
      const type = getNamedType(field.type)
      if (String(type) === 'String' && !isListType(field.type))
        expect({ name, ...(await send(route, { ...fine, [name]: 'x'.repeat(overlongTexts[name] ?? 5000) })) }).toMatchObject(named)
      if (isEnumType(type)) expect((await send(route, { ...fine, [name]: 'nonsense' })).status).toBe(400)
    }
    expect(await accountState(serverOf(route))).toBe(before)
  },
)

it('ignores a role from callers who may not assign one', async () => {
  const alice = await app.member()
  expect(await alice.patch('/api/auth/profile', { displayName: 'Alice', role: 'owner', isActive: false })).toMatchObject({
    status: 200,
    body: { role: 'member', isActive: true },
  })
  const body = { email: 'climber@example.com', displayName: 'C', password: 'a fine password', role: 'owner' }
  expect(await app.anonymous.post('/api/auth/signup', body, { ip: app.address() })).toMatchObject({ status: 202 })
  const found = await app.services.database.reads.get<{ role: string }>("select role from users where email_key = 'climber@example.com'")
  expect(found?.role).toBe('member')
})

const lists = Object.values(schema.getQueryType()?.getFields() ?? {}).filter(({ args }) => args.some(({ name }) => name === 'offset'))

it.each(lists.map(({ name }) => name))('refuses negative offsets and page sizes of zero or too large: %s', async (name) => {
  for (const [args, field] of [
    ['first: 1, offset: -1', 'offset'],
    ['first: 1, offset: -2147483648', 'offset'],
    ['first: 0', 'first'],
    ['first: -1', 'first'],
    ['first: 101', 'first'],
  ]) {
    const { body } = await owner.graphql(`{ ${name}(${args}) { edges { cursor } } }`, {}, { ip: app.address() })
    expect({ args, errors: body.errors }).toMatchObject({ args, errors: [{ extensions: { code: 'InvalidInput', field } }] })
  }
  const { body } = await owner.graphql(`{ ${name}(first: 1, offset: 2147483647) { edges { cursor } } }`, {}, { ip: app.address() })
  expect(body).toEqual({ data: { [name]: { edges: [] } }, extensions: { cost: expect.any(Number) } })
})
