import { expect, it } from 'vitest'
import { listOwnPackages, type OwnOrder } from '../../../server/registry/packages/service.ts'
import type { Sort } from '../../../server/platform/graphql/connections.ts'
import type { Actor } from '../../actor.ts'
import { type TestApp, testApp } from '../../app.ts'
import { makeOwned } from '../../support/ownership.ts'
import { publish } from '../../support/publish.ts'

const packagesOf = async (who: Actor, first = 10, after: string | null = null) =>
  (
    await who.graphql(
      'query ($first: Int!, $after: String) { me { packages(first: $first, after: $after) { totalCount nodes { name } pageInfo { endCursor hasNextPage } } } }',
      { first, after },
    )
  ).body.data.me.packages
const names = ({ nodes }: { nodes: { name: string }[] }) => nodes.map(({ name }) => name)

it('lists packages that a user may publish to, as an uploader or publisher member, without duplicates', async () => {
  await using app = await testApp()
  const [alice, bob] = [await app.member(), await app.member()]
  for (const name of ['zebra', 'acme']) await publish(alice, { name, version: '1.0.0' })
  await publish(bob, { name: 'other', version: '1.0.0' })
  const { admin, member } = await makeOwned(app, 'zebra')
  expect(await packagesOf(alice)).toMatchObject({ totalCount: 2, nodes: [{ name: 'acme' }, { name: 'zebra' }] })
  expect(names(await packagesOf(bob))).toEqual(['other'])
  for (const who of [admin, member]) expect(names(await packagesOf(who))).toEqual(['zebra'])
  expect((await bob.put('/api/packages/other/options', { isUnlisted: true })).status).toBe(200)
  expect(names(await packagesOf(bob))).toEqual(['other'])
  const first = await packagesOf(alice, 1)
  expect(names(first)).toEqual(['acme'])
  expect(names(await packagesOf(alice, 1, first.pageInfo.endCursor))).toEqual(['zebra'])
})

it('shows users their own activity', async () => {
  await using app = await testApp()
  const [alice, bob] = [await app.member(), await app.member()]
  await publish(alice, { name: 'acme', version: '1.0.0' })
  await publish(bob, { name: 'other', version: '1.0.0' })
  const query = '{ me { activity(first: 10) { nodes { kind package } } } }'
  const { nodes } = (await alice.graphql(query)).body.data.me.activity
  expect(nodes.map(({ kind }: { kind: string }) => kind).toSorted()).toEqual(['package.created', 'package.version_published'])
  expect(new Set(nodes.map((entry: { package: string }) => entry.package))).toEqual(new Set(['acme']))
})

it('shows the packages and activity of other users to administrators only', async () => {
  await using app = await testApp()
  const [admin, alice, bob] = [await app.admin(), await app.member(), await app.member()]
  await publish(alice, { name: 'acme', version: '1.0.0' })
  const query = '{ package(name: "acme") { uploaders { packages(first: 1) { totalCount } activity(first: 1) { totalCount } } } }'
  const look = async (who: Actor) => (await who.graphql(query)).body.data.package.uploaders[0]
  expect(await look(admin)).toEqual({ packages: { totalCount: 1 }, activity: { totalCount: 2 } })
  expect(await look(bob)).toEqual({ packages: null, activity: null })
  expect(await look(await app.withScopes(admin, ['write']))).toEqual({ packages: null, activity: null })
})

async function namesOf({ services }: TestApp, sort: Sort<OwnOrder>, first: number, many: number): Promise<string[]> {
  const em = services.database.fork()
  const [uploader] = await em.execute<{ user_id: string }[]>(
    "select u.user_id from package_uploaders u join packages p on p.id = u.package_id where p.name = 'ant'",
  )
  const names: string[] = []
  for (let after: string | null = null; ;) {
    const { edges, pageInfo, totalCount } = await listOwnPackages(em.fork(), uploader?.user_id ?? '', sort, { first, after }, many)
    names.push(...edges.map(({ node }) => node.name))
    expect(await totalCount()).toBe(5)
    if (!pageInfo.hasNextPage) return names
    after = pageInfo.endCursor
  }
}

it('returns the same pages for users with many packages as for others', async () => {
  await using app = await testApp()
  const alice = await app.member()
  const other = await app.member()
  for (const name of ['ant', 'bee', 'cat', 'dog', 'eel']) await publish(alice, { name, version: '1.0.0' })
  for (const name of ['fox', 'gnu']) await publish(other, { name, version: '1.0.0' })
  await publish(alice, { name: 'bee', version: '1.1.0' })
  // Packages that are not indexed yet count as the oldest.
  await app.services.database.fork().execute("delete from package_search_documents where name in ('ant', 'cat')")
  for (const many of [0, 4, 5, 100]) {
    for (const first of [1, 2, 3, 5, 50]) {
      for (const [by, order] of [
        ['name', ['ant', 'bee', 'cat', 'dog', 'eel']],
        ['published', ['ant', 'cat', 'dog', 'eel', 'bee']],
      ] as const) {
        expect(await namesOf(app, { by, direction: 'asc' }, first, many)).toEqual(order)
        expect(await namesOf(app, { by, direction: 'desc' }, first, many)).toEqual(order.toReversed())
      }
    }
  }
})
