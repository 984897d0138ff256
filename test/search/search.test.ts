import { expect, it } from 'vitest'
import fc from 'fast-check'
import { testApp, type TestApp } from '../app.ts'
import { publish } from '../support/publish.ts'

const fixtures = [
  ['http', 'A composable client for requests', 'Sends requests over the network.'],
  ['http_parser', 'Parsing of protocol headers', 'Media types and dates.'],
  ['dio', 'A powerful HTTP client', 'Interceptors, cancellation and more.'],
  ['colours', 'Palettes for widgets', 'A pleasant palette; nothing about http here but this word.'],
  ['http2', 'Frames and streams', 'Multiplexed.'],
] as const

async function publishFixtures(app: TestApp) {
  const alice = await app.member()
  for (const [name, description, readme] of fixtures) {
    await publish(alice, {
      name,
      version: '1.0.0',
      manifest: manifest(name, '1.0.0', description),
      files: { 'README.md': `# ${name}\n\n${readme}\n` },
    })
  }
  return alice
}
const manifest = (name: string, version: string, description: string) =>
  `name: ${name}\nversion: ${version}\ndescription: ${description}\nenvironment:\n  sdk: ^3.0.0\n`
type Found = { packages: { package: string; score: number }[] }
const names = ({ body }: { body: Found }) => body.packages.map((found) => found.package)

it('ranks matches in names before descriptions and READMEs', async () => {
  await using app = await testApp()
  const alice = await publishFixtures(app)
  const found = await alice.get('/api/search?q=http')
  expect(found).toMatchObject({ status: 200, body: { page: 1, pageSize: 50, totalCount: 5, totalPages: 1 } })
  expect(names(found)[0]).toBe('http')
  expect(names(found).slice(1, 3).toSorted()).toEqual(['http2', 'http_parser'])
  expect(names(found).slice(3)).toEqual(['dio', 'colours'])
  expect(names(await alice.get('/api/search?q=palette'))).toEqual(['colours'])
  expect(names(await alice.get('/api/search?q=nothing%20like%20this'))).toEqual([])
})

it('sorts, pages and refuses unknown parameters', async () => {
  await using app = await testApp()
  const alice = await publishFixtures(app)
  expect(names(await alice.get('/api/search?sort=name'))).toEqual(['colours', 'dio', 'http', 'http2', 'http_parser'])
  expect(names(await alice.get('/api/search?sort=created'))).toEqual(['http2', 'colours', 'dio', 'http_parser', 'http'])
  expect((await alice.get('/api/search?page=2')).body).toMatchObject({ packages: [], page: 2, totalCount: 5 })
  for (const query of ['page=0', 'page=x', 'sort=beauty', `q=${'x'.repeat(1001)}`])
    expect(await alice.get(`/api/search?${query}`)).toMatchObject({ status: 400, body: { error: { code: 'InvalidInput' } } })
  expect(await app.anonymous.get('/api/search?q=http')).toMatchObject({ status: 401 })
  const walk =
    'query ($after: String) { searchPackages(query: "http", first: 2, after: $after) { nodes { name } edges { score } pageInfo { hasNextPage endCursor } } }'
  const seen: string[] = []
  for (let after: string | null = null; ;) {
    const page = (await alice.graphql(walk, { after })).body.data.searchPackages as {
      nodes: { name: string }[]
      pageInfo: { hasNextPage: boolean; endCursor: string }
    }
    seen.push(...page.nodes.map(({ name }) => name))
    if (!page.pageInfo.hasNextPage) break
    after = page.pageInfo.endCursor
  }
  expect(seen).toHaveLength(5)
  expect(new Set(seen).size).toBe(5)
})

it('follows the latest version and completes names', async () => {
  await using app = await testApp()
  const alice = await publishFixtures(app)
  await publish(alice, {
    name: 'dio',
    version: '2.0.0',
    manifest: manifest('dio', '2.0.0', 'Something else altogether'),
    files: { 'README.md': 'Submarines.' },
  })
  expect(names(await alice.get('/api/search?q=submarines'))).toEqual(['dio'])
  expect(names(await alice.get('/api/search?q=interceptors'))).toEqual([])
  const { body } = await alice.graphql('{ completePackageNames(prefix: "http", first: 2) }')
  expect(body.data.completePackageNames).toEqual(['http', 'http2'])
})

it('never interprets the query as full-text or SQL syntax', async () => {
  await using app = await testApp()
  const alice = await publishFixtures(app)
  const nasty = [
    '"',
    "'",
    '*',
    '-http',
    'http:',
    'NEAR(a b)',
    'a AND',
    '^http',
    'http*',
    '(((',
    '\\',
    '%',
    '🦄',
    '包',
    'a\u0001b',
    '!',
    '&|',
    '<->',
    'x'.repeat(900),
  ]
  for (const query of nasty)
    expect({ query, ...(await alice.get(`/api/search?q=${encodeURIComponent(query)}`)) }).toMatchObject({ status: 200 })
  await fc.assert(
    fc.asyncProperty(
      fc.string({ unit: 'binary', maxLength: 40 }).filter((query) => !query.includes('\0')), // NUL characters are refused everywhere.
      async (query) =>
        (await alice.graphql('query ($query: String) { searchPackages(query: $query, first: 5) { totalCount nodes { name } } }', { query }))
          .body.errors === undefined,
    ),
    { numRuns: 60 },
  )
})

it('runs the same number of statements for many packages as for a few', async () => {
  await using app = await testApp()
  const alice = await publishFixtures(app)
  const look = () => alice.get('/api/search?q=http')
  await look()
  const few = await app.countQueries(look)
  for (let count = 0; count < 15; count++) await publish(alice, { name: `http_${count}`, version: '1.0.0' })
  expect(await app.countQueries(look)).toBe(few)
})

it('refuses cursors with impossible values in every order', async () => {
  await using app = await testApp()
  const alice = await app.member()
  await publish(alice, { name: 'acme', version: '1.0.0' })
  const largest = Number.MAX_SAFE_INTEGER
  for (const sort of ['SCORE', 'LIKES', 'DOWNLOADS', 'UPDATED', 'CREATED'])
    for (const place of [
      [largest, largest],
      [-largest, 0],
      [40_000, 1],
      [1.5, 1],
    ]) {
      const after = Buffer.from(JSON.stringify(place)).toString('base64url')
      const { body } = await alice.graphql(`{ searchPackages(first: 1, sort: ${sort}, after: "${after}") { nodes { name } } }`)
      const codes = (body.errors ?? []).map(({ extensions }: { extensions: { code: string } }) => extensions.code)
      expect({ sort, place, codes }).toEqual({ sort, place, codes: sort === 'SCORE' || place[0] === 1.5 ? ['InvalidInput'] : [] })
    }
})
