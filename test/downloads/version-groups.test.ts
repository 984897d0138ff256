import { expect, it } from 'vitest'
import { testApp, type TestApp } from '../app.ts'
import type { Actor } from '../actor.ts'
import { attributeStatements } from '../support/attributed-statements.ts'
import { storeDownloads } from '../support/download-history.ts'
import { publish } from '../support/publish.ts'

type Answer = { weeks: string[]; groups: { name: string; kind: string; downloads: number[] }[] }

const now = new Date('2026-03-31T12:00:00.000Z')

async function byVersion(actor: Actor, options: string): Promise<Answer> {
  const { body } = await actor.graphql(
    `{ package(name: "acme") { downloads { byVersion(${options}) { weeks groups { name kind downloads } } } } }`,
  )
  expect(body.errors).toBeUndefined()
  return body.data.package.downloads.byVersion
}

const totals = ({ groups }: Answer) => groups.map(({ name, kind, downloads }) => [name, kind, downloads.reduce((sum, one) => sum + one, 0)])

async function withVersions(app: TestApp, ...versions: string[]) {
  const alice = await app.member()
  for (const version of versions) await publish(alice, { name: 'acme', version })
  return alice
}

it('groups weekly downloads by major or minor version', async () => {
  await using app = await testApp({ now })
  const alice = await withVersions(app, '1.0.0', '1.9.0', '1.10.0-dev.1', '10.0.0')
  await storeDownloads(app, 'acme', '1.0.0', [
    [0, 1],
    [6, 2],
    [7, 4],
    [370, 100],
  ])
  await storeDownloads(app, 'acme', '1.9.0', [[1, 8]])
  await storeDownloads(app, 'acme', '1.10.0-dev.1', [[1, 16]])
  await storeDownloads(app, 'acme', '10.0.0', [[90, 32]])
  const major = await byVersion(alice, 'by: MAJOR, weeks: 13')
  expect(major.weeks).toHaveLength(13)
  expect(major.weeks.at(-1)).toBe('2026-03-25T00:00:00.000Z')
  expect(major.groups).toMatchObject([
    { name: '10.x', kind: 'VERSIONS', downloads: [32, ...Array(12).fill(0)] },
    { name: '1.x', kind: 'VERSIONS', downloads: [...Array(11).fill(0), 4, 27] },
  ])
  expect(totals(await byVersion(alice, 'by: MINOR, weeks: 2'))).toEqual([
    ['1.10.x', 'VERSIONS', 16],
    ['1.9.x', 'VERSIONS', 8],
    ['1.0.x', 'VERSIONS', 7],
  ])
})

it('omits weeks before the first download, but not the last 13', async () => {
  await using app = await testApp({ now })
  const alice = await withVersions(app, '1.0.0')
  expect(await byVersion(alice, 'weeks: 520')).toMatchObject({ weeks: Array(13).fill(expect.any(String)), groups: [] })
  await storeDownloads(app, 'acme', '1.0.0', [[200, 1]])
  const { weeks, groups } = await byVersion(alice, 'weeks: 520')
  expect(weeks).toHaveLength(29)
  expect(groups[0]?.downloads).toEqual([1, ...Array(28).fill(0)])
})

it('adds up rarely downloaded groups and deleted versions, in one statement', async () => {
  await using app = await testApp({ now })
  const majors = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]
  const alice = await withVersions(app, ...majors.map((major) => `${major}.0.0`))
  for (const major of majors) await storeDownloads(app, 'acme', `${major}.0.0`, [[3, major * 10]])
  await app.services.database.fork().execute("delete from package_versions where version = '10.0.0'")
  await byVersion(alice, 'weeks: 4')
  const { result: answer, statements } = await attributeStatements(() => byVersion(alice, 'weeks: 4'))
  expect(statements.filter((sql) => sql.includes('downloads'))).toHaveLength(1)
  expect(totals(answer)).toEqual([
    ...[9, 8, 7, 6, 5, 4, 3].map((major) => [`${major}.x`, 'VERSIONS', major * 10]),
    ['Other major versions', 'OTHER', 30],
    ['Deleted versions', 'DELETED', 100],
  ])
})

it('refuses other numbers of weeks, and shows no downloads without signing in', async () => {
  await using app = await testApp({ now, env: { PUBLIC_PACKAGES_ENABLED: 'true' } })
  const alice = await withVersions(app, '1.0.0')
  for (const weeks of [0, -1, 521]) {
    const { body } = await alice.graphql(`{ package(name: "acme") { downloads { byVersion(weeks: ${weeks}) { weeks } } } }`)
    expect(body.errors).toMatchObject([{ extensions: { code: 'InvalidInput' } }])
  }
  const { body } = await app.anonymous.graphql('{ package(name: "acme") { downloads { byVersion { weeks } } } }')
  expect(body.data?.package?.downloads ?? null).toBeNull()
})
