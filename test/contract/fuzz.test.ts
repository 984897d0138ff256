import { encodeGlobalID } from '@pothos/plugin-relay'
import fc from 'fast-check'
import {
  getNamedType,
  type GraphQLField,
  type GraphQLInputType,
  isEnumType,
  isInputObjectType,
  isLeafType,
  isListType,
  isNonNullType,
  isObjectType,
} from 'graphql'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { schema } from '../../server/schema.ts'
import type { Actor } from '../actor.ts'
import { testApp, type TestApp } from '../app.ts'
import { publish } from '../support/publish.ts'

/** Run longer with FUZZ_SECONDS=600 npm test -- test/contract/fuzz.test.ts. A failure prints the seed and the smallest failing request. */
const seconds = Number(process.env.FUZZ_SECONDS ?? 6)
const bounds = { numRuns: 1_000_000, interruptAfterTimeLimit: seconds * 1000, markInterruptAsFailure: false }

let app: TestApp
let callers: Actor[]
beforeAll(async () => {
  app = await testApp({ env: { SIGNUP_ENABLED: 'true', PUBLIC_PACKAGES_ENABLED: 'true' } })
  const owner = await app.owner()
  const alice = await app.member()
  await publish(alice, { name: 'acme', version: '1.0.0' })
  callers = [owner, alice, app.anonymous, await owner.session()]
})
afterAll(() => app[Symbol.asyncDispose]())

const unknownId = '00000000-0000-7000-8000-000000000000'
const types = ['User', 'Session', 'AccessToken', 'Package', 'PackageVersion', 'Publisher', 'Job', 'AuditEntry', 'PageInfo', '__proto__']
const ids = fc.oneof(
  fc.constant(unknownId),
  fc.tuple(fc.constantFrom(...types), fc.oneof(fc.constant(unknownId), fc.string())).map(([type, id]) => encodeGlobalID(type, id)),
)
const words = fc.constantFrom(
  '',
  'acme',
  'other',
  '1.0.0',
  '^1.0.0',
  'a@example.com',
  'https://example.com',
  'read',
  '../x',
  '%',
  "'",
  '\0',
  '\u202e',
  'x'.repeat(3000),
)
const moments = fc.constantFrom(
  '2026-01-01T00:00:00Z',
  '+275760-09-13T00:00:00Z',
  '-271821-04-20T00:00:00Z',
  '0000-01-01',
  '9999-12-31T23:59:59-23:59',
)
const texts = fc.oneof(words, ids, moments, fc.string(), fc.string({ unit: 'binary' }), fc.string({ unit: 'grapheme' }))
const numbers = fc.oneof(
  fc.integer(),
  fc.constantFrom(-1, 0, 1, 100, 2 ** 31 - 1, -(2 ** 31), 2 ** 53, 1e308, 0.5),
  fc.double({ noNaN: true, noDefaultInfinity: true }),
)
const anything = fc.oneof(
  texts,
  numbers,
  fc.boolean(),
  fc.constant(null),
  fc.array(texts, { maxLength: 3 }),
  fc.json({ maxDepth: 3 }).map((text): unknown => JSON.parse(text)),
)

/** Generates mostly valid values of the type, sometimes any value. */
function valueOf(type: GraphQLInputType): fc.Arbitrary<unknown> {
  return fc.oneof({ weight: 9, arbitrary: validValueOf(type) }, { weight: 1, arbitrary: anything })
}

function validValueOf(type: GraphQLInputType): fc.Arbitrary<unknown> {
  if (isNonNullType(type)) return validValueOf(type.ofType)
  if (isListType(type)) return fc.array(valueOf(type.ofType), { maxLength: 3 })
  if (isEnumType(type)) return fc.constantFrom(...type.getValues().map(({ name }) => name))
  if (isInputObjectType(type)) {
    const fields = Object.values(type.getFields())
    const requiredKeys = fields.filter((field) => isNonNullType(field.type)).map(({ name }) => name)
    return fc.record(Object.fromEntries(fields.map((field) => [field.name, valueOf(field.type)])), { requiredKeys })
  }
  if (type.name === 'Int' || type.name === 'BigInt' || type.name === 'Float') return numbers
  if (type.name === 'Boolean') return fc.boolean()
  if (type.name === 'DateTime') return moments
  return type.name === 'ID' ? fc.oneof(ids, texts) : texts
}

type Query = { text: string; variables: Record<string, unknown> }

/** Generates a query of a root field with some arguments as variables and a small selection. */
function queryOf(kind: 'query' | 'mutation', field: GraphQLField<unknown, unknown>): fc.Arbitrary<Query> {
  const { name, args, type } = field
  const head = args.map((one) => `$${one.name}: ${String(one.type)}`).join(', ')
  const given = args.map((one) => `${one.name}: $${one.name}`).join(', ')
  const inner = getNamedType(type)
  const leaves = isObjectType(inner)
    ? Object.values(inner.getFields()).filter((one) => isLeafType(getNamedType(one.type)) && one.args.length === 0)
    : []
  const below = isLeafType(inner) ? '' : `{ __typename ${leaves.map((one) => one.name).join(' ')} }`
  const text = `${kind} ${head && `(${head})`} { ${name}${given && `(${given})`} ${below} }`
  const requiredKeys = args.filter((one) => isNonNullType(one.type) || one.name === 'first').map((one) => one.name)
  return fc
    .record(Object.fromEntries(args.map((one) => [one.name, valueOf(one.type)])), { requiredKeys })
    .map((variables) => ({ text, variables }))
}

const queries = fc.oneof(
  ...Object.values(schema.getQueryType()?.getFields() ?? {}).map((field) => queryOf('query', field)),
  ...Object.values(schema.getMutationType()?.getFields() ?? {}).map((field) => queryOf('mutation', field)),
)

/** Serializes a value with unique passwords. Otherwise the search for leaked secrets would match the same text elsewhere. */
const withUniquePasswords = (value: unknown): string =>
  JSON.stringify(value, (key, inner: unknown) =>
    /^(new)?password$/i.test(key) && typeof inner === 'string' && inner ? `${inner} is secret` : inner,
  )

/** Expects that a request caused neither a server error nor a stack trace in the log. */
function expectNoFault(status: number, body: unknown): void {
  expect(status === 503 || status < 500, `${status} ${JSON.stringify(body)}`).toBe(true)
  expect(JSON.stringify(body ?? '')).not.toContain('InternalError')
  expect(app.lines.filter((line) => / ERROR |\n\s+at |\\u000a {4}at /.test(line))).toEqual([])
  app.lines.length = 0
}

it('survives random GraphQL requests', { timeout: (seconds + 60) * 1000 }, async () => {
  const search = fc.assert(
    fc.asyncProperty(queries, fc.nat(3), async ({ text, variables }, who) => {
      const { status, body } = await (callers[who] ?? app.anonymous).graphql(text, JSON.parse(withUniquePasswords(variables)), {
        ip: app.address(),
      })
      expectNoFault(status, body)
    }),
    bounds,
  )
  await expect(search).resolves.toBeUndefined()
})

type Described = {
  parameters?: { name: string; in: string }[]
  requestBody?: { content: Record<string, { schema?: { properties?: object } }> }
}
type Request = { method: string; path: string; body: unknown }

/** Generates a request to an endpoint of the OpenAPI document with its parameter names and body fields and any values. */
function requestOf(method: string, path: string, { parameters = [], requestBody }: Described): fc.Arbitrary<Request> {
  const inQuery = parameters.filter((one) => one.in === 'query').map((one) => one.name)
  const inPath = parameters.filter((one) => one.in === 'path').map((one) => one.name)
  const fields = Object.keys(requestBody?.content['application/json']?.schema?.properties ?? {})
  const pathValues = fc.record(
    Object.fromEntries(inPath.map((name) => [name, fc.oneof(fc.constant(unknownId), words.filter(Boolean), fc.string({ minLength: 1 }))])),
  )
  const queryValues = fc.record(Object.fromEntries(inQuery.map((name) => [name, fc.oneof(texts, numbers.map(String))])), {
    requiredKeys: [],
  })
  const bodies = fc.oneof(
    { weight: 9, arbitrary: fc.record(Object.fromEntries(fields.map((name) => [name, anything])), { requiredKeys: [] }) },
    { weight: 1, arbitrary: anything },
  )
  return fc.tuple(pathValues, queryValues, bodies).map(([inside, query, body]) => {
    const filled = path.replace(/\{(\w+)\}/g, (_whole, name: string) => encodeSegment(String(inside[name])))
    const search = Object.entries(query).map(([name, value]) => `${name}=${encodeSegment(String(value))}`)
    return {
      method: method.toUpperCase(),
      path: `${filled}${search.length > 0 ? `?${search.join('&')}` : ''}`,
      body: method === 'get' ? undefined : body,
    }
  })
}

/** Encodes text that may contain lone surrogates. */
const encodeSegment = (text: string) => encodeURIComponent(text.toWellFormed())

it('survives random REST requests', { timeout: (seconds + 60) * 1000 }, async () => {
  const { body: document } = await app.anonymous.get('/api/docs/openapi.json')
  const requests = Object.entries(document.paths as Record<string, Record<string, Described>>).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, described]) => requestOf(method, path, described)),
  )
  const json = { 'content-type': 'application/json' }
  const search = fc.assert(
    fc.asyncProperty(fc.oneof(...requests), fc.nat(3), async ({ method, path, body }, who) => {
      const actor = callers[who] ?? app.anonymous
      const text = body === undefined ? undefined : withUniquePasswords(body)
      const answer = await actor.send(method as 'GET', path, text, { ip: app.address(), ...(text !== undefined && { headers: json }) })
      expectNoFault(answer.status, answer.body)
    }),
    bounds,
  )
  await expect(search).resolves.toBeUndefined()
})
