import { gzipSync } from 'node:zlib'
import { expect, it } from 'vitest'
import type { Actor } from '../actor.ts'
import { testApp } from '../app.ts'
import { publicApp, dependent, makePublic } from '../support/public-packages.ts'
import { publish } from '../support/publish.ts'
import { begin, reportOf, store, versionId } from '../support/reports.ts'
import { surfaceOf } from '../support/surfaces.ts'

type Excerpt = { source: string; segments: { text: string; isMatch: boolean }[] }

/** Returns the excerpts of the matches by package, with matching words in brackets. */
async function excerpts(actor: Actor, query: string): Promise<Record<string, string | null>> {
  const { body } = await actor.graphql(
    'query ($query: String) { searchPackages(query: $query, first: 20) { edges { node { name } excerpt { source segments { text isMatch } } } } }',
    { query },
  )
  const edges = body.data.searchPackages.edges as { node: { name: string }; excerpt: Excerpt | null }[]
  const shown = ({ source, segments }: Excerpt) =>
    `${source}: ${segments.map(({ text, isMatch }) => (isMatch ? `[${text}]` : text)).join('')}`
  return Object.fromEntries(edges.map(({ node, excerpt }) => [node.name, excerpt && shown(excerpt)]))
}

it('shows the part of the README that contains the words which name, description and topics lack', async () => {
  await using app = await testApp()
  const alice = await app.member()
  const readme = `# acme_http\n\n${'An introduction. '.repeat(30)}\n\n- Has **[Exponential](https://example.com/backoff) backoffs** for \`RetryClient\` <b>now</b>.\n${'More. '.repeat(100)}`
  await publish(alice, { name: 'acme_http', version: '1.0.0', pubspec: 'topics: [network]', files: { 'README.md': readme } })
  await publish(alice, { name: 'backoff', version: '1.0.0', files: { 'README.md': 'Backoff.' } })
  const found = await excerpts(alice, 'backoff')
  expect(found.backoff).toBeNull()
  expect(found.acme_http).toMatch(/^README: ….*Exponential \[backoffs\] for RetryClient now\. More\..* …$/)
  expect(found.acme_http?.length).toBeLessThan(230)
  expect((await excerpts(alice, 'retry network')).acme_http).toContain('[RetryClient]')
  expect(await excerpts(alice, 'network')).toEqual({ acme_http: null })
  expect(await excerpts(alice, '')).toEqual({ acme_http: null, backoff: null })
})

it('shows names of the public API', async () => {
  await using app = await testApp()
  const alice = await app.member()
  await publish(alice, { name: 'sets', version: '1.0.0' })
  const id = await versionId(app, 'sets')
  const surface = gzipSync(JSON.stringify(surfaceOf({ DeepCollectionEquality: 'void DeepCollectionEquality()', other: 'void other()' })))
  await store(app, id, { generation: await begin(app, id), report: reportOf(1, 1), surface })
  expect(await excerpts(alice, 'equality')).toEqual({ sets: 'API: [DeepCollectionEquality]' })
})

it('never quotes a version that is hidden from anonymous users', async () => {
  await using app = await publicApp()
  const alice = await app.member()
  await publish(alice, { name: 'kit', version: '1.0.0', files: { 'README.md': 'Open words.' } })
  await makePublic(app, 'kit')
  await publish(alice, { name: 'secret', version: '1.0.0' })
  await publish(alice, { ...dependent('kit', '2.0.0', ['secret']), files: { 'README.md': 'Confidential words.' } })
  expect(await excerpts(alice, 'kit confidential')).toEqual({ kit: 'README: [Confidential] words.' })
  for (const query of ['kit', 'kit words', 'confidential', 'kit confidential'])
    expect(JSON.stringify(await excerpts(app.anonymous, query))).not.toMatch(/confidential/i)
})
