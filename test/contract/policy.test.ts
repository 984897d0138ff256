import { afterAll, beforeAll, expect, it } from 'vitest'
import { routeGroupsOf } from '../../server/routes.ts'
import { schema } from '../../server/schema.ts'
import { type Actor } from '../actor.ts'
import { testApp, type TestApp } from '../app.ts'
import { graphql } from '../support/policy-graphql.ts'
import { type Access, mirrorRest, rest } from '../support/policy-rest.ts'
import { bodyFor, fieldQuery, pathFor } from '../support/minimal-request.ts'

// No server listens on this port.
const upstream = { UPSTREAM_URL: 'http://127.0.0.1:9' }
const routes = routeGroupsOf(upstream).flatMap((group) => group.routes)
const policies = { ...rest, ...mirrorRest }
/** Refuses to publish to the mirror, for all callers. */
const rejectsAll = 'GET /mirror/api/packages/versions/new'

type Caller = { name: string; actor: Actor; allowed: readonly Access[] }
const known: Access[] = ['open', 'identity', 'signedIn']

async function callers(app: TestApp): Promise<Caller[]> {
  const [viewer, member, admin, owner] = [await app.viewer(), await app.member(), await app.admin(), await app.owner()]
  const scoped = async (actor: Actor, scope: 'read' | 'write' | 'admin') => app.withScopes(actor, [scope])
  return [
    { name: 'anonymous', actor: app.anonymous, allowed: ['open'] },
    { name: 'a wrong token', actor: app.withToken('svc_pat_wrong'), allowed: ['open'] },
    { name: 'viewer, session', actor: await viewer.session(), allowed: [...known, 'session', 'ownAccount', 'read'] },
    { name: 'viewer, token', actor: viewer, allowed: [...known, 'read'] },
    { name: 'member, token', actor: member, allowed: [...known, 'ownAccount', 'read', 'write'] },
    { name: 'member, session', actor: await (await app.member()).session(), allowed: [...known, 'session', 'ownAccount', 'read', 'write'] },
    { name: 'admin, token to read', actor: await scoped(admin, 'read'), allowed: [...known, 'read'] },
    { name: 'admin, token to write', actor: await scoped(admin, 'write'), allowed: [...known, 'ownAccount', 'read', 'write'] },
    {
      name: 'admin, token to administer',
      actor: await scoped(admin, 'admin'),
      allowed: [...known, 'ownAccount', 'read', 'write', 'admin'],
    },
    {
      name: 'admin, session',
      actor: await (await app.admin()).session(),
      allowed: [...known, 'session', 'ownAccount', 'read', 'write', 'admin'],
    },
    // Runs before the tokens of the owner are created, because one of the endpoints ends all other sessions.
    {
      name: 'owner, session',
      actor: await owner.session(),
      allowed: [...known, 'session', 'ownAccount', 'read', 'write', 'admin', 'owner'],
    },
    { name: 'owner, token to write', actor: await scoped(owner, 'write'), allowed: [...known, 'ownAccount', 'read', 'write'] },
    { name: 'owner, token', actor: owner, allowed: [...known, 'ownAccount', 'read', 'write', 'admin', 'owner'] },
  ]
}

/** Reads change nothing and share one set of callers. Changes use other callers and another server. */
let changed: TestApp
let reading: { app: TestApp; everybody: Caller[] }
beforeAll(async () => {
  const env = { SIGNUP_ENABLED: 'true', PUBLIC_PACKAGES_ENABLED: 'true', ...upstream }
  changed = await testApp({ env })
  const app = await testApp({ env })
  reading = { app, everybody: await callers(app) }
})
afterAll(() => Promise.all([changed, reading.app].map((app) => app[Symbol.asyncDispose]())))
const worldFor = async (isRead: boolean) => (isRead ? reading : { app: changed, everybody: await reusableCallers() })

let changing: Caller[] = []
/** Returns the callers of the previous change, or new ones if it revoked their credentials. */
async function reusableCallers(): Promise<Caller[]> {
  const answers = await Promise.all(changing.filter(({ name }) => !unauthenticated.has(name)).map(({ actor }) => actor.get('/api/auth/me')))
  if (changing.length === 0 || answers.some(({ status }) => status !== 200)) changing = await callers(changed)
  return changing
}

const unauthenticated = new Set(['anonymous', 'a wrong token'])
const refusalOf = (name: string) => (unauthenticated.has(name) ? 'MissingAuthentication' : 'InsufficientPermissions')

/**
 * Each row tries all callers on SQLite. Access is decided before any statement that differs between databases, so that on PostgreSQL each row tries one
 * caller, in turn.
 */
const triedIn = (row: number, everybody: Caller[]): Caller[] =>
  process.env.TEST_DB === 'postgres' ? everybody.filter((_, index) => index === row % everybody.length) : everybody
const rowsOf = (table: Record<string, Access>) => Object.entries(table).map(([name, access], row) => [name, access, row] as const)

it('lists every REST endpoint in the policy table', () => {
  expect(routes.map(({ method, path }) => `${method} ${path}`).toSorted()).toEqual([...Object.keys(policies), rejectsAll].toSorted())
})

it('lists every GraphQL root field in the policy table', () => {
  const fields = [schema.getQueryType(), schema.getMutationType(), schema.getSubscriptionType()].flatMap((type) =>
    Object.keys(type?.getFields() ?? {}).map((field) => `${type?.name}.${field}`),
  )
  expect(fields.toSorted()).toEqual(Object.keys(graphql).toSorted())
})

it.each(rowsOf(policies))('restricts %s to %s', async (endpoint, access, row) => {
  const [method = '', path = ''] = endpoint.split(' ')
  const route = routes.find((one) => one.method === method && one.path === path)
  const { app, everybody } = await worldFor(method === 'GET')
  for (const { name, actor, allowed } of triedIn(row, everybody)) {
    const answer = await actor.send(method as 'GET', pathFor(path), route && bodyFor(schema, route), { ip: app.address() })
    const refused = answer.status === 401 || (answer.status === 403 && answer.body.error?.code === 'InsufficientPermissions')
    // A login with a wrong password answers 401 for another reason.
    const own = endpoint === 'POST /api/auth/login' && answer.status === 401
    // An invalid token is refused everywhere except where credentials are ignored.
    const useless = name === 'a wrong token' && !route?.anyCredential && !own
    expect({ name, refused: refused && !own, status: answer.status }).toMatchObject({ name, refused: useless || !allowed.includes(access) })
    if (refused && !own) expect({ name, code: answer.body.error.code }).toEqual({ name, code: refusalOf(name) })
    expect(answer.status).not.toBe(500)
  }
})

it('refuses everyone to publish to the mirror', async () => {
  for (const { name, actor } of reading.everybody) {
    const { status, body } = await actor.get('/mirror/api/packages/versions/new')
    const isUseless = name === 'a wrong token'
    expect({ name, status, code: body.error.code }).toEqual({
      name,
      status: isUseless ? 401 : 403,
      code: isUseless ? 'MissingAuthentication' : 'InsufficientPermissions',
    })
  }
})

it.each(rowsOf(graphql))('restricts %s to %s', async (field, access, row) => {
  const { app, everybody } = await worldFor(!field.startsWith('Mutation.'))
  // Subscriptions end with an error, because what they watch does not exist.
  const headers: Record<string, string> = field.startsWith('Subscription.') ? { accept: 'text/event-stream' } : {}
  for (const { name, actor, allowed } of triedIn(row, everybody)) {
    const { body } = await actor.graphql(fieldQuery(schema, field), {}, { ip: app.address(), headers })
    const events = typeof body === 'string' ? /^data: *(\{.*\})$/m.exec(body)?.[1] : undefined
    const { errors } = events === undefined ? body : JSON.parse(events)
    if (events !== undefined) expect(errors).toHaveLength(1)
    const code: string | undefined = errors?.[0].extensions.code
    const own = field === 'Mutation.login' && code === 'MissingAuthentication'
    const refused = (code === 'MissingAuthentication' || code === 'InsufficientPermissions') && !own
    const useless = name === 'a wrong token' && !own
    expect({ name, code, refused }).toMatchObject({ name, refused: useless || !allowed.includes(access) })
    if (refused) expect({ name, code }).toEqual({ name, code: refusalOf(name) })
    expect(code).not.toBe('InternalError')
  }
})
