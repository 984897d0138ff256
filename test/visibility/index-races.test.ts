import { expect, it } from 'vitest'
import type { Actor } from '../actor.ts'
import type { TestApp } from '../app.ts'
import { db } from '../../server/platform/db/query.ts'
import { isVersionPublic } from '../../server/registry/packages/conditions.ts'
import { interleave, interleavings } from '../support/interleave.ts'
import { dependent, publicApp } from '../support/public-packages.ts'
import { publish } from '../support/publish.ts'

const change = async (actor: Actor, name: string, visibility: 'public' | 'private') => {
  const answer = await actor.put(`/api/packages/${name}/visibility`, { visibility, confirm: name, acceptBreakage: true })
  expect(answer).toMatchObject({ status: 200 })
}

it('has the correct index after two dependencies change concurrently', async () => {
  await using app = await publicApp()
  const alice = await app.member()
  for (const name of ['icons', 'fonts']) await publish(alice, { name, version: '1.0.0' })
  await publish(alice, dependent('app', '1.0.0', ['icons', 'fonts']))
  await alice.put('/api/packages/app/visibility', { visibility: 'public', confirm: 'app', closure: ['fonts', 'icons'] })
  for (let round = 0; round < interleavings; round++) {
    await interleave(app, round, [() => change(alice, 'icons', 'private'), () => change(alice, 'fonts', 'private')])
    expect(await shownPackages(app)).toEqual({ app: false, fonts: false, icons: false })
    await interleave(app, round, [() => change(alice, 'icons', 'public'), () => change(alice, 'fonts', 'public')])
    expect(await shownPackages(app)).toEqual({ app: true, fonts: true, icons: true })
  }
})

it('has the correct index after a version is published while its dependency changes', async () => {
  await using app = await publicApp()
  const alice = await app.member()
  await publish(alice, { name: 'icons', version: '1.0.0' })
  await publish(alice, { name: 'app', version: '1.0.0' })
  await change(alice, 'app', 'public')
  for (let round = 0; round < interleavings * 2; round++) {
    const isPublic = round % 2 === 0
    const version = dependent('app', `1.0.${round + 1}`, ['icons'])
    await interleave(app, Math.floor(round / 2), [
      () => publish(alice, version),
      () => change(alice, 'icons', isPublic ? 'public' : 'private'),
    ])
    expect(await shownPackages(app)).toEqual({ app: isPublic, icons: isPublic })
    expect(await shownPackages(app)).toEqual(await readablePackages(app))
    // Otherwise the older versions would always depend on it.
    await app.services.database.fork().execute("delete from package_dependencies where name = 'icons'")
  }
})

/** Returns for each package whether anonymous users find it, according to the index. */
async function shownPackages({ services }: TestApp): Promise<Record<string, boolean>> {
  const rows = await services.database.reads.all<{ name: string; shown_to: number }>(
    'select name, shown_to from package_search_documents order by name',
  )
  return Object.fromEntries(rows.map(({ name, shown_to: to }) => [name, to === 2]))
}

/** Returns for each package whether anonymous users may read its latest version. */
async function readablePackages({ services }: TestApp): Promise<Record<string, boolean>> {
  const rows = await services.database.reads.all(
    db
      .selectFrom('packages as p')
      .innerJoin('package_versions as v', (join) => join.onRef('v.package_id', '=', 'p.id').onRef('v.version', '=', 'p.latest_version'))
      .select((eb) => ['p.name', isVersionPublic(eb.ref('p.visibility'), eb.ref('v.id'), services.config.SERVER_URL).as('readable')])
      .orderBy('p.name'),
  )
  return Object.fromEntries(rows.map(({ name, readable }) => [name, Boolean(readable)]))
}
