import { expect, it } from 'vitest'
import { listOwnPackages, type OwnOrder } from '../../server/registry/packages/service.ts'
import { type TestApp, testApp } from '../app.ts'
import { publish } from '../support/publish.ts'

async function namesOf({ services }: TestApp, order: OwnOrder, first: number, many: number): Promise<string[]> {
  const em = services.database.fork()
  const [uploader] = await em.execute<{ user_id: string }[]>(
    "select u.user_id from package_uploaders u join packages p on p.id = u.package_id where p.name = 'ant'",
  )
  const names: string[] = []
  for (let after: string | null = null; ;) {
    const { edges, pageInfo, totalCount } = await listOwnPackages(em.fork(), uploader?.user_id ?? '', order, { first, after }, many)
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
  // Packages that are not indexed yet come last.
  await app.services.database.fork().execute("delete from package_search_documents where name in ('ant', 'cat')")
  for (const many of [0, 4, 5, 100]) {
    for (const first of [1, 2, 3, 5, 50]) {
      expect(await namesOf(app, 'name', first, many)).toEqual(['ant', 'bee', 'cat', 'dog', 'eel'])
      expect(await namesOf(app, 'published', first, many)).toEqual(['bee', 'eel', 'dog', 'cat', 'ant'])
    }
  }
})
