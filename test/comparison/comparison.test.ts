import { expect, it } from 'vitest'
import type { Actor } from '../actor.ts'
import { testApp } from '../app.ts'
import { makePublic, publicApp } from '../support/public-packages.ts'
import { publish } from '../support/publish.ts'

const query = `query ($version: SemVer!, $from: SemVer) { package(name: "acme") { version(version: $version) { comparison(from: $from) {
  from { version } to { version }
  dependencies { name kind before { constraint source } after { constraint source } }
  sdks { sdk before after }
  changelog { path versions source html }
  files { totalCount bytesBefore bytesAfter changes { path previousPath status kind bytesBefore bytesAfter } }
} } } }`
async function compare(actor: Actor, version: string, from?: string) {
  const { body } = await actor.graphql(query, { version, from })
  expect(body.errors).toBeUndefined()
  return body.data.package.version.comparison
}
const fromOf = async (actor: Actor, version: string): Promise<string | undefined> => {
  const { body } = await actor.graphql(
    'query ($version: SemVer!) { package(name: "acme") { version(version: $version) { comparison { from { version } } } } }',
    { version },
  )
  return body.data.package.version.comparison?.from.version
}

const changelog =
  '# Changes\n\n## 2.0.0\n\n- Two.\n\n### Details\n\n```\n## 1.5.0\n```\n\n## [1.1.0] - 2026-01-01\n\n- One.\n\n## 1.0.0\n\n- First.\n'

it('compares the files, dependencies, SDK constraints and changelogs of two versions', async () => {
  await using app = await testApp()
  const alice = await app.member()
  await publish(alice, {
    name: 'acme',
    version: '1.0.0',
    pubspec: 'dependencies:\n  http: ^1.0.0\n  path: ^1.8.0\ndev_dependencies:\n  test: ^1.0.0\n',
    files: { 'lib/src/old.dart': 'int old() => 1;\n', 'lib/src/gone.dart': '', 'tool/run.sh': 'echo 1\n' },
  })
  await publish(alice, {
    name: 'acme',
    version: '2.0.0',
    manifest:
      'name: acme\nversion: 2.0.0\nenvironment:\n  sdk: ^3.5.0\n  flutter: ">=3.0.0"\ndependencies:\n  http: ^2.0.0\n  flutter:\n    sdk: flutter\ndev_dependencies:\n  test: ^1.0.0\n',
    files: { 'lib/src/new.dart': 'int old() => 1;\n', 'tool/run.sh': 'echo 22\n', 'CHANGELOG.md': changelog },
  })
  const { files, ...rest } = await compare(alice, '2.0.0')
  expect(rest).toEqual({
    from: { version: '1.0.0' },
    to: { version: '2.0.0' },
    dependencies: [
      { name: 'flutter', kind: 'DIRECT', before: null, after: { constraint: 'any', source: 'SDK' } },
      {
        name: 'http',
        kind: 'DIRECT',
        before: { constraint: '^1.0.0', source: 'HOSTED' },
        after: { constraint: '^2.0.0', source: 'HOSTED' },
      },
      { name: 'path', kind: 'DIRECT', before: { constraint: '^1.8.0', source: 'HOSTED' }, after: null },
    ],
    sdks: [
      { sdk: 'sdk', before: '>=3.0.0 <4.0.0', after: '^3.5.0' },
      { sdk: 'flutter', before: null, after: '>=3.0.0' },
    ],
    changelog: {
      path: 'CHANGELOG.md',
      versions: ['2.0.0', '1.1.0'],
      source: '## 2.0.0\n\n- Two.\n\n### Details\n\n```\n## 1.5.0\n```\n\n## [1.1.0] - 2026-01-01\n\n- One.',
      html: expect.stringContaining('<li>Two.</li>'),
    },
  })
  expect(files.totalCount).toBe(5)
  expect(files.changes).toEqual([
    expect.objectContaining({ path: 'CHANGELOG.md', status: 'MODIFIED', bytesAfter: changelog.length }),
    { path: 'lib/src/gone.dart', previousPath: null, status: 'REMOVED', kind: 'TEXT', bytesBefore: 0, bytesAfter: null },
    { path: 'lib/src/new.dart', previousPath: 'lib/src/old.dart', status: 'RENAMED', kind: 'TEXT', bytesBefore: 16, bytesAfter: 16 },
    expect.objectContaining({ path: 'pubspec.yaml', status: 'MODIFIED' }),
    { path: 'tool/run.sh', previousPath: null, status: 'MODIFIED', kind: 'TEXT', bytesBefore: 7, bytesAfter: 8 },
  ])
  const back = await compare(alice, '1.0.0', '2.0.0')
  expect(back.changelog.versions).toEqual(['2.0.0', '1.1.0'])
  expect(back.files).toMatchObject({ totalCount: 5, bytesBefore: files.bytesAfter, bytesAfter: files.bytesBefore })
  const same = await compare(alice, '2.0.0', '2.0.0')
  expect(same).toMatchObject({ dependencies: [], sdks: [], changelog: null, files: { totalCount: 0, changes: [] } })
  expect(await compare(alice, '2.0.0', '1.5.0')).toBeNull()
})

it('compares with the previous stable version, and with a pre-release or a retracted one if there is no other', async () => {
  await using app = await testApp()
  const alice = await app.member()
  for (const version of ['1.0.0-dev', '1.0.0', '1.1.0', '2.0.0-dev.1', '2.0.0-dev.2', '2.0.0', '2.1.0'])
    await publish(alice, { name: 'acme', version })
  expect(await fromOf(alice, '2.0.0')).toBe('1.1.0')
  expect(await fromOf(alice, '2.0.0-dev.2')).toBe('2.0.0-dev.1')
  expect(await fromOf(alice, '1.0.0')).toBe('1.0.0-dev')
  expect(await fromOf(alice, '1.0.0-dev')).toBeUndefined()
  const retract = (version: string) => alice.put(`/api/packages/acme/versions/${version}/options`, { isRetracted: true })
  expect((await retract('1.1.0')).status).toBe(200)
  expect(await fromOf(alice, '2.0.0')).toBe('1.0.0')
  for (const version of ['1.0.0', '1.0.0-dev', '2.0.0-dev.1', '2.0.0-dev.2']) expect((await retract(version)).status).toBe(200)
  expect(await fromOf(alice, '2.0.0')).toBe('1.1.0')
  expect(await fromOf(alice, '2.1.0')).toBe('2.0.0')
})

it('compares only versions that the caller may read, and hides dependencies on private packages', async () => {
  await using app = await publicApp()
  const alice = await app.member()
  const onSecret = 'dependencies:\n  secret:\n    hosted: http://localhost:8080\n    version: any\n'
  await publish(alice, { name: 'secret', version: '1.0.0' })
  await publish(alice, { name: 'acme', version: '1.0.0' })
  await publish(alice, { name: 'acme', version: '1.1.0', pubspec: onSecret })
  await publish(alice, { name: 'acme', version: '1.2.0' })
  const ask = (actor: Actor, from?: string) => actor.graphql(query, { version: '1.2.0', from })
  expect((await ask(app.anonymous)).body.data.package).toBeNull()
  await makePublic(app, 'acme')
  expect(await compare(alice, '1.2.0')).toMatchObject({ from: { version: '1.1.0' }, dependencies: [{ name: 'secret', after: null }] })
  expect(await compare(app.anonymous, '1.2.0')).toMatchObject({ from: { version: '1.0.0' }, dependencies: [] })
  expect(await compare(app.anonymous, '1.2.0', '1.1.0')).toBeNull()
})
