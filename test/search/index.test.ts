import fc from 'fast-check'
import { expect, it } from 'vitest'
import { newId } from '../../server/platform/db/base.ts'
import { Package } from '../../server/registry/packages/entity.ts'
import { removeFromIndex, storeDocument, touchIndex } from '../../server/registry/search/index-package.ts'
import type { Tag } from '../../server/registry/search/tags.ts'
import { checkSearch, completeNames, searchPackages, type SearchRequest } from '../../server/registry/search/service.ts'
import { type TestApp, testApp } from '../app.ts'
import { fillIndex } from '../bench/fill-index.ts'
import { generatePackages } from '../bench/generate-packages.ts'

const nothing = { description: '', topics: [] as string[], readme: null as string | null, tags: [] as Tag[], shownTo: 1 as const }
const signedIn = { id: newId(), scopes: new Set(['read'] as const) }

/** Stores and indexes a package without an archive. */
async function add({ services }: TestApp, name: string, texts: Partial<typeof nothing> = {}, at = new Date()) {
  const packageId = newId()
  await services.database.fork().transactional(async (em) => {
    em.create(Package, { id: packageId, name, description: '', latestVersion: '1.0.0', createdAt: at, updatedAt: at })
    await em.flush()
    await storeDocument(em, { packageId, name, ...nothing, ...texts, createdAt: at, updatedAt: at })
  })
  return packageId
}

async function find({ services }: TestApp, request: Partial<SearchRequest>) {
  const page = await searchPackages(services.database, { limit: 50, searcher: signedIn, here: services.config, ...request })
  return { ...page, names: page.matches.map(({ name }) => name), total: await page.totalCount() }
}

/** Returns all names in order, page by page. */
async function findAll(app: TestApp, request: Partial<SearchRequest>) {
  const names: string[] = []
  for (let after: string | undefined; ;) {
    const page = await find(app, { ...request, limit: 7, after })
    names.push(...page.names)
    if (!page.hasNextPage) return names
    after = page.matches.at(-1)?.cursor
  }
}

it('ranks the full name, its words, their prefixes, short texts, then the README', async () => {
  await using app = await testApp()
  await add(app, 'unrelated', { readme: 'Paints a canvas.' })
  await add(app, 'by_topic', { topics: ['canvas'] })
  await add(app, 'sub_canvas')
  await add(app, 'canvasser')
  await add(app, 'canvas_kit')
  await add(app, 'canvas')
  const { names, matches, total } = await find(app, { query: 'Canvas' })
  expect(names).toEqual(['canvas', 'canvas_kit', 'sub_canvas', 'canvasser', 'by_topic', 'unrelated'])
  expect(total).toBe(6)
  const scores = matches.map(({ score }) => score)
  expect(scores[0]).toBe(1)
  expect(scores).toEqual(scores.toSorted((a, b) => b - a))
})

it('finds inflected words, other scripts, joined words and parts of words', async () => {
  await using app = await testApp()
  await add(app, 'sqflite_http', { description: 'Caches libraries for testing, à la crème', readme: '图像处理工具 и Привет' })
  for (const query of [
    'http sqflite',
    'sqflitehttp',
    'flite',
    'cache',
    'caching',
    'library',
    'tests',
    'CREME',
    'crème testing',
    '图像',
    '处理',
    '工具',
    'привет',
    'sqflite-http',
  ]) {
    expect({ query, names: (await find(app, { query })).names }).toEqual({ query, names: ['sqflite_http'] })
  }
  for (const query of ['像工', 'http_postgres', '?!', '\0', 'x'.repeat(300)])
    expect({ query, names: (await find(app, { query })).names }).toEqual({ query, names: [] })
})

it('searches names only for words shorter than three letters', async () => {
  await using app = await testApp()
  await add(app, 'my_ui')
  await add(app, 'other', { description: 'A ui', readme: 'ui' })
  expect(await find(app, { query: 'UI' })).toMatchObject({ names: ['my_ui'], total: 1 })
  expect((await find(app, { query: 'a ui' })).names).toEqual(['my_ui'])
  expect((await find(app, { query: 'other ui' })).names).toEqual(['other'])
})

it('returns every match once across pages in every order, with a matching count', async () => {
  await using app = await testApp()
  await fillIndex(app.services.database, 300)
  for (const query of ['', 'flutter', 'http', 'widget client', 'json', 'fl', 'easy', 'queries', 'the']) {
    const { total } = await find(app, { query })
    const sorted = await findAll(app, { query, sort: 'name' })
    expect({ query, total: new Set(sorted).size }).toEqual({ query, total })
    expect(sorted).toEqual(sorted.toSorted())
    for (const sort of ['relevance', 'updated', 'created'] as const) {
      const names = await findAll(app, { query, sort })
      expect({ query, sort, names: names.toSorted() }).toEqual({ query, sort, names: sorted })
      const [third] = (await find(app, { query, sort, offset: 2, limit: 1 })).names
      expect(third).toBe(names[2])
    }
  }
})

it('finds a package by any prefix and any longer substring of its name', async () => {
  await using app = await testApp()
  await fillIndex(app.services.database, 200)
  const names = Array.from(generatePackages(200), ({ name }) => name)
  const piece = fc.record({ name: fc.constantFrom(...names), from: fc.nat(60), length: fc.nat(60) })
  await fc.assert(
    fc.asyncProperty(piece, async ({ name, from, length }) => {
      const beginning = name.slice(0, 1 + length)
      const joined = name.replaceAll('_', '')
      const part = joined.slice(from % (joined.length - 3)).slice(0, 4 + length)
      for (const query of [beginning, ...(part.length < 4 ? [] : [part])]) {
        const found = await find(app, { query, limit: 300 })
        expect(found.names, `for ${query}`).toContain(name)
        expect(found.names).toHaveLength(found.total)
      }
      expect(await completeNames(app.services.database, signedIn, beginning, 300)).toContain(name)
    }),
    { numRuns: 100 },
  )
})

it('replaces the entry of a package and deletes it along with the package', async () => {
  await using app = await testApp()
  const { database } = app.services
  const at = new Date(1_700_000_000_000)
  const texts = { name: 'changing', ...nothing, createdAt: at, updatedAt: at }
  const packageId = await add(app, 'changing', { description: 'Former', readme: 'Bygone' }, at)
  await add(app, 'staying', {}, new Date(at.getTime() + 1))
  await database.fork().transactional((em) => storeDocument(em, { ...texts, packageId, description: 'Present', readme: 'Current' }))
  expect((await find(app, { query: 'former' })).names).toEqual([])
  expect((await find(app, { query: 'bygone' })).names).toEqual([])
  expect((await find(app, { query: 'present current' })).names).toEqual(['changing'])
  expect((await find(app, {})).names).toEqual(['staying', 'changing'])
  await touchIndex(database.fork(), packageId, new Date(at.getTime() + 2))
  expect((await find(app, {})).names).toEqual(['changing', 'staying'])
  await removeFromIndex(database.fork(), packageId)
  expect(await find(app, { query: 'present' })).toMatchObject({ names: [], total: 0 })
  await database.fork().transactional((em) => storeDocument(em, { ...texts, packageId, description: 'Back' }))
  expect((await find(app, { query: 'back' })).names).toEqual(['changing'])
  await database.fork().nativeDelete(Package, { id: packageId })
  expect(await find(app, { query: 'back' })).toMatchObject({ names: [], total: 0 })
  expect(await (await find(app, { query: 'chaning' })).didYouMean()).toEqual([])
  expect((await find(app, {})).names).toEqual(['staying'])
})

it('discards entries of a failed transaction', async () => {
  await using app = await testApp()
  const packageId = await add(app, 'solid', { description: 'Kept' })
  const failing = app.services.database.fork().transactional(async (em) => {
    await storeDocument(em, { packageId, name: 'solid', ...nothing, description: 'Lost', createdAt: new Date(), updatedAt: new Date() })
    throw new Error('changed my mind')
  })
  await expect(failing).rejects.toThrow('changed my mind')
  expect((await find(app, { query: 'lost' })).names).toEqual([])
  expect((await find(app, { query: 'kept' })).names).toEqual(['solid'])
})

it('accepts texts of any content and size', async () => {
  await using app = await testApp()
  const texts = fc.record({
    description: fc.string({ unit: 'binary' }),
    topics: fc.array(fc.string({ unit: 'binary' }), { maxLength: 3 }),
    readme: fc.string({ unit: 'binary', maxLength: 500 }),
  })
  let count = 0
  await fc.assert(
    fc.asyncProperty(texts, async (odd) => {
      const name = `odd_${++count}`
      await add(app, name, odd)
      expect((await find(app, { query: name })).names[0]).toBe(name)
    }),
    { numRuns: 40 },
  )
  await add(app, 'huge', {
    readme: `needle ${'<'.repeat(100_000)}${'word'.repeat(50_000)} ${Array.from({ length: 50_000 }, (_, index) => `w${index}`).join(' ')}`,
  })
  expect((await find(app, { query: 'needle' })).names).toEqual(['huge'])
})

it('suggests similar names and refuses cursors of other lists', async () => {
  await using app = await testApp()
  await add(app, 'bluetooth_client')
  await add(app, 'blue')
  const alice = await app.member()
  const ask = (query: string) =>
    alice.graphql('query ($query: String) { searchPackages(query: $query, first: 5) { didYouMean nodes { name } } }', { query })
  expect((await ask('bluetoth_clinet')).body.data.searchPackages).toEqual({ didYouMean: ['bluetooth_client'], nodes: [] })
  expect((await ask('submarine')).body.data.searchPackages).toEqual({ didYouMean: [], nodes: [] })
  expect((await ask('blue')).body.data.searchPackages.didYouMean).toEqual([])
  const { matches } = await find(app, { query: 'blue' })
  for (const [sort, after] of [
    ['name', matches[0]?.cursor],
    ['updated', 'bm8'],
    ['relevance', Buffer.from('["a\\u0000",1]').toString('base64url')],
    ['name', Buffer.from('["a\\u0000",1]').toString('base64url')],
  ] as const) {
    await expect(find(app, { query: 'blue', sort, after })).rejects.toThrow('after: is not a cursor of this list.')
  }
  expect(await completeNames(app.services.database, signedIn, 'bl\0', 5)).toEqual([])
})

it('reports a missing index', async () => {
  await using app = await testApp()
  const { database } = app.services
  await expect(checkSearch(app.services)).resolves.toBe('ok')
  await database.orm.em.getConnection().execute('drop table package_search_full')
  await expect(checkSearch(app.services)).rejects.toThrow(/package_search_full/)
})
