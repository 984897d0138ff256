import { expect, it } from 'vitest'
import { completeIndex } from '../../server/registry/search/rebuild.ts'
import type { Actor } from '../actor.ts'
import { testApp } from '../app.ts'
import { publish } from '../support/publish.ts'

const day = 86_400_000
const start = Date.UTC(2026, 0, 1)

async function list(actor: Actor, sort: string): Promise<string[]> {
  const { body } = await actor.graphql(
    'query ($sort: PackageSort) { searchPackages(query: "", sort: $sort, first: 9) { nodes { name } } }',
    {
      sort,
    },
  )
  return (body.data.searchPackages.nodes as { name: string }[]).map(({ name }) => name)
}

it('sorts by the newest publication, whichever version it is, and separately by the last change', async () => {
  await using app = await testApp({ now: new Date(start) })
  const at = (days: number) => (app.clock.now = new Date(start + days * day))
  const alice = await app.member()
  for (const [index, published] of ['old 1.0.0', 'patched 2.0.0', 'newer 1.0.0', 'patched 1.0.1'].entries()) {
    const [name = '', version = ''] = published.split(' ')
    at(index + 1)
    await publish(alice, { name, version })
  }
  at(5)
  await alice.put('/api/packages/old/options', { isDiscontinued: true })
  expect(await list(alice, 'PUBLISHED')).toEqual(['patched', 'newer', 'old'])
  expect(await list(alice, 'UPDATED')).toEqual(['old', 'patched', 'newer'])
  const { body } = await alice.graphql('{ packages(first: 9) { nodes { name publishedAt } } }')
  expect(
    Object.fromEntries(body.data.packages.nodes.map((pkg: { name: string; publishedAt: string }) => [pkg.name, pkg.publishedAt])),
  ).toEqual({
    newer: new Date(start + 3 * day).toISOString(),
    old: new Date(start + day).toISOString(),
    patched: new Date(start + 4 * day).toISOString(),
  })

  const owner = await app.owner()
  expect((await owner.delete('/api/admin/packages/patched/versions/1.0.1')).status).toBe(200)
  expect(await list(alice, 'PUBLISHED')).toEqual(['newer', 'patched', 'old'])

  // Documents written by the previous release have no publication time.
  await app.services.database.fork().execute('update package_search_documents set published_at = 0')
  await completeIndex(app.services)
  expect(await list(alice, 'PUBLISHED')).toEqual(['newer', 'patched', 'old'])
})

it('lists the packages that a user can publish to by their newest publication, page by page', async () => {
  await using app = await testApp()
  const alice = await app.member()
  const names = ['one', 'two', 'three', 'four']
  for (const name of names) await publish(alice, { name, version: '1.0.0' })
  await publish(await app.member(), { name: 'foreign', version: '1.0.0' })
  await publish(alice, { name: 'two', version: '1.1.0' })
  const found: string[] = []
  for (let after: string | null = null, more = true; more;) {
    const { body } = await alice.graphql(
      'query ($after: String) { me { packages(first: 2, after: $after, orderBy: PUBLISHED) { totalCount nodes { name } pageInfo { hasNextPage endCursor } } } }',
      { after },
    )
    const { totalCount, nodes, pageInfo } = body.data.me.packages
    expect(totalCount).toBe(4)
    found.push(...nodes.map(({ name }: { name: string }) => name))
    after = pageInfo.endCursor
    more = pageInfo.hasNextPage
  }
  expect(found).toEqual(['two', 'four', 'three', 'one'])
  for (const after of ['a2V5OjE', 'a2V5OjEgbm8', 'x']) {
    const { body } = await alice.graphql(`{ me { packages(first: 2, after: "${after}", orderBy: PUBLISHED) { totalCount } } }`)
    expect(body.errors[0].extensions.code).toBe('InvalidInput')
  }
})
