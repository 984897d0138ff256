import { type OperationDefinitionNode, parse } from 'graphql'
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

type Operation = Extract<(typeof routes)[number], { kind: 'operation' }>

/** Returns the root fields of the operation of an endpoint, such as `Query.me`. */
function rootFieldsOf({ operation }: Operation): string[] {
  const definition = parse(operation).definitions.find((one): one is OperationDefinitionNode => one.kind === 'OperationDefinition')
  const type = definition?.operation === 'mutation' ? 'Mutation' : 'Query'
  return (definition?.selectionSet.selections ?? []).map((one) => `${type}.${one.kind === 'Field' ? one.name.value : one.kind}`)
}

/** Reports whether the endpoint identifies callers as GraphQL does, and runs one root field of the same access, whose row tries all callers. */
const isLikeGraphql = (route: (typeof routes)[number]): boolean => {
  if (route.kind !== 'operation' || route.anyCredential || route.identifyByKey || route.alternatives || route.changesWith) return false
  const [field = '', ...others] = rootFieldsOf(route)
  return others.length === 0 && graphql[field] === policies[`${route.method} ${route.path}`]
}
const likeGraphql = new Set(routes.filter(isLikeGraphql).map(({ method, path }) => `${method} ${path}`))

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
/** Returns the server for a row and the callers that it tries there. */
async function worldFor(isRead: boolean, row: Row): Promise<{ app: TestApp; tried: Caller[] }> {
  const choose = (everybody: Caller[]) => chooseCallers(everybody, row)
  if (isRead) return { app: reading.app, tried: choose(reading.everybody) }
  return { app: changed, tried: await reusableCallers(choose) }
}

let changing: Caller[] = []
/** Returns the chosen callers of the previous changes, or new ones if a change revoked their credentials. */
async function reusableCallers(choose: (everybody: Caller[]) => Caller[]): Promise<Caller[]> {
  const known = choose(changing).filter(({ name }) => !unauthenticated.has(name))
  const answers = await Promise.all(known.map(({ actor }) => actor.get('/api/auth/me')))
  if (changing.length === 0 || answers.some(({ status }) => status !== 200)) changing = await callers(changed)
  return choose(changing)
}

const unauthenticated = new Set(['anonymous', 'a wrong token'])
const refusalOf = (name: string) => (unauthenticated.has(name) ? 'MissingAuthentication' : 'InsufficientPermissions')

/** Sign-ins answer 401 for another reason: a wrong password or passkey. */
const signIns = new Set(['POST /api/auth/login', 'POST /api/auth/passkey/login', 'Mutation.login', 'Mutation.signInWithPasskey'])

type Row = { name: string; access: Access; index: number }
const rowsOf = (table: Record<string, Access>) => Object.entries(table).map(([name, access], index) => ({ name, access, index }))

/**
 * Each row tries all callers on SQLite; rows of endpoints like GraphQL try one with access and one without, in turn. Access is decided before any
 * statement that differs between databases, so that on PostgreSQL each row tries one caller with access, whose request runs the statements.
 */
function chooseCallers(everybody: Caller[], { name: row, access, index }: Row): Caller[] {
  const isPermitted = ({ name, allowed }: Caller) => allowed.includes(access) && name !== 'a wrong token'
  const inTurn = (callers: Caller[]) => callers.filter((_, at) => at === index % callers.length)
  const permitted = inTurn(everybody.filter(isPermitted))
  if (process.env.TEST_DB === 'postgres') return permitted
  return likeGraphql.has(row) ? [...permitted, ...inTurn(everybody.filter((caller) => !isPermitted(caller)))] : everybody
}

it('lists every REST endpoint in the policy table', () => {
  expect(routes.map(({ method, path }) => `${method} ${path}`).toSorted()).toEqual([...Object.keys(policies), rejectsAll].toSorted())
})

it('gives endpoints the access of the root field of their operation, except where the row tries all callers', () => {
  const others = routes.filter((route) => route.kind === 'operation' && !isLikeGraphql(route))
  expect(others.map(({ method, path }) => `${method} ${path}`).toSorted()).toEqual([
    'GET /api/account/likes/:pkg',
    'GET /api/admin/audit-log',
    'GET /api/admin/oidc-providers',
    'GET /api/admin/packages',
    'GET /api/admin/sdk/releases',
    'GET /api/admin/users',
    'GET /api/auth/identities',
    'GET /api/auth/keys',
    'GET /api/auth/me',
    'GET /api/auth/passkeys',
    'GET /api/auth/providers',
    'GET /api/auth/sessions',
    'GET /api/invites/:token',
    'GET /api/legal/privacy',
    'GET /api/legal/terms',
    'GET /api/packages/versions/new',
    'GET /api/packages/versions/newUploadFinish',
    'GET /api/setup/status',
    'GET /api/v1/health',
    'GET /api/v1/version',
    'POST /api/auth/login',
    'POST /api/auth/passkey/login',
    'POST /api/auth/passkey/options',
    'POST /api/auth/signup',
    'POST /api/invites/:token/accept',
    'POST /api/publishers/:id/service-accounts',
    'POST /api/setup/complete',
    'POST /api/setup/verify',
    'POST /api/tokens/revoke',
  ])
})

it('lists every GraphQL root field in the policy table', () => {
  const fields = [schema.getQueryType(), schema.getMutationType(), schema.getSubscriptionType()].flatMap((type) =>
    Object.keys(type?.getFields() ?? {}).map((field) => `${type?.name}.${field}`),
  )
  expect(fields.toSorted()).toEqual(Object.keys(graphql).toSorted())
})

it.each(rowsOf(policies))('restricts $name to $access', async (row) => {
  const { name: endpoint, access } = row
  const [method = '', path = ''] = endpoint.split(' ')
  const route = routes.find((one) => one.method === method && one.path === path)
  const { app, tried } = await worldFor(method === 'GET', row)
  for (const { name, actor, allowed } of tried) {
    const answer = await actor.send(method as 'GET', pathFor(path), route && bodyFor(schema, route), { ip: app.address() })
    const refused = answer.status === 401 || (answer.status === 403 && answer.body.error?.code === 'InsufficientPermissions')
    const own = signIns.has(endpoint) && answer.status === 401
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

it.each(rowsOf(graphql))('restricts $name to $access', async (row) => {
  const { name: field, access } = row
  const { app, tried } = await worldFor(!field.startsWith('Mutation.'), row)
  // Subscriptions end with an error, because what they watch does not exist.
  const headers: Record<string, string> = field.startsWith('Subscription.') ? { accept: 'text/event-stream' } : {}
  for (const { name, actor, allowed } of tried) {
    const { body } = await actor.graphql(fieldQuery(schema, field), {}, { ip: app.address(), headers })
    const events = typeof body === 'string' ? /^data: *(\{.*\})$/m.exec(body)?.[1] : undefined
    const { errors } = events === undefined ? body : JSON.parse(events)
    if (events !== undefined) expect(errors).toHaveLength(1)
    const code: string | undefined = errors?.[0].extensions.code
    const own = signIns.has(field) && code === 'MissingAuthentication'
    const refused = (code === 'MissingAuthentication' || code === 'InsufficientPermissions') && !own
    const useless = name === 'a wrong token' && !own
    expect({ name, code, refused }).toMatchObject({ name, refused: useless || !allowed.includes(access) })
    if (refused) expect({ name, code }).toEqual({ name, code: refusalOf(name) })
    expect(code).not.toBe('InternalError')
  }
})
