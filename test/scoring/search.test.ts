import { expect, it } from 'vitest'
import { type TestApp, testApp } from '../app.ts'
import { makePublic, publicApp } from '../support/public-packages.ts'
import { publish } from '../support/publish.ts'
import { reportOf, storeReport } from '../support/reports.ts'
import { find } from '../support/search.ts'

/** Publishes packages with a score of 100, 80 and 50 percent and one without a score. */
async function publishRanked(app: TestApp) {
  const alice = await app.member()
  for (const name of ['best', 'good', 'half', 'unknown']) await publish(alice, { name, version: '1.0.0', files: {} })
  await storeReport(
    app,
    'best',
    reportOf(120, 120, { tags: ['platform:web', 'sdk:dart', 'is:wasm-ready', 'license:bsd-3-clause', 'license:osi-approved'] }),
  )
  await storeReport(
    app,
    'good',
    reportOf(113, 140, { tags: ['is:public', 'publisher:acme', 'uploader:x', 'is:null-safe', 'platform:<script>'] }),
  )
  await storeReport(app, 'half', reportOf(10, 20))
  return alice
}

it('filters by percentage of passed checks', async () => {
  await using app = await testApp()
  const alice = await publishRanked(app)
  for (const [query, expected] of Object.entries({
    'score:>=80': ['best', 'good'],
    'score:>80': ['best'],
    'score:=50': ['half'],
    'score:50': ['half'],
    'score:<80': ['half'],
    'SCORE:<=80 score:>50': ['good'],
    '-score:>=80': ['half'],
    'score:>=80 goo': ['good'],
    'score:>=80 is:private -platform:web': ['good'],
    'score:>=0': ['best', 'good', 'half'],
    'score:>=999': [],
    'score:high': [],
  }))
    expect({ query, found: await find(alice, query) }).toEqual({ query, found: expected })
})

it('sorts by score, with unscored packages last, page by page', async () => {
  await using app = await testApp()
  const alice = await publishRanked(app)
  const { packages } = (await alice.get('/api/search?sort=score')).body
  expect(packages.map((found: { package: string }) => found.package)).toEqual(['best', 'good', 'half', 'unknown'])
  const page = (after: string | null) =>
    alice.graphql(
      'query ($after: String) { searchPackages(first: 2, after: $after, sort: SCORE) { nodes { name } pageInfo { endCursor } } }',
      { after },
    )
  const first = (await page(null)).body.data.searchPackages
  const second = (await page(first.pageInfo.endCursor)).body.data.searchPackages
  expect([...first.nodes, ...second.nodes].map(({ name }: { name: string }) => name)).toEqual(['best', 'good', 'half', 'unknown'])
})

it('feeds tags and facets but ignores ownership and visibility tags in reports', async () => {
  await using app = await testApp()
  const alice = await publishRanked(app)
  for (const [query, expected] of Object.entries({
    'platform:web': ['best'],
    'sdk:flutter': ['good', 'half', 'unknown'],
    'is:wasm-ready': ['best'],
    'is:null-safe': ['good'],
    'license:bsd-3-clause': ['best'],
    'license:unknown': ['good', 'half', 'unknown'],
    'is:public': [],
    'publisher:acme': [],
  }))
    expect({ query, found: await find(alice, query) }).toEqual({ query, found: expected })
  expect((await alice.get('/api/packages/best/score')).body.tags).toEqual([
    'sdk:dart',
    'platform:web',
    'license:bsd-3-clause',
    'is:private',
    'is:wasm-ready',
  ])
  const { facets } = (await alice.graphql('{ searchPackages(first: 1) { facets { facets { filter values { value count } } } } }')).body.data
    .searchPackages.facets
  const values = (filter: string) => facets.find((facet: { filter: string }) => facet.filter === filter)?.values
  expect(values('score')).toEqual([
    { value: '>=90', count: 1 },
    { value: '>=70', count: 2 },
    { value: '>=50', count: 3 },
  ])
  expect(values('platform')).toEqual([{ value: 'web', count: 1 }])
  const completions = (await alice.graphql('{ completeSearch(query: "score:>", first: 5) { query count } }')).body.data.completeSearch
  expect(completions).toContainEqual({ query: 'score:>=70', count: 2 })
})

it('follows the latest version and hides private packages', async () => {
  await using app = await publicApp()
  const alice = await publishRanked(app)
  await makePublic(app, 'good')
  expect(await find(app.anonymous, 'score:>=50')).toEqual(['good'])
  expect(await find(app.anonymous, 'score:<=50')).toEqual([])
  const { packages, totalCount } = (await app.anonymous.get('/api/search?q=score:>=1&sort=score')).body
  expect({ packages, totalCount }).toMatchObject({ packages: [{ package: 'good' }], totalCount: 1 })
  await publish(alice, { name: 'good', version: '1.1.0', files: {} })
  expect(await find(alice, 'score:>=80')).toEqual(['best'])
  await storeReport(app, 'good', reportOf(1, 1), '1.0.0')
  expect(await find(alice, 'score:>=80')).toEqual(['best'])
  await storeReport(app, 'good', reportOf(9, 10), '1.1.0')
  expect(await find(alice, 'score:>=80')).toEqual(['best', 'good'])
})
