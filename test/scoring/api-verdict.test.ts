import { expect, it } from 'vitest'
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
