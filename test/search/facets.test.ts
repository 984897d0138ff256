import { expect, it } from 'vitest'
import { completeQuery, searchPackages } from '../../server/registry/search/service.ts'
import { testApp } from '../app.ts'
import { change, publishSearchFixtures } from '../support/search.ts'

it('counts the values of further filters for the current query', async () => {
  await using app = await testApp()
  const alice = await publishSearchFixtures(app)
  const facets = async (query: string) => {
    const { body } = await alice.graphql(
      'query ($query: String) { searchPackages(query: $query, first: 1) { facets { isExact facets { filter values { value count } } } } }',
      { query },
    )
    const { isExact, facets: found } = body.data.searchPackages.facets as {
      isExact: boolean
      facets: { filter: string; values: { value: string; count: number }[] }[]
    }
    return {
      isExact,
      ...Object.fromEntries(found.map(({ filter, values }) => [filter, values.map(({ value, count }) => `${value} ${count}`)])),
    }
  }
  expect(await facets('')).toEqual({
    isExact: true,
    sdk: ['dart 1'],
    platform: ['android 1', 'ios 1', 'linux 1', 'web 1'],
    topic: ['state-management 1'],
    license: ['unknown 2', 'mit 1'],
    is: ['flutter 2', 'plugin 1'],
  })
  expect(await facets('sdk:flutter -is:plugin')).toMatchObject({ sdk: ['flutter 2', 'dart 1'], platform: ['linux 1', 'web 1'] })
  expect(await facets('nothing like this')).toEqual({ isExact: true })
  expect(await facets('is:plugin is:private')).toMatchObject({ is: ['plugin 1', 'private 1'] })
  await change(app, 'camera', { visibility: 'public' })
  await change(app, 'fancy', { visibility: 'public' })
  const { database, config: here } = app.services
  const open = await (await searchPackages(database, { searcher: null, here, limit: 5 })).facets()
  expect(open.facets.map(({ filter }) => filter)).toEqual(['platform'])
  expect(JSON.stringify(open)).not.toMatch(/uploader|dependency|mit/)
})

it('completes names, filters and their values', async () => {
  await using app = await testApp()
  const alice = await publishSearchFixtures(app)
  const complete = async (query: string) => {
    const { body } = await alice.graphql('query ($query: String!) { completeSearch(query: $query, first: 9) { query count isPackage } }', {
      query,
    })
    return (body.data.completeSearch as { query: string; count: number | null }[]).map(({ query: text, count }) =>
      count === null ? text : `${text} ${count}`,
    )
  }
  expect(await complete('pl')).toEqual(['platform:', 'plain'])
  expect(await complete('platform:')).toEqual(['platform:android 1', 'platform:ios 1', 'platform:linux 1', 'platform:web 1'])
  expect(await complete('camera platform:a')).toEqual(['camera platform:android 1'])
  expect(await complete('is:plugin -li')).toEqual(['is:plugin -license:'])
  expect(await complete('-license:m')).toEqual(['-license:mit 1'])
  expect(await complete('is:un')).toEqual(['is:unlisted'])
  expect(await complete('uploader:')).toEqual(['uploader:me'])
  expect(await complete('dependency:fl')).toEqual(['dependency:flutter 2'])
  for (const query of ['', ' ', 'colour:r', '"', 'topic:"', 'is:"pl', ':', '::', 'topic:a:b', 'x'.repeat(1000)]) await complete(query)
  expect(await complete('c')).toEqual(['camera'])
  expect((await completeQuery(app.services.database, null, 'upl', 9)).length).toBe(0)
  expect(await completeQuery(app.services.database, null, 'uploader:m', 9)).toEqual([])
  expect(await completeQuery(app.services.database, null, 'license:m', 9)).toEqual([])
})
