import { getNamedType, isCompositeType, isObjectType } from 'graphql'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { routesOf } from '../../server/routes.ts'
import { schema } from '../../server/schema.ts'
import type { Actor } from '../actor.ts'
import { testApp, type TestApp } from '../app.ts'
import { makeToken } from '../factories.ts'
import { bodyFor, fieldQuery, isRequired, pathFor } from '../support/minimal-request.ts'
import { narrowed } from '../support/policy-narrowed.ts'

// No server listens on this port.
const upstream = { UPSTREAM_URL: 'http://127.0.0.1:9' }
const routes = routesOf(upstream)
const endpoints = routes.map(({ method, path }) => `${method} ${path}`)
const fields = [schema.getQueryType(), schema.getMutationType(), schema.getSubscriptionType()].flatMap((type) =>
  Object.keys(type?.getFields() ?? {}).map((field) => `${type?.name}.${field}`),
)
type Action = keyof typeof narrowed
const actions = Object.keys(narrowed) as Action[]

type Caller = { name: string; actor: Actor; allowed: readonly string[] }
let app: TestApp
let callers: Caller[]
beforeAll(async () => {
  app = await testApp({ env: { SIGNUP_ENABLED: 'true', ...upstream } })
  // The scope admin, which narrowed tokens never have, shows that the list decides and not the scopes.
  const withLimits = async (limits: object) =>
    app.withToken(await makeToken(app.services, (await app.admin()).id, ['read', 'write', 'admin'], limits))
  const all = (action: Action): string[] => [...narrowed[action].package, ...narrowed[action].all]
  callers = await Promise.all([
    ...actions.map(async (one) => ({ name: one, actor: await withLimits({ actions: one }), allowed: all(one) })),
    ...actions.map(async (one) => {
      const actor = await withLimits({ actions: one, packages: 'nothing,some*' })
      return { name: `${one} of some packages`, actor, allowed: narrowed[one].package }
    }),
    (async () => {
      const actor = await withLimits({ packages: 'acme_*,nothing_else' })
      return { name: 'all actions, other packages', actor, allowed: narrowed.publish.package }
    })(),
  ])
})
afterAll(() => app[Symbol.asyncDispose]())

/** Reports whether the limits of the token rejected the request. Other rejections come later. */
const isRejection = (error?: { code?: string; message?: string; extensions?: { code?: string } }): boolean =>
  (error?.code ?? error?.extensions?.code) === 'InsufficientPermissions' && /^This (credential|access token) /.test(error?.message ?? '')

it('lists only endpoints and root fields that exist', () => {
  const listed = actions.flatMap((action) => [...narrowed[action].package, ...narrowed[action].all])
  expect(listed.filter((name) => ![...endpoints, ...fields].includes(name))).toEqual([])
})

it.each(routes.map((route) => ({ endpoint: `${route.method} ${route.path}`, route })))('narrows $endpoint', async ({ endpoint, route }) => {
  for (const { name, actor, allowed } of callers) {
    const { status, body } = await actor.send(route.method, pathFor(route.path), bodyFor(schema, route), { ip: app.address() })
    const isRejected = status === 403 && isRejection(body.error)
    expect({ name, status, isRejected }).toMatchObject({ name, isRejected: !allowed.includes(endpoint) })
  }
})

it.each(fields)('narrows %s', async (field) => {
  const headers: Record<string, string> = field.startsWith('Subscription.') ? { accept: 'text/event-stream' } : {}
  for (const { name, actor, allowed } of callers) {
    const { body } = await actor.graphql(fieldQuery(schema, field), {}, { ip: app.address(), headers })
    const event = typeof body === 'string' ? /^data: *(\{.*\})$/m.exec(body)?.[1] : undefined
    const { errors } = event === undefined ? body : JSON.parse(event)
    expect({ name, isRejected: isRejection(errors?.[0]) }).toEqual({ name, isRejected: !allowed.includes(field) })
  }
})

/** Fields of packages and versions that lead to other objects and that a token to read may use. */
const reachable = {
  Package: 'advisories displayedVersion downloads latest latestPrerelease version versionGroups versions',
  PackageVersion:
    'advisories apiDocumentation changelog comparison dependencies environment example files install license package readme score screenshots',
}

it.each(Object.keys(reachable) as (keyof typeof reachable)[])('narrows the fields of %s', async (name) => {
  const [{ actor }] = callers as [Caller]
  const type = schema.getType(name)
  if (!isObjectType(type)) throw new Error(`${name} is not an object type`)
  const objects = Object.values(type.getFields()).filter(({ type: inner }) => isCompositeType(getNamedType(inner)))
  const tried = objects.filter(({ args }) => !args.some((argument) => isRequired(argument)))
  const allowed = await Promise.all(
    tried.map(async (field) => {
      const first = field.args.some((argument) => argument.name === 'first') ? '(first: 1)' : ''
      const selection = `${field.name}${first} { __typename }`
      const inner = name === 'Package' ? selection : `latest { ${selection} }`
      const { body } = await actor.graphql(`{ package(name: "nothing") { ${inner} } }`)
      return isRejection(body.errors?.[0]) ? [] : [field.name]
    }),
  )
  expect(allowed.flat().toSorted()).toEqual(reachable[name].split(' '))
})

/** Lists of plain values of a package. All of them name other packages. */
const namesOthers = ['confusableWith', 'confusableWithReserved']

it('hides the names of other packages from tokens that are limited to some', async () => {
  const type = schema.getType('Package')
  if (!isObjectType(type)) throw new Error('Package is not an object type')
  const lists = Object.values(type.getFields()).filter((field) => String(field.type).startsWith('[String'))
  expect(lists.map(({ name }) => name)).toEqual(namesOthers)
  for (const field of namesOthers) {
    const rejected = await Promise.all(
      ['read', 'all actions, other packages'].map(async (name) => {
        const caller = callers.find((one) => one.name === name)
        const query = `{ package(name: "nothing_else") { ... { same: ${field} } } }`
        return isRejection((await caller?.actor.graphql(query))?.body.errors?.[0])
      }),
    )
    expect([field, ...rejected]).toEqual([field, false, true])
  }
})

it('rejects requests before their body is read', async () => {
  for (const { name, actor } of callers) {
    const broken = await actor.post('/api/auth/keys', '{"name":', { headers: { 'content-type': 'application/json' } })
    expect({ name, ...broken }).toMatchObject({ name, status: 403, body: { error: { code: 'InsufficientPermissions' } } })
  }
})
