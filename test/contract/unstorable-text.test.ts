import { isInputObjectType } from 'graphql'
import { afterAll, beforeAll, expect, it } from 'vitest'
import type { Route } from '../../server/platform/rest/route.ts'
import { routesOf } from '../../server/routes.ts'
import { schema } from '../../server/schema.ts'
import type { Actor } from '../actor.ts'
import { testApp, type TestApp } from '../app.ts'
import { bodyFor, pathFor } from '../support/minimal-request.ts'

/** The routes of a server without a mirror. */
const routes = routesOf({})

// PostgreSQL cannot store text with NUL characters.
let app: TestApp
/** A server without an owner, because the setup endpoints do not exist once the setup is complete. */
let fresh: TestApp
let owner: Actor
beforeAll(async () => {
  app = await testApp({ env: { SIGNUP_ENABLED: 'true', PUBLIC_PACKAGES_ENABLED: 'true' } })
  fresh = await testApp({ setUp: false })
  owner = await (await app.owner()).session()
})
afterAll(() => Promise.all([app, fresh].map((one) => one[Symbol.asyncDispose]())))

const variable = /\$(\w+): (?:String|ID)\b/g
const takesText = (route: (typeof routes)[number]) =>
  route.kind === 'binary' || route.path.includes(':') || textsOf(route).length > 0 || route.operation.search(variable) >= 0
const all = routes.filter(takesText)
const statusOf = async ({ method, path }: { method: string; path: string }, body?: unknown) =>
  (await owner.send(method as 'GET', path, body, { ip: app.address() })).status

it.each(all.map((route) => [`${route.method} ${route.path}`, route] as const))('refuses NUL characters: %s', async (_name, route) => {
  const { method, path } = route
  const fine = method === 'GET' ? undefined : (bodyFor(schema, route) as Record<string, unknown> | undefined)
  if (path.includes(':')) expect(await statusOf({ method, path: path.replace(/:\w+/g, 'a%00b') }, fine)).toBeLessThan(500)
  if (route.kind === 'binary') return expect(await statusOf({ method, path: `${pathFor(path)}?upload_id=%00&q=%00` })).toBeLessThan(500)
  for (const [, name = ''] of route.operation.matchAll(variable))
    expect({ name, status: await statusOf({ method, path: `${pathFor(path)}?${name}=a%00b` }, fine) }).not.toMatchObject({ status: 500 })
  for (const name of textsOf(route)) {
    const actor = path.startsWith('/api/setup/') ? fresh.anonymous : owner
    const answer = await actor.send(method, pathFor(path), { ...fine, [name]: 'a\u0000b' }, { ip: app.address() })
    expect({ name, ...answer }).toMatchObject({
      status: 400,
      body: { error: { code: 'InvalidInput', message: expect.stringContaining(name) } },
    })
  }
})

it('refuses NUL characters in GraphQL literals and variables', async () => {
  const inline = await owner.graphql(String.raw`{ user(email: "a\u0000b") { id } }`)
  const inVariables = await owner.graphql('query ($email: String) { user(email: $email) { id } }', { email: 'a\u0000b' })
  for (const { body } of [inline, inVariables])
    expect(body.errors[0]).toMatchObject({
      message: expect.stringContaining('email'),
      extensions: { code: 'InvalidInput', field: 'email' },
    })
})

it('refuses unpaired surrogates, which could not be stored unchanged', async () => {
  const [high, low] = ['a\ud83d', '\ude00b']
  for (const displayName of [high, low, low + high])
    expect(await owner.patch('/api/auth/profile', { displayName })).toMatchObject({
      status: 400,
      body: { error: { code: 'InvalidInput', message: 'displayName: must be well-formed Unicode, without unpaired surrogates.' } },
    })
  const query = 'query ($email: String) { user(email: $email) { id } }'
  expect((await owner.graphql(query, { email: high })).body.errors[0].extensions).toMatchObject({ code: 'InvalidInput', field: 'email' })
  expect(
    (
      await owner.graphql(
        'mutation ($markdown: String!) { updateLegalDocument(input: { kind: TERMS, markdown: $markdown }) { document { markdown } } }',
        { markdown: low },
      )
    ).body.errors[0].extensions,
  ).toMatchObject({ code: 'InvalidInput', field: 'markdown' })
  expect(await owner.patch('/api/auth/profile', { displayName: high + low })).toMatchObject({
    status: 200,
    body: { displayName: 'a\u{1f600}b' },
  })
})

/** Returns the REST names of the text fields of a route's body. */
function textsOf(route: Route): string[] {
  const type = schema.getType(/\$input: (\w+)!/.exec(route.operation)?.[1] ?? '')
  if (!isInputObjectType(type)) return []
  const inPath = [...route.path.matchAll(/:(\w+)/g)].map(([, name = '']) => route.names?.[name] ?? name)
  const settled = new Set([...inPath, ...Object.keys(route.fixedInput ?? {})])
  const texts = Object.values(type.getFields()).filter(({ type: its, name }) => /^String!?$/.test(String(its)) && !settled.has(name))
  return texts.map(({ name }) => Object.entries(route.names ?? {}).find(([, inner]) => inner === name)?.[0] ?? name)
}
