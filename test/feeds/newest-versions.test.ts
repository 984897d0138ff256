import { expect, it } from 'vitest'
import { expressionBuilder } from 'kysely'
import type { Tables } from '../../server/platform/db/query.ts'
import { newestVersions } from '../../server/registry/packages/versions/releases.ts'
import { testApp } from '../app.ts'
import { publish } from '../support/publish.ts'

it('pages through the newest versions of chosen packages without gaps', async () => {
  await using app = await testApp({ config: { ENFORCE_RETRACTION_WINDOW: false } })
  const alice = await app.member()
  const publications = ['ant 1.0.0', 'bee 1.0.0', 'cat 1.0.0', 'bee 1.1.0', 'bee 1.2.0', 'ant 1.1.0', 'dog 1.0.0', 'cat 1.1.0', 'eel 1.0.0']
  for (const one of publications) {
    const [name = '', version = ''] = one.split(' ')
    await publish(alice, { name, version })
  }
  for (const one of ['eel 1.0.0', 'bee 1.2.0']) {
    const [name, version] = one.split(' ')
    await alice.put(`/api/packages/${name}/versions/${version}/options`, { isRetracted: true })
  }
  const { reads } = app.services.database
  const pagesOf = async (limit: number) => {
    const found: string[] = []
    for (let before: string | undefined; ;) {
      const isOther: Parameters<typeof newestVersions>[0] = (p) => expressionBuilder<Tables>()(p('name'), '<>', 'dog')
      const rows = await reads.all(newestVersions(isOther, limit, before).select(['v.id', 'p.name', 'v.version']))
      expect(rows.length).toBeLessThanOrEqual(limit)
      if (rows.length === 0) return found
      found.push(...rows.map(({ name, version }) => `${name} ${version}`))
      before = rows.at(-1)?.id
    }
  }
  const expected = ['cat 1.1.0', 'ant 1.1.0', 'bee 1.1.0', 'cat 1.0.0', 'bee 1.0.0', 'ant 1.0.0']
  for (const limit of [1, 2, 3, 4, 6, 50]) expect(await pagesOf(limit), `pages of ${limit}`).toEqual(expected)
})
