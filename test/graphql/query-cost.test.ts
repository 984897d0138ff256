import { globSync, readFileSync } from 'node:fs'
import { buildSchema, type GraphQLField, type GraphQLResolveInfo, isEnumType, Kind, parse } from 'graphql'
import { expect, it } from 'vitest'
import { Budget } from '../../server/platform/access/budget.ts'
import type { Context } from '../../server/platform/access/context.ts'
import { costOf, maxCost } from '../../server/platform/graphql/cost.ts'
import { enforceBudget } from '../../server/platform/graphql/field-guards.ts'
import { schema } from '../../server/schema.ts'
import { testApp } from '../app.ts'
import { attributeStatements } from '../support/attributed-statements.ts'
import { packageArchive } from '../support/archive.ts'
import { finish, upload } from '../support/publish.ts'
import { cpuMsOf } from '../support/cpu-time.ts'

const enumValue = (name: string) => {
  const type = schema.getType(name)
  return isEnumType(type) ? type.getValues()[0]?.name : undefined
}

const cost = (query: string, variables: Record<string, unknown> = {}) => {
  const document = parse(query)
  const operation = document.definitions.find((node) => node.kind === Kind.OPERATION_DEFINITION)
  if (!operation) throw new Error('no operation')
  return costOf(schema, document, operation, variables) ?? Number.NaN
}

it('is the cost of what will be executed, whether sizes are literals or variables', () => {
  const page = (size: string, head = 'query') =>
    `${head} { packages(first: ${size}) { nodes { name versions(first: ${size}) { nodes { version } } } } }`
  const literal = cost(page('20'))
  expect(literal).toBeGreaterThan(20 * 20)
  expect(cost(page('$n', 'query ($n: Int)'), { n: 20 })).toBe(literal)
  expect(cost(page('$n', 'query ($n: Int = 20)'))).toBe(literal)
  expect(cost(page('$n', 'query ($n: Int = 1)'), { n: 20 })).toBe(literal)
  expect(
    cost(
      '{ packages(first: 20) { ...on PackageConnection { nodes { ...P } } } } fragment P on Package { name versions(first: 20) { nodes { version } } }',
    ),
  ).toBe(literal)
  expect(cost('{ packages(first: 20) { edges { node { name } } } }')).toBeGreaterThan(
    cost('{ packages(first: 2) { edges { node { name } } } }') * 5,
  )
  expect(cost('query ($ids: [ID!]!) { nodes(ids: $ids) { id } }', { ids: Array.from({ length: 200 }, () => 'x') })).toBeGreaterThan(200)
  expect(
    cost('query ($no: Boolean!) { packages(first: 100) @include(if: $no) { nodes { name } } server { version } }', { no: false }),
  ).toBeLessThan(5)
})

it('is counted once per fragment, even when fragments double each other', async () => {
  const fragments = Array.from({ length: 40 }, (_, n) => `fragment F${n} on Package { name ...F${n + 1} ...F${n + 1} }`).join('\n')
  const count = () =>
    expect(cost(`{ package(name: "a") { ...F0 } }\n${fragments}\nfragment F40 on Package { name }`)).toBeGreaterThan(2 ** 40)
  expect(await cpuMsOf(count)).toBeLessThan(1000)
})

it('assumes a size for lists without a limit and uses the declared weight of fields', () => {
  const small = buildSchema('type Query { list: [Thing!]! } type Thing { name: String }')
  const document = parse('{ list { name } }')
  const [operation] = document.definitions
  if (operation?.kind !== Kind.OPERATION_DEFINITION) throw new Error('no operation')
  expect(costOf(small, document, operation, {})).toBe(1 + 100 * 2)
})

it('leaves headroom for every document of the console', () => {
  const document = parse(
    globSync('web/*/*.graphql')
      .map((file) => readFileSync(file, 'utf8'))
      .join('\n'),
  )
  const samples: Record<string, unknown> = { Boolean: true, Int: 50, SemVer: '1.0.0', DateTime: '2026-01-01T00:00:00Z' }
  for (const operation of document.definitions) {
    if (operation.kind !== Kind.OPERATION_DEFINITION || operation.operation !== 'query') continue
    const wanted = (operation.variableDefinitions ?? []).filter(
      ({ type, variable }) => type.kind === Kind.NON_NULL_TYPE || variable.name.value === 'first',
    )
    const named = ({ type }: (typeof wanted)[number]) => {
      const bare = type.kind === Kind.NON_NULL_TYPE ? type.type : type
      return bare.kind === Kind.NAMED_TYPE ? bare.name.value : ''
    }
    const variables = Object.fromEntries(
      wanted.map((node) => [node.variable.name.value, samples[named(node)] ?? enumValue(named(node)) ?? 'x']),
    )
    const price = costOf(schema, document, operation, variables)
    expect({ name: operation.name?.value, price: price ?? Number.NaN, fits: (price ?? maxCost) < maxCost }).toMatchObject({ fits: true })
  }
})

it('refuses expensive queries before executing them, also with sizes in variables', async () => {
  await using app = await testApp({ env: { PUBLIC_PACKAGES_ENABLED: 'true' } })
  const alice = await app.member()
  const query = 'query ($n: Int = 100) { packages(first: $n) { nodes { versions(first: $n) { nodes { readme { html } } } } } }'
  for (const variables of [{}, { n: 100 }]) {
    const { result, statements } = await attributeStatements(() => alice.graphql(query, variables))
    const { body } = result
    expect(body).toMatchObject({
      errors: [{ message: expect.stringMatching(/^This query costs \d+, and one may cost 5000\./), extensions: { code: 'InvalidInput' } }],
    })
    expect(body.data).toBeUndefined()
    expect(statements.filter((sql) => /package_versions/.test(sql))).toEqual([])
  }
})

it('returns the cost of a query and the remaining rate limit of the caller', async () => {
  await using app = await testApp()
  const alice = await app.member()
  const query = '{ rateLimit { limit remaining resetAt cost maxCost } packages(first: 20) { nodes { name } } }'
  const { body } = await alice.graphql(query)
  const { rateLimit } = body.data
  expect(body.extensions).toEqual({ cost: rateLimit.cost })
  expect(rateLimit).toMatchObject({ limit: 600, remaining: 599, maxCost })
  expect(rateLimit.cost).toBeGreaterThan(20)
  const seconds = (Date.parse(rateLimit.resetAt) - Date.now()) / 1000
  expect(seconds).toBeGreaterThan(0)
  expect(seconds).toBeLessThanOrEqual(60)
  expect((await alice.graphql('{ rateLimit { remaining } }')).body.data).toEqual({ rateLimit: { remaining: 598 } })
  const bob = await app.member()
  expect((await bob.graphql('{ rateLimit { remaining } }')).body.data).toEqual({ rateLimit: { remaining: 599 } })
  const anonymous = await app.anonymous.graphql('{ rateLimit { remaining } }', {}, { ip: app.address() })
  expect(anonymous.body.data).toEqual({ rateLimit: { remaining: 599 } })
})

it('aborts a request that reads too much text, with one clear error', async () => {
  await using app = await testApp()
  const alice = await app.member()
  const readme = `${'Words and more words. '.repeat(11_000)}\n`
  for (let index = 0; index < 20; index++)
    await finish(
      alice,
      await upload(alice, await packageArchive({ name: `long${index}`, version: '1.0.0', files: { 'README.md': readme } })),
    )
  const { body, status } = await alice.graphql('{ packages(first: 30) { nodes { name latest { readme { source } } } } }')
  expect({ body, status }).toMatchObject({
    status: 400,
    body: {
      errors: [{ message: expect.stringContaining('more text than one request may (4 MiB)'), extensions: { code: 'InvalidInput' } }],
    },
  })
  expect(body.data ?? null).toBeNull()
  const few = await alice.graphql('{ packages(first: 10) { nodes { latest { readme { source } } } } }')
  expect(few.body.data.packages.nodes[9].latest.readme.source).toBe(readme)
})

it('executes nothing once the budget is spent, and at most two statements concurrently', async () => {
  const budget = new Budget({ databaseMs: 30, textBytes: 10, objects: 10, totalMs: 60_000 })
  let running = 0
  let most = 0
  const statement = async () => {
    most = Math.max(most, ++running)
    await new Promise((resolve) => setTimeout(resolve, 8))
    running--
  }
  const results = await Promise.allSettled(Array.from({ length: 40 }, () => budget.measure(statement, { inTransaction: false })))
  const done = results.filter(({ status }) => status === 'fulfilled').length
  expect(done).toBeGreaterThan(0)
  expect(done).toBeLessThan(8)
  expect(most).toBe(2)
  expect(() => budget.check()).toThrow(/database time than one request may/)
  await expect(budget.uncounted(new Promise(() => {}))).rejects.toThrow(/database time/)
  budget.close()
})

it('ends at its time limit, which excludes waiting for others', async () => {
  const budget = new Budget({ databaseMs: 5000, textBytes: 10, objects: 1, totalMs: 20 })
  const wait = () => new Promise((resolve) => setTimeout(resolve, 60))
  await Promise.all([budget.uncounted(wait()), budget.uncounted(wait())])
  expect(budget.spent).toBeNull()
  await wait()
  expect(() => budget.spendObjects(1)).toThrow(/more time than one request may \(0.02 seconds\)/)
  budget.close()
})

it('counts the objects in lists, but not names', async () => {
  const lists = buildSchema(
    'type Item { id: ID } enum Kind { A } type Query { names: [String!] kinds: [Kind] items: [Item] more: [[Item!]!]! }',
  )
  const budget = new Budget({ databaseMs: 5000, textBytes: 10, objects: 10, totalMs: 60_000 })
  const resolve = async (name: string) => {
    const field = lists.getQueryType()?.getFields()[name] as GraphQLField<unknown, Context>
    field.resolve = () => Array.from({ length: 11 }, () => 'A')
    enforceBudget(field)
    return field.resolve(null, {}, { budget } as Context, {} as GraphQLResolveInfo)
  }
  for (const name of ['names', 'kinds']) expect(await resolve(name)).toHaveLength(11)
  for (const name of ['items', 'more']) await expect(resolve(name)).rejects.toThrow(/more objects than one request may \(10\)/)
  budget.close()
})
