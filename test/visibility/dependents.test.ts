import { expect, it } from 'vitest'
import type { Actor } from '../actor.ts'
import type { TestApp } from '../app.ts'
import { dependent, makePublic, publicApp } from '../support/public-packages.ts'
import { publish, publishArchive } from '../support/publish.ts'
import { packageArchive } from '../support/archive.ts'

const change = async (actor: Actor, visibility: 'public' | 'private') => {
  const body = { visibility, confirm: 'icons', acceptBreakage: true }
  expect(await actor.put('/api/packages/icons/visibility', body)).toMatchObject({ status: 200 })
}

/** Publishes packages that depend on "icons", numbered from `from` to `to`. */
async function publishDependents(app: TestApp, from: number, to: number): Promise<string[]> {
  const alice = await app.member()
  const names = Array.from({ length: to - from }, (_, index) => `user_${from + index}`)
  for (const name of names)
    await publish(alice, {
      ...dependent(name, '1.0.0', ['icons']),
      files: { 'README.md': `# ${name}\n\nDraws ${name} and **other** icons.` },
    })
  return names
}

/** Returns who may find each package according to the index, with its terms on PostgreSQL. */
async function readIndex({ services, config }: TestApp) {
  const terms = config.DB_BACKEND === 'postgres' ? ', b.terms::text as brief, f.terms::text as full_terms' : ''
  return services.database.reads.all<{ name: string; shown_to: number }>(
    `select d.name, d.shown_to${terms} from package_search_documents d
     ${terms && 'join package_search_brief b on b.id = d.id join package_search_full f on f.id = d.id'} order by d.name`,
  )
}

it('changes the visibility of many dependents with the same number of statements as of a few', async () => {
  await using app = await publicApp()
  const alice = await app.member()
  await publish(alice, { name: 'icons', version: '1.0.0' })
  const names: string[] = []
  const counts: Record<'hidden' | 'shown', number[]> = { hidden: [], shown: [] }
  const count = async () => {
    await change(alice, 'public')
    return (await app.countQueries(() => change(alice, 'private'))) + (await app.countQueries(() => change(alice, 'public')))
  }
  for (const [from, to] of [
    [0, 3],
    [3, 30],
  ] as const) {
    names.push(...(await publishDependents(app, from, to)))
    await count()
    counts.hidden.push(await count())
    await change(alice, 'private')
  }
  expect(counts.hidden[1]).toBe(counts.hidden[0])
  // Members find private dependents in every state.
  expect(new Set((await readIndex(app)).map((row) => row.shown_to))).toEqual(new Set([1]))

  await change(alice, 'public')
  for (const group of [names.slice(0, 3), names]) {
    await makePublic(app, ...group)
    const before = await readIndex(app)
    counts.shown.push(await count())
    // After both changes, every entry equals a newly created one.
    expect(await readIndex(app)).toEqual(before)
    expect(before.filter((row) => row.shown_to === 2)).toHaveLength(group.length + 1)
  }
  expect(counts.shown[1]).toBe(counts.shown[0])
})

it('allows reads and publishes while many dependents of a package change', async () => {
  await using app = await publicApp({ env: { DB_LOCK_TIMEOUT_MS: '700' } })
  const alice = await app.member()
  await publish(alice, { name: 'icons', version: '1.0.0' })
  await change(alice, 'public')
  const names = await publishDependents(app, 0, 60)
  await makePublic(app, ...names.slice(0, 30))
  for (const visibility of ['private', 'public', 'private', 'public'] as const) {
    const archive = await packageArchive(dependent(`beside_${visibility}_${app.queries.length}`, '1.0.0', ['icons']))
    const state = { isDone: false, answered: 0 }
    // The change takes so few statements that few requests run concurrently. None of them may be refused.
    const changing = change(alice, visibility).finally(() => (state.isDone = true))
    const publishing = publishArchive(alice, archive)
    while (!state.isDone) {
      expect((await app.anonymous.get('/api/v1/health')).status).toBe(200)
      state.answered++
    }
    await changing
    expect(await publishing).toMatchObject({ status: 200 })
    expect(state.answered).toBeGreaterThan(0)
  }
})
