import { gzipSync } from 'node:zlib'
import { expect, it } from 'vitest'
import { readApi } from '../../server/analysis/dart/read-api.ts'
import { surfaceOf } from '../../server/analysis/dart/surface.ts'
import type { Actor } from '../actor.ts'
import { testApp } from '../app.ts'
import { runJobs } from '../support/jobs.ts'
import { dependent, makePublic, publicApp } from '../support/public-packages.ts'
import { publish } from '../support/publish.ts'
import { begin, reportOf, store, versionId } from '../support/reports.ts'

const verdicts = async (actor: Actor) => {
  const query = '{ package(name: "acme") { versions(first: 10) { nodes { version apiVerdict { from compatibility isHonest } } } } }'
  const { body } = await actor.graphql(query)
  const nodes = body.data.package.versions.nodes as { version: string; apiVerdict: object | null }[]
  return nodes.map(({ version, apiVerdict }) => [version, ...Object.values(apiVerdict ?? {})].join(' '))
}

it('stores how the public API changed when a version is analyzed', async () => {
  await using app = await testApp()
  const alice = await app.member()
  const sources = {
    '1.0.0': 'int one() => 1;\n',
    '1.1.0': 'int one() => 1;\nint two() => 2;\n',
    '1.2.0': 'int two() => 2;\n',
    '2.0.0': 'int two() => 3;\n',
    '3.0.0-dev': '',
  }
  for (const [version, source] of Object.entries(sources)) {
    await publish(alice, { name: 'acme', version, files: { 'lib/acme.dart': source } })
    await runJobs(app, { analyses: true })
  }
  await publish(alice, { name: 'acme', version: '3.0.0' })
  expect(await verdicts(alice)).toEqual([
    '3.0.0',
    '3.0.0-dev 2.0.0 BREAKING true',
    '2.0.0 1.2.0 NONE true',
    '1.2.0 1.1.0 BREAKING false',
    '1.1.0 1.0.0 ADDITIVE true',
    '1.0.0',
  ])
  // A later analysis replaces the result, also when there is nothing to compare with any more.
  const id = await versionId(app, 'acme', '1.1.0')
  await store(app, id, { generation: await begin(app, id), report: reportOf(1, 1), surface: Buffer.from('x'), apiVerdict: null })
  expect((await verdicts(alice)).at(-2)).toBe('1.1.0')
})

it('compares with an earlier version when the version that it compared with is deleted', async () => {
  await using app = await testApp()
  const [alice, admin] = [await app.member(), await app.admin()]
  const sources = { '1.0.0': '', '1.1.0': 'int one() => 1;\nint two() => 2;\n', '1.2.0': 'int two() => 2;\n' }
  for (const [version, source] of Object.entries(sources)) {
    await publish(alice, { name: 'acme', version, files: { 'lib/acme.dart': source } })
    await runJobs(app, { analyses: true })
  }
  expect(await verdicts(alice)).toEqual(['1.2.0 1.1.0 BREAKING false', '1.1.0 1.0.0 ADDITIVE true', '1.0.0'])
  expect(await admin.delete('/api/admin/packages/acme/versions/1.1.0')).toMatchObject({ status: 200 })
  // Until the new analysis, the comparison is unknown.
  expect(await verdicts(alice)).toEqual(['1.2.0', '1.0.0'])
  await runJobs(app, { analyses: true })
  expect(await verdicts(alice)).toEqual(['1.2.0 1.0.0 ADDITIVE true', '1.0.0'])
})

const wholeChanges =
  '{ package(name: "acme") { versions(first: 10) { nodes { version apiVerdict { from compatibility } apiChanges { from removedCount addedCount } score { isIncomplete report { notes } } } } } }'

it.each([
  ['the earlier version', '1.0.0', 'int one() => 1;\nint two() => 2;\n', { compatibility: 'BREAKING' }, { removedCount: 1, addedCount: 0 }],
  ['the later version', '1.1.0', '', { compatibility: 'BREAKING' }, { removedCount: 1, addedCount: 0 }],
])(
  'updates the changes, the verdict and the note when %s is analyzed again with another result',
  async (_, again, source, verdict, counts) => {
    await using app = await testApp()
    const [alice, admin] = [await app.member(), await app.admin()]
    for (const version of ['1.0.0', '1.1.0'])
      await publish(alice, { name: 'acme', version, files: { 'lib/acme.dart': 'int one() => 1;\n' } })
    await runJobs(app, { analyses: true })
    const changes = async () => (await alice.graphql(wholeChanges)).body.data.package.versions.nodes[0]
    expect(await changes()).toMatchObject({ apiVerdict: { from: '1.0.0', compatibility: 'NONE' }, apiChanges: { removedCount: 0 } })
    // As after a former analysis that read less.
    const id = await versionId(app, 'acme', again)
    const surface = gzipSync(JSON.stringify(surfaceOf(await readApi(new Map([['lib/acme.dart', source]]), 'acme'))))
    const apiVerdict = again === '1.1.0' ? ({ from: '1.0.0', verdict: 'breaking', isHonest: false } as const) : null
    await store(app, id, { generation: await begin(app, id), report: reportOf(1, 1), surface, apiVerdict })
    expect((await changes()).apiChanges).toEqual({ from: '1.0.0', ...counts })
    if (again === '1.1.0') expect((await changes()).apiVerdict).toMatchObject(verdict)
    expect(await admin.post(`/api/admin/packages/acme/versions/${again}/rescore`, {})).toMatchObject({ status: 200 })
    await runJobs(app, { analyses: true })
    expect(await changes()).toMatchObject({
      apiVerdict: { from: '1.0.0', compatibility: 'NONE' },
      apiChanges: { removedCount: 0, addedCount: 0 },
    })
  },
)

it('compares a version again when the version before it is analyzed later', async () => {
  await using app = await testApp()
  const [alice, admin] = [await app.member(), await app.admin()]
  const sources = {
    '1.0.0': 'int one() => 1;\n',
    '1.1.0': 'int one() => 1;\nint two() => 2;\n',
    '1.2.0-dev': '',
    '1.2.0': 'int one() => 1;\n',
  }
  for (const [version, source] of Object.entries(sources))
    await publish(alice, { name: 'acme', version, files: { 'lib/acme.dart': source } })
  await app.services.database.fork().execute('delete from jobs')
  for (const version of ['1.2.0', '1.2.0-dev', '1.1.0', '1.0.0']) {
    await admin.post(`/api/admin/packages/acme/versions/${version}/rescore`, {})
    await runJobs(app, { analyses: true })
  }
  expect(await verdicts(alice)).toEqual([
    '1.2.0 1.1.0 BREAKING false',
    '1.2.0-dev 1.1.0 BREAKING false',
    '1.1.0 1.0.0 ADDITIVE true',
    '1.0.0',
  ])
  // A version between two others takes the place of the earlier one.
  await publish(alice, { name: 'acme', version: '1.1.1', files: { 'lib/acme.dart': 'int one() => 1;\n' } })
  await runJobs(app, { analyses: true })
  expect(await verdicts(alice)).toEqual([
    '1.2.0 1.1.1 NONE true',
    '1.2.0-dev 1.1.1 BREAKING false',
    '1.1.1 1.1.0 BREAKING false',
    '1.1.0 1.0.0 ADDITIVE true',
    '1.0.0',
  ])
})

it('does not compare versions whose analysis is incomplete', async () => {
  await using app = await testApp()
  const alice = await app.member()
  const complex = `int f({int x = ${'a ? [b] : '.repeat(1200)}c}) => x;`
  for (const [version, source] of Object.entries({ '1.0.0': 'int one() => 1;\n', '1.1.0': complex, '1.2.0': 'int one() => 1;\n' })) {
    await publish(alice, { name: 'acme', version, files: { 'lib/acme.dart': source } })
    await runJobs(app, { analyses: true })
  }
  const { body } = await alice.graphql(wholeChanges)
  expect(body.data.package.versions.nodes).toMatchObject([
    { version: '1.2.0', apiVerdict: null, apiChanges: null, score: { isIncomplete: false } },
    {
      version: '1.1.0',
      apiVerdict: null,
      apiChanges: null,
      score: {
        isIncomplete: true,
        report: { notes: expect.arrayContaining([expect.stringContaining('Too complex to be read: `acme.dart`')]) },
      },
    },
    { version: '1.0.0', apiVerdict: null, apiChanges: null, score: { isIncomplete: false } },
  ])
  const report = await alice.get('/api/packages/acme/versions/1.1.0/scoring-report')
  expect(report.body).toMatchObject({ status: 'completed', isIncomplete: true })
  expect((await alice.get('/api/packages/acme/versions/1.1.0/score')).body).toMatchObject({ isIncomplete: true })
})

it('does not show versions that anonymous callers cannot read', async () => {
  await using app = await publicApp()
  const alice = await app.member()
  await publish(alice, { name: 'secret', version: '1.0.0' })
  await publish(alice, { name: 'acme', version: '1.0.0' })
  await publish(alice, dependent('acme', '2.0.0', ['secret']))
  await makePublic(app, 'acme')
  const id = await versionId(app, 'acme', '2.0.0')
  const apiVerdict = { from: '1.0.0', verdict: 'breaking', isHonest: true } as const
  await store(app, id, { generation: await begin(app, id), report: reportOf(1, 1), surface: Buffer.from('x'), apiVerdict })
  expect(await verdicts(alice)).toEqual(['2.0.0 1.0.0 BREAKING true', '1.0.0'])
  expect(await verdicts(app.anonymous)).toEqual(['1.0.0'])
})
