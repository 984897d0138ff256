import { gzipSync } from 'node:zlib'
import { expect, it } from 'vitest'
import { completeIndex, recountDependents, storedFormat } from '../../server/registry/search/rebuild.ts'
import { writeSetting } from '../../server/platform/settings/service.ts'
import type { Actor } from '../actor.ts'
import { type TestApp, testApp } from '../app.ts'
import { dependent, makePublic, publicApp } from '../support/public-packages.ts'
import { publish } from '../support/publish.ts'
import { begin, reportOf, store, versionId } from '../support/reports.ts'
import { surfaceOf } from '../support/surfaces.ts'

type Found = { package: string; score: number }
async function search(actor: Actor, q: string): Promise<Found[]> {
  const { status, body } = await actor.get(`/api/search?q=${encodeURIComponent(q)}`)
  expect({ q, status, total: body.totalCount }).toEqual({ q, status: 200, total: body.packages.length })
  return body.packages as Found[]
}
const names = async (actor: Actor, q: string) => (await search(actor, q)).map((found) => found.package)

/** Stores an analysis whose public API declares these functions. */
async function storeApi(app: TestApp, name: string, functions: string[]): Promise<void> {
  const id = await versionId(app, name)
  const surface = gzipSync(JSON.stringify(surfaceOf(Object.fromEntries(functions.map((each) => [each, `void ${each}()`])))))
  await store(app, id, { generation: await begin(app, id), report: reportOf(1, 1), surface })
}

it('finds a package by names in its public API, after packages that mention the words elsewhere', async () => {
  await using app = await testApp()
  const alice = await app.member()
  await publish(alice, { name: 'sets', version: '1.0.0', files: { 'README.md': 'Sets.' } })
  await publish(alice, { name: 'texts', version: '1.0.0', files: { 'README.md': 'Compares by deep equality.' } })
  expect(await names(alice, 'deep equality')).toEqual(['texts'])
  await storeApi(app, 'sets', ['DeepCollectionEquality'])
  expect(await names(alice, 'deep equality')).toEqual(['texts', 'sets'])
  expect(await names(alice, 'DeepCollectionEquality')).toEqual(['sets'])
  expect(await names(alice, 'deepcollectionequality')).toEqual(['sets'])
})

it('ranks packages with more dependents higher, without revealing private ones to anonymous users', async () => {
  await using app = await publicApp()
  const alice = await app.member()
  for (const name of ['acme_one', 'acme_two']) await publish(alice, { name, version: '1.0.0' })
  await makePublic(app, 'acme_one', 'acme_two')
  const asAnonymous = await search(app.anonymous, 'acme')
  expect(asAnonymous.map((found) => found.package)).toEqual(['acme_one', 'acme_two'])
  for (const name of ['hidden_a', 'hidden_b']) await publish(alice, dependent(name, '1.0.0', ['acme_two']))
  await recountDependents(app.services)
  expect(await names(alice, 'acme')).toEqual(['acme_two', 'acme_one'])
  expect(await search(app.anonymous, 'acme')).toEqual(asAnonymous)
  await makePublic(app, 'hidden_a')
  await recountDependents(app.services)
  expect(await names(app.anonymous, 'acme')).toEqual(['acme_two', 'acme_one'])
  await alice.put('/api/packages/hidden_b/options', { isUnlisted: true })
  await alice.put('/api/packages/hidden_a/options', { isUnlisted: true })
  await recountDependents(app.services)
  expect(await names(alice, 'acme')).toEqual(['acme_one', 'acme_two'])
})

it('never reveals downloads by the order or the scores for anonymous users', async () => {
  await using app = await publicApp()
  const alice = await app.member()
  for (const name of ['acme_one', 'acme_two']) await publish(alice, { name, version: '1.0.0' })
  await makePublic(app, 'acme_one', 'acme_two')
  const before = await search(app.anonymous, 'acme')
  await app.services.database.fork().execute("update package_search_documents set downloads = 100000 where name = 'acme_two'")
  expect(await search(app.anonymous, 'acme')).toEqual(before)
  expect(await names(alice, 'acme')).toEqual(['acme_two', 'acme_one'])
})

it('ranks packages with more likes higher, then shorter names', async () => {
  await using app = await testApp()
  const alice = await app.member()
  for (const name of ['router_annotations', 'acme_router', 'router_b', 'router_a']) await publish(alice, { name, version: '1.0.0' })
  expect(await names(alice, 'router')).toEqual(['router_a', 'router_b', 'acme_router', 'router_annotations'])
  expect((await alice.put('/api/account/likes/router_b')).status).toBe(200)
  expect(await names(alice, 'router')).toEqual(['router_b', 'router_a', 'acme_router', 'router_annotations'])
})

it('corrects one typo per word, reports it and keeps filters', async () => {
  await using app = await testApp()
  const alice = await app.member()
  await publish(alice, { name: 'http_client', version: '1.0.0', pubspec: 'topics: [network]' })
  await publish(alice, { name: 'other', version: '1.0.0', files: { 'README.md': 'Mind the htpp of others.' } })
  for (const typed of ['htpp', 'htttp', 'httpp', 'hhttp', 'Htpp clients', 'htpp clinet', 'htp client', 'topic:network htpp'])
    expect({ typed, found: (await names(alice, typed))[0] }).toEqual({ typed, found: 'http_client' })
  expect(await names(alice, 'htpp')).toEqual(['http_client', 'other'])
  expect(await names(alice, 'topic:none htpp')).toEqual([])
  for (const typed of ['htxxp', 'xhtp', 'htp'])
    expect({ typed, found: (await names(alice, typed))[0] }).not.toEqual({ typed, found: 'http_client' })
  const ask = async (query: string, sort: string) => {
    const { body } = await alice.graphql(
      'query ($query: String, $sort: PackageSort) { searchPackages(query: $query, sort: $sort, first: 5) { searchedFor totalCount nodes { name } } }',
      { query, sort },
    )
    return body.data.searchPackages
  }
  for (const sort of ['RELEVANCE', 'NAME']) {
    expect(await ask('topic:network htpp', sort)).toEqual({
      searchedFor: 'topic:network http',
      totalCount: 1,
      nodes: [{ name: 'http_client' }],
    })
    expect(await ask('http', sort)).toMatchObject({ searchedFor: null })
  }
})

it('never corrects words to names that the user may not see', async () => {
  await using app = await publicApp()
  const alice = await app.member()
  for (const name of ['hidden', 'acme']) await publish(alice, { name, version: '1.0.0', files: { 'README.md': 'Not hidden.' } })
  await makePublic(app, 'acme')
  const { body } = await app.anonymous.graphql('{ searchPackages(query: "hiddn", first: 5) { searchedFor didYouMean totalCount } }')
  expect(body.data.searchPackages).toEqual({ searchedFor: null, didYouMean: [], totalCount: 0 })
  expect(await names(alice, 'hiddn')).toEqual(['hidden', 'acme'])
})

it('fills ranking data of packages that an earlier version indexed', async () => {
  await using app = await testApp()
  const alice = await app.member()
  await publish(alice, { name: 'acme', version: '1.0.0', pubspec: 'topics: [routing]' })
  await publish(alice, dependent('hidden', '1.0.0', ['acme']))
  const { database } = app.services
  await database.fork().execute("update package_search_documents set summary = '', dependents = 0")
  await writeSetting(database.fork(), storedFormat, 4)
  await completeIndex(app.services)
  const [row] = await database
    .fork()
    .execute<{ summary: string; dependents: number | string }[]>(
      "select summary, dependents from package_search_documents where name = 'acme'",
    )
  expect({ topics: row?.summary.split('\n')[0], dependents: Number(row?.dependents) }).toEqual({ topics: 'routing', dependents: 1 })
})
