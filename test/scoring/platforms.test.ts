import { afterAll, expect, it } from 'vitest'
import { openAnalyzer } from '../../server/analysis/report/analyze.ts'
import type { Actor } from '../actor.ts'
import { type TestApp, testApp } from '../app.ts'
import { runJobs } from '../support/jobs.ts'
import { publish } from '../support/publish.ts'

const analyses = { analyses: true }
const shared = openAnalyzer()
afterAll(() => shared.close())

async function scoringApp(env: Record<string, string> = {}): Promise<TestApp> {
  const app = await testApp({ env })
  app.services.analyzer = { ...shared, close: async () => {} }
  return app
}

/** Returns pubspec lines for a dependency on a package of this server. */
const dependingOn = (name: string) => `dependencies:\n  ${name}:\n    hosted: http://localhost:8080\n    version: ^1.0.0\n`

/** Publishes a package whose library imports `uri`, with the dependency that it requires. */
const publishImporting = (actor: Actor, name: string, uri: string, version = '1.0.0') => {
  const [, dependency] = /^package:([^/]+)/.exec(uri) ?? []
  return publish(actor, {
    name,
    version,
    ...(dependency && { pubspec: dependingOn(dependency) }),
    files: { [`lib/${name}.dart`]: `import '${uri}';` },
  })
}

async function tagsOf(actor: Actor, name: string): Promise<string[]> {
  const { tags } = (await actor.get(`/api/packages/${name}/score`)).body
  return tags.filter((tag: string) => /^platform:|^is:wasm/.test(tag))
}

const native = ['android', 'ios', 'windows', 'linux', 'macos'].map((name) => `platform:${name}`)
const all = [...native, 'platform:web', 'is:wasm-ready']

it('excludes platforms that transitive dependencies exclude', async () => {
  await using app = await scoringApp()
  const alice = await app.member()
  await publishImporting(alice, 'file', 'dart:io')
  await publishImporting(alice, 'glob', 'package:file/file.dart')
  await publishImporting(alice, 'build', 'package:glob/glob.dart')
  await runJobs(app, analyses)
  expect(await tagsOf(alice, 'file')).toEqual(native)
  expect(await tagsOf(alice, 'glob')).toEqual(native)
  expect(await tagsOf(alice, 'build')).toEqual(native)
  const { packages } = (await alice.get('/api/search?q=platform:web')).body
  expect(packages).toEqual([])
})

it('assumes all platforms for unknown packages and analyzes again once they are published', async () => {
  await using app = await scoringApp()
  const [alice, admin] = [await app.member(), await app.admin()]
  await publishImporting(alice, 'build', 'package:glob/glob.dart')
  await publishImporting(alice, 'glob', 'package:file/file.dart')
  await runJobs(app, analyses)
  expect([await tagsOf(alice, 'glob'), await tagsOf(alice, 'build')]).toEqual([all, all])
  await publishImporting(alice, 'file', 'dart:io')
  await runJobs(app, analyses)
  expect([await tagsOf(alice, 'glob'), await tagsOf(alice, 'build')]).toEqual([native, native])
  const count = async () => (await admin.get('/api/admin/audit-log?kind=package.scored')).body.entries.length
  const before = await count()
  // Packages that were analyzed already do not trigger another analysis.
  await publishImporting(alice, 'file', 'dart:io', '1.1.0')
  await runJobs(app, analyses)
  expect(await count()).toBe(before + 1)
})

it('terminates for circular and missing dependencies', async () => {
  await using app = await scoringApp()
  const [alice, admin] = [await app.member(), await app.admin()]
  await publishImporting(alice, 'first', 'package:second/second.dart')
  await publish(alice, {
    name: 'second',
    version: '1.0.0',
    pubspec: `${dependingOn('first')}  absent: ^1.0.0\n`,
    files: { 'lib/second.dart': "import 'package:first/first.dart'; import 'package:absent/absent.dart';" },
  })
  await runJobs(app, analyses)
  expect([await tagsOf(alice, 'first'), await tagsOf(alice, 'second')]).toEqual([all, all])
  const { jobs } = (await admin.graphql('{ jobs(first: 9, kind: "analysis") { nodes { state } } }')).body.data
  expect(jobs.nodes.map(({ state }: { state: string }) => state)).toEqual(expect.not.arrayContaining(['QUEUED', 'RUNNING']))
})

it('uses no data of private packages for a public one', async () => {
  await using app = await scoringApp({ PUBLIC_PACKAGES_ENABLED: 'true' })
  const [alice, admin] = [await app.member(), await app.admin()]
  await admin.put('/api/admin/public-packages', { enabled: true })
  await publishImporting(alice, 'secret', 'dart:io')
  await publish(alice, {
    name: 'shown',
    version: '1.0.0',
    pubspec: 'dependencies:\n  secret: ^1.0.0\n',
    files: { 'lib/shown.dart': "import 'package:secret/secret.dart';" },
  })
  await runJobs(app, analyses)
  expect(await tagsOf(alice, 'shown')).toEqual(native)
  expect((await alice.put('/api/packages/shown/visibility', { visibility: 'public', confirm: 'shown' })).status).toBe(200)
  await runJobs(app, analyses)
  expect(await tagsOf(alice, 'shown')).toEqual(all)
  expect(JSON.stringify((await app.anonymous.get('/api/packages/shown/score')).body)).not.toContain('unknownPackages')
})
