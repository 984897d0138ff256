import { gzipSync } from 'node:zlib'
import { expect, it } from 'vitest'
import { readApi } from '../../server/analysis/dart/read-api.ts'
import { surfaceOf } from '../../server/analysis/dart/surface.ts'
import type { Actor } from '../actor.ts'
import { type TestApp, testApp } from '../app.ts'
import { makePublic, publicApp } from '../support/public-packages.ts'
import { publish } from '../support/publish.ts'
import { begin, reportOf, store, versionId } from '../support/reports.ts'

/** Publishes and analyzes a version with a single library of this source. */
async function publishAnalyzed(app: TestApp, alice: Actor, version: string, source: string, pubspec = '') {
  await publish(alice, { name: 'acme', version, pubspec, files: { 'lib/acme.dart': source } })
  const id = await versionId(app, 'acme', version)
  const surface = surfaceOf(await readApi(new Map([['lib/acme.dart', source]]), 'acme'))
  await store(app, id, { generation: await begin(app, id), report: reportOf(1, 1), surface: gzipSync(JSON.stringify(surface)) })
}

const query = `query ($version: SemVer!, $from: SemVer) { package(name: "acme") { version(version: $version) { apiChanges(from: $from) {
  from isHonest verdict addedCount removedCount changedCount
  added { kind name } removed { library kind name signature } changed { name before after breaks }
} } } }`
const changes = async (actor: Actor, version: string, from?: string) =>
  (await actor.graphql(query, { version, from })).body.data.package.version.apiChanges

it('lists API changes since the previous or a given version and judges the version number', async () => {
  await using app = await testApp()
  const alice = await app.member()
  await publishAnalyzed(app, alice, '1.0.0', 'class A { void run() {} }\nint one() => 1;\nint two() => 2;\n')
  await publishAnalyzed(app, alice, '1.1.0', 'class A { void run() {} }\nint one(String name) => 1;\nint three() => 3;\n')
  await publishAnalyzed(app, alice, '2.0.0-dev', 'int one(String name) => 1;\n')
  await publishAnalyzed(app, alice, '1.2.0', 'class A { void run() {} }\nint one(String name) => 1;\nint three() => 3;\nint four() => 4;\n')
  expect(await changes(alice, '1.1.0')).toEqual({
    from: '1.0.0',
    isHonest: false,
    verdict: '1 removal and 1 breaking change in a minor release',
    addedCount: 1,
    removedCount: 1,
    changedCount: 1,
    added: [{ kind: 'function', name: 'three' }],
    removed: [{ library: 'acme.dart', kind: 'function', name: 'two', signature: 'int two()' }],
    changed: [{ name: 'one', before: 'int one()', after: 'int one(String name)', breaks: [expect.any(String)] }],
  })
  // Stable versions are not compared with prereleases.
  expect(await changes(alice, '1.2.0')).toMatchObject({ from: '1.1.0', isHonest: true, verdict: null, addedCount: 1, removedCount: 0 })
  expect(await changes(alice, '2.0.0-dev')).toMatchObject({ from: '1.2.0', isHonest: true })
  expect(await changes(alice, '1.2.0', '1.0.0')).toMatchObject({ from: '1.0.0', isHonest: false })
  expect(await changes(alice, '1.0.0', '1.2.0')).toMatchObject({ isHonest: null, verdict: null, removedCount: 2 })
  expect(await changes(alice, '1.0.0')).toBeNull()
  expect(await changes(alice, '1.1.0', '9.9.9')).toBeNull()
  await publish(alice, { name: 'acme', version: '1.3.0' })
  expect(await changes(alice, '1.3.0')).toBeNull()
})

it('compares as many versions as the query cost allows', async () => {
  await using app = await testApp()
  const alice = await app.member()
  for (let minor = 0; minor <= 20; minor++) await publishAnalyzed(app, alice, `1.${minor}.0`, 'int one() => 1;\n')
  const ask = (first: number) =>
    alice.graphql('query ($first: Int) { package(name: "acme") { versions(first: $first) { nodes { apiChanges { from } } } } }', { first })
  const { status, body } = await ask(20)
  expect(body.errors).toBeUndefined()
  expect(status).toBe(200)
  expect(body.data.package.versions.nodes.map(({ apiChanges }: { apiChanges: object }) => apiChanges)).toEqual(
    Array.from({ length: 20 }, (_, index) => ({ from: `1.${19 - index}.0` })),
  )
  expect(await ask(21)).toMatchObject({
    status: 400,
    body: { errors: [{ message: expect.stringMatching(/^This query costs 5\d\d\d, /) }] },
  })
})

it('hides the API of versions that the user may not read', async () => {
  await using app = await publicApp()
  const alice = await app.member()
  await publish(alice, { name: 'secret', version: '1.0.0' })
  await publishAnalyzed(app, alice, '1.0.0', 'int one() => 1;\n')
  await publishAnalyzed(
    app,
    alice,
    '1.1.0',
    'int hidden() => 1;\n',
    'dependencies:\n  secret:\n    hosted: http://localhost:8080\n    version: any\n',
  )
  await publishAnalyzed(app, alice, '1.2.0', 'int one() => 1;\nint two() => 2;\n')
  await makePublic(app, 'acme')
  expect(await changes(alice, '1.2.0')).toMatchObject({ from: '1.1.0', removed: [{ name: 'hidden' }] })
  expect(await changes(app.anonymous, '1.2.0')).toMatchObject({ from: '1.0.0', addedCount: 1, removedCount: 0 })
  expect(await changes(app.anonymous, '1.2.0', '1.1.0')).toBeNull()
})
