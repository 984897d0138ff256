import { gzipSync } from 'node:zlib'
import { expect, it } from 'vitest'
import { readApi } from '../../server/analysis/dart/read-api.ts'
import { surfaceOf } from '../../server/analysis/dart/surface.ts'
import { completeIndex, storedFormat } from '../../server/registry/search/rebuild.ts'
import { writeSetting } from '../../server/platform/settings/service.ts'
import type { Actor } from '../actor.ts'
import { type TestApp, testApp } from '../app.ts'
import { dependent, makePublic, publicApp } from '../support/public-packages.ts'
import { publish } from '../support/publish.ts'
import { begin, reportOf, store, versionId } from '../support/reports.ts'

const retry = `
class RetryPolicy { RetryPolicy.constant(); int attempts = 3; RetryPolicy copyWith() => this; set limit(int value) {} }
class User { User copyWith() => this; @override String toString() => ''; }
enum Speed { slow, fast }
Future<void> retryAll() async {}
`

/** Stores the public API of a version, as its analysis does. */
async function analyze(app: TestApp, name: string, source: string, version = '1.0.0'): Promise<void> {
  const id = await versionId(app, name, version)
  const surface = gzipSync(JSON.stringify(surfaceOf(await readApi(new Map([[`lib/${name}.dart`, source]]), name))))
  await store(app, id, { generation: await begin(app, id), report: reportOf(1, 1), surface })
}

/** Returns the found symbols, and checks their number. */
async function symbols(actor: Actor, query: string): Promise<string[]> {
  const { body } = await actor.graphql(
    'query ($query: String!) { searchSymbols(query: $query, first: 20) { totalCount nodes { name kind parent package { name } version } } }',
    { query },
  )
  const { nodes, totalCount } = body.data.searchSymbols
  expect(totalCount).toBe(nodes.length)
  type Node = { name: string; kind: string; parent: string | null; package: { name: string }; version: string }
  return nodes.map(({ name, kind, parent, package: pkg, version }: Node) =>
    [pkg.name, version, kind, parent === null ? name : `${parent}.${name}`].join(' '),
  )
}

it('finds types, functions and members by names, words of names, and types', async () => {
  await using app = await testApp()
  const alice = await app.member()
  await publish(alice, { name: 'acme', version: '1.0.0' })
  await analyze(app, 'acme', retry)
  const policy = 'acme 1.0.0 CLASS RetryPolicy'
  for (const [query, expected] of Object.entries({
    RetryPolicy: [policy],
    retrypolicy: [policy],
    'retry policy': [policy],
    RetPol: [policy],
    policy: [policy],
    retry: [policy, 'acme 1.0.0 FUNCTION retryAll'],
    'copyWith User': ['acme 1.0.0 METHOD User.copyWith'],
    'User.copyWith': ['acme 1.0.0 METHOD User.copyWith'],
    'acme User': ['acme 1.0.0 CLASS User'],
    constant: ['acme 1.0.0 CONSTRUCTOR RetryPolicy.constant'],
    limit: ['acme 1.0.0 SETTER RetryPolicy.limit'],
    fast: ['acme 1.0.0 ENUM_VALUE Speed.fast'],
    toString: [],
    etry: [],
    'retry nothing': [],
    Überall: [],
    '': [],
  }))
    expect({ query, found: await symbols(alice, query) }).toEqual({ query, found: expected })
  const { body } = await alice.get('/api/search/symbols?q=User.copyWith')
  expect(body).toMatchObject({
    symbols: [{ package: 'acme', version: '1.0.0', name: 'copyWith', kind: 'method', parent: 'User', library: 'acme.dart' }],
    totalCount: 1,
  })
})

it('lists exact names first, then types, and popular packages first, page by page', async () => {
  await using app = await testApp()
  const alice = await app.member()
  for (const name of ['ant', 'bee', 'cat']) await publish(alice, { name, version: '1.0.0' })
  await analyze(app, 'ant', 'class Client { int client = 0; }')
  await analyze(app, 'bee', 'class Client {} class ClientPool {}')
  await analyze(app, 'cat', 'class Kit { int client = 0; }')
  await app.services.database.fork().execute("update package_search_documents set dependents = 90 where name = 'bee'")
  const all = ['bee CLASS Client', 'ant CLASS Client', 'ant FIELD client', 'cat FIELD client', 'bee CLASS ClientPool']
  const found: string[] = []
  for (let after: string | null = null; ;) {
    const page: { body: { data: { searchSymbols: Page } } } = await alice.graphql(
      'query ($after: String) { searchSymbols(query: "Client", first: 2, after: $after) { totalCount pageInfo { hasNextPage endCursor } nodes { name kind package { name } } } }',
      { after },
    )
    const { nodes, pageInfo, totalCount } = page.body.data.searchSymbols
    found.push(...nodes.map(({ name, kind, package: pkg }) => `${pkg.name} ${kind} ${name}`))
    expect(totalCount).toBe(5)
    if (!pageInfo.hasNextPage) break
    after = pageInfo.endCursor
  }
  expect(found).toEqual(all)
})
type Page = {
  totalCount: number
  pageInfo: { hasNextPage: boolean; endCursor: string | null }
  nodes: { name: string; kind: string; package: { name: string } }[]
}

it('shows packages to those who can find them', async () => {
  await using app = await publicApp()
  const alice = await app.member()
  for (const name of ['closed', 'open', 'partly', 'unlisted']) await publish(alice, { name, version: '1.0.0' })
  await makePublic(app, 'open', 'partly')
  await publish(alice, dependent('partly', '2.0.0', ['closed']))
  await alice.put('/api/packages/unlisted/options', { isUnlisted: true })
  for (const name of ['closed', 'open', 'unlisted']) await analyze(app, name, 'class Thing {}')
  await analyze(app, 'partly', 'class Thing {}', '2.0.0')
  const names = async (actor: Actor) => (await symbols(actor, 'Thing')).map((found) => found.split(' ')[0] ?? '').toSorted()
  expect(await names(alice)).toEqual(['closed', 'open', 'partly'])
  expect(await names(await app.member())).toEqual(['closed', 'open', 'partly'])
  expect(await names(app.anonymous)).toEqual(['open'])
  expect((await app.anonymous.get('/api/search/symbols?q=Thing')).body.totalCount).toBe(1)
})

it('searches the latest version only, and forgets deleted packages', async () => {
  await using app = await testApp()
  const [alice, admin] = [await app.member(), await app.admin()]
  await publish(alice, { name: 'acme', version: '1.0.0' })
  await analyze(app, 'acme', 'class Former {}')
  expect(await symbols(alice, 'Former')).toEqual(['acme 1.0.0 CLASS Former'])
  await publish(alice, { name: 'acme', version: '1.1.0' })
  expect(await symbols(alice, 'Former')).toEqual([])
  await analyze(app, 'acme', 'class Later {}', '1.1.0')
  await analyze(app, 'acme', 'class Former {}')
  expect(await symbols(alice, 'Former')).toEqual([])
  expect(await symbols(alice, 'Later')).toEqual(['acme 1.1.0 CLASS Later'])
  await alice.put('/api/packages/acme/versions/1.1.0/options', { isRetracted: true })
  expect(await symbols(alice, 'Former')).toEqual(['acme 1.0.0 CLASS Former'])
  expect((await admin.delete('/api/admin/packages/acme')).status).toBe(200)
  expect(await symbols(alice, 'Former')).toEqual([])
  const { reads } = app.services.database
  for (const table of ['package_search_symbols', 'package_search_symbol_terms'])
    expect(await reads.get(`select count(*) as n from ${table}`)).toMatchObject({ n: expect.toSatisfy((n) => Number(n) === 0) })
})

it('indexes what was analyzed before the index existed, and large packages in parts', async () => {
  await using app = await testApp()
  const alice = await app.member()
  await publish(alice, { name: 'acme', version: '1.0.0' })
  const types = Array.from({ length: 900 }, (_, index) => `class MadeType${index} { int madeField${index} = 0; }`)
  const members = Array.from({ length: 500 }, (_, index) => `int many${index} = 0;`)
  await analyze(app, 'acme', `${types.join('\n')} class Large { ${members.join(' ')} }`)
  const { database } = app.services
  await database.fork().execute('delete from package_search_symbols')
  expect(await symbols(alice, 'MadeType899')).toEqual([])
  await database.fork().transactional((em) => writeSetting(em, storedFormat, 6))
  await completeIndex(app.services)
  expect(await symbols(alice, 'MadeType899')).toEqual(['acme 1.0.0 CLASS MadeType899'])
  expect(await symbols(alice, 'madeField0')).toEqual(['acme 1.0.0 FIELD MadeType0.madeField0'])
  expect(await symbols(alice, 'Large many499')).toEqual(['acme 1.0.0 FIELD Large.many499'])
  const rows = await database.reads.get<{ n: number | string }>('select count(*) as n from package_search_symbols')
  expect(Number(rows?.n)).toBeGreaterThan(1)
})

it('ignores an outline in another format', async () => {
  await using app = await testApp()
  const alice = await app.member()
  await publish(alice, { name: 'acme', version: '1.0.0' })
  const id = await versionId(app, 'acme')
  for (const text of ['{}', 'no JSON', '{"declarations":[],"libraries":[]}'])
    await store(app, id, { generation: await begin(app, id), report: reportOf(1, 1), surface: gzipSync(text) })
  expect(await symbols(alice, 'acme')).toEqual([])
})
