import { expect, it } from 'vitest'
import { countDecision, type Decision, deleteOldDecisions, saveDecisions } from '../../server/registry/mirror/decisions.ts'
import { type TestApp, testApp } from '../app.ts'
import { anotherInstance } from '../support/instances.ts'

const day = 86_400_000
const start = new Date('2026-11-26T12:00:00.123Z')
const decision = (changes: Partial<Decision> = {}): Decision => ({
  outcome: 'refused',
  rule: 'minimumAge',
  packageName: 'http',
  version: '1.0.0',
  reason: 'http 1.0.0 is too young.',
  userId: null,
  ...changes,
})

async function stored(app: TestApp) {
  const rows = await app.services.database.reads.all<{ version: string; user_id: string | null; count: number; last_at: Date | number }>(
    'select version, user_id, count, last_at from mirror_decisions order by version',
  )
  return rows.map(({ version, user_id, count, last_at }) => [version, user_id, count, new Date(last_at)])
}

it('merges equal decisions in memory and in the database, and keeps the time of the last one', async () => {
  await using app = await testApp({ now: start })
  const alice = await app.member()
  for (const userId of [null, alice.id, null]) countDecision(app.services, decision({ userId, ...(userId && { version: '2.0.0' }) }))
  expect(await stored(app)).toEqual([])
  await saveDecisions(app.services)
  await saveDecisions(app.services)
  expect(await stored(app)).toEqual([
    ['1.0.0', null, 2, start],
    ['2.0.0', alice.id, 1, start],
  ])
  app.clock.now = new Date(start.getTime() + day)
  countDecision(app.services, decision())
  app.clock.now = new Date(start.getTime() - day)
  countDecision(app.services, decision({ userId: alice.id, version: '2.0.0' }))
  await saveDecisions(app.services)
  expect(await stored(app)).toEqual([
    ['1.0.0', null, 3, new Date(start.getTime() + day)],
    ['2.0.0', alice.id, 2, start],
  ])
  const differing: Partial<Decision>[] = [{ outcome: 'audited' }, { rule: 'packages' }, { packageName: 'path' }, { reason: 'Other.' }]
  for (const changes of differing) countDecision(app.services, decision({ ...changes, version: '3.0.0' }))
  await saveDecisions(app.services)
  expect(await stored(app)).toHaveLength(2 + differing.length)
})

it('adds up concurrent counts of several instances, in any order', async () => {
  await using app = await testApp({ now: start })
  await using other = await anotherInstance(app)
  const [here, there] = [app.services, (other ?? app).services]
  const versions = Array.from({ length: 120 }, (_, index) => `1.0.${index}`)
  for (let round = 0; round < 5; round++) {
    for (const version of versions) countDecision(here, decision({ version }))
    for (const version of versions.toReversed()) countDecision(there, decision({ version }))
    await Promise.all([here, there].map((services) => saveDecisions(services)))
  }
  const rows = await stored(app)
  expect(rows).toHaveLength(versions.length)
  expect(new Set(rows.map(([, , count]) => count))).toEqual(new Set([10]))
})

it('saves decisions when the server stops, and keeps counts that could not be written', async () => {
  await using app = await testApp({ now: start })
  const { database, state } = app.services
  countDecision(app.services, decision())
  await database.fork().execute('alter table mirror_decisions rename to elsewhere')
  await expect(saveDecisions(app.services)).rejects.toThrow()
  await database.fork().execute('alter table elsewhere rename to mirror_decisions')
  countDecision(app.services, decision())
  await app.http.close()
  expect(state.mirrorDecisions?.size).toBe(0)
  expect(await stored(app)).toEqual([['1.0.0', null, 2, start]])
})

it('keeps a limited number of decisions in memory and still counts known ones', async () => {
  await using app = await testApp({ now: start })
  for (let index = 0; index < 6000; index++) countDecision(app.services, decision({ version: `1.0.${index}` }))
  countDecision(app.services, decision({ version: '1.0.0' }))
  expect(app.services.state.mirrorDecisions?.size).toBe(5000)
  await saveDecisions(app.services)
  countDecision(app.services, decision({ version: '1.0.5999' }))
  await saveDecisions(app.services)
  const rows = await stored(app)
  expect(rows).toHaveLength(5001)
  expect(rows[0]).toEqual(['1.0.0', null, 2, start])
})

it('stores texts of any length and with any characters', async () => {
  await using app = await testApp({ now: start })
  const long = '😀\0'.repeat(400)
  countDecision(app.services, decision({ outcome: 'fault', rule: long, packageName: long, version: long, reason: long }))
  await saveDecisions(app.services)
  const [row] = await app.services.database.reads.all<{ reason: string }>('select reason from mirror_decisions')
  expect(row?.reason).toMatch(/^😀 😀 /)
})

it('deletes the decisions of an account along with it, also those in memory', async () => {
  await using app = await testApp({ now: start })
  const [admin, alice] = [await app.admin(), await app.member()]
  countDecision(app.services, decision({ userId: alice.id }))
  countDecision(app.services, decision({ userId: admin.id, version: '2.0.0' }))
  await saveDecisions(app.services)
  countDecision(app.services, decision({ userId: alice.id, version: '3.0.0' }))
  expect(await admin.delete(`/api/admin/users/${alice.id}`)).toMatchObject({ status: 200 })
  await saveDecisions(app.services)
  expect(await stored(app)).toEqual([['2.0.0', admin.id, 1, start]])
  expect(app.services.state.mirrorDecisions?.size).toBe(0)
})

it('deletes decisions that were not repeated for 90 days, and the oldest ones if there are too many', async () => {
  await using app = await testApp({ now: start })
  const at = async (days: number, version: string) => {
    app.clock.now = new Date(start.getTime() + days * day)
    countDecision(app.services, decision({ version }))
    await saveDecisions(app.services)
  }
  for (const [days, version] of [
    [0, '1.0.0'],
    [1, '2.0.0'],
    [2, '3.0.0'],
    [80, '1.0.0'],
  ] as const)
    await at(days, version)
  app.clock.now = new Date(start.getTime() + 91.5 * day)
  await deleteOldDecisions(app.services)
  expect((await stored(app)).map(([version]) => version)).toEqual(['1.0.0', '3.0.0'])
  await deleteOldDecisions(app.services, 2)
  expect(await stored(app)).toHaveLength(2)
  await deleteOldDecisions(app.services, 1)
  expect((await stored(app)).map(([version]) => version)).toEqual(['1.0.0'])
})
