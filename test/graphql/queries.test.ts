import { describe, expect, it } from 'vitest'
import { readDocuments } from '../../server/platform/graphql/trusted-documents.ts'
import type { Actor } from '../actor.ts'
import { type TestApp, testApp } from '../app.ts'
import { packageArchive } from '../support/archive.ts'
import { attributeStatements } from '../support/attributed-statements.ts'
import { announce, finish, publish, sendBytes, upload } from '../support/publish.ts'

/** Returns the number of statements that `work` executes. */
async function statements(app: TestApp, work: () => Promise<{ status: number }>): Promise<number> {
  return app.countQueries(async () => expect((await work()).status).toBe(200))
}

async function publishMany(actor: Actor, count: number, packageOf: (index: number) => { name: string; version: string }) {
  for (let index = 0; index < count; index++) await publish(actor, packageOf(index))
}

const versionOf = (index: number) => ({ name: 'acme', version: `1.${index}.0` })

describe('the number of statements', () => {
  it('is two for a package listing, the token and one keyed read, plus two to write it', async () => {
    await using app = await testApp()
    const alice = await app.member()
    for (const versions of [1, 12]) {
      await publishMany(alice, versions, versionOf)
      expect(await statements(app, () => alice.get('/api/packages/acme'))).toBe(4)
      const { statements: again } = await attributeStatements(() => alice.get('/api/packages/acme'))
      expect(again).toEqual([expect.any(String), expect.stringContaining('where "p"."name" = ')])
    }
  })

  it('is the same for concurrent listings, because the listing is built once', async () => {
    await using app = await testApp()
    const alice = await app.member()
    await publishMany(alice, 3, versionOf)
    const { statements: run } = await attributeStatements(() =>
      Promise.all(Array.from({ length: 10 }, () => alice.get('/api/packages/acme'))),
    )
    expect(run.filter((sql) => sql.includes('sort_key'))).toHaveLength(1)
  })

  it('is two for an archive: the token and its row', async () => {
    await using app = await testApp()
    const alice = await app.member()
    await publishMany(alice, 3, versionOf)
    expect(await statements(app, () => alice.get('/api/archives/acme-1.1.0.tar.gz'))).toBe(2)
  })

  it('is independent of the number of versions when publishing', async () => {
    await using app = await testApp()
    const alice = await app.member()
    await publish(alice, versionOf(0))
    const counts: number[] = []
    for (const index of [1, 2, 14]) {
      await publishMany(alice, index - counts.length - 1, (offset) => ({ name: 'acme', version: `1.${index - 1}.${offset}` }))
      const uploadId = await upload(alice, await packageArchive(versionOf(index)))
      counts.push(await statements(app, () => finish(alice, uploadId)))
    }
    expect(new Set(counts).size).toBe(1)
  })

  it('is small for publishing, with one transaction per request', async () => {
    await using app = await testApp()
    const alice = await app.member()
    await publish(alice, versionOf(0))
    const archive = await packageArchive({ ...versionOf(1), pubspec: 'dependencies:\n  http: any\n  path: any' })
    const of = async <Result>(work: () => Promise<Result>) => {
      const { result, statements: run } = await attributeStatements(work)
      const transactions = run.filter((sql) => /\b(?:begin|start transaction)\b/.test(sql)).length
      return { result, transactions, statements: run.length }
    }
    const announced = await of(() => announce(alice))
    const sent = await of(() => sendBytes(alice, announced.result, archive))
    const finished = await of(() => finish(alice, announced.result))
    expect([sent.result.status, finished.result.status]).toEqual([302, 200])
    expect([announced, sent, finished].map(({ transactions }) => transactions)).toEqual([1, 1, 1])
    expect([announced, sent, finished].map(({ statements: count }) => count)).toEqual(
      app.config.DB_BACKEND === 'sqlite' ? [5, 6, 22] : [6, 7, 23],
    )
  })

  it.each([
    [
      'a page of packages',
      '{ packages(first: 50) { nodes { name latest { version publishedBy { email } description } uploaders { email } viewerCanPublish viewerCanAdminister isDiscontinued replacement { name } } totalCount } }',
    ],
    [
      'a page of versions',
      '{ package(name: "alpha0") { versions(first: 50) { nodes { version package { name } publishedBy { email } install { addCommand } archiveUrl retractableUntil viewerCanRetract viewerCanRestore } } } }',
    ],
  ])('is independent of the length of %s', async (_what, query) => {
    await using app = await testApp()
    const alice = await app.member()
    const counts: number[] = []
    for (const index of [0, 1]) {
      await publishMany(alice, 4, (offset) => ({ name: `alpha${offset + 10 * index}`, version: '1.0.0' }))
      await publishMany(alice, 4, (offset) => ({ name: 'alpha0', version: `2.${index}.${offset}` }))
      counts.push(await statements(app, () => alice.graphql(query)))
    }
    expect(counts[1]).toBe(counts[0])
  })

  it("is independent of versions, dependencies and uploaders for the console's package page", async () => {
    await using app = await testApp()
    const [alice, bob] = [await app.member(), await app.member()]
    const open = () => alice.graphql(packagePage, { name: 'acme', version: '0.0.0', exact: false, signedIn: true })
    // One dependency takes the same statements as many.
    await publish(alice, { name: 'acme', version: '0.0.0', pubspec: 'dependencies:\n  other: any' })
    expect((await open()).body).toMatchObject({ data: { package: { name: 'acme' } } })
    const before = await statements(app, open)
    await publishMany(alice, 10, (index) => versionOf(index + 1))
    const names = Array.from({ length: 12 }, (_, index) => `  other${index}: any`)
    await publish(alice, { name: 'acme', version: '2.0.0', pubspec: `dependencies:\n${names.join('\n')}` })
    expect((await alice.put(`/api/packages/acme/uploaders/${bob.email}`)).status).toBe(200)
    expect(await statements(app, open)).toBe(before)
  })
})

/** The query that the console sends when a user opens a package. */
const packagePage = [...readDocuments().values()].find((text) => text.startsWith('query Package(')) ?? ''
