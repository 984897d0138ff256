import { sql } from 'kysely'
import { expect, it } from 'vitest'
import { newId } from '../../server/platform/db/base.ts'
import { db } from '../../server/platform/db/query.ts'
import { onJobCommitted, countJobs, enqueue, enqueueFrom, turnMs } from '../../server/platform/jobs/queue.ts'
import { testApp } from '../app.ts'
import { publish } from '../support/publish.ts'

const now = new Date('2030-01-01T00:00:00.000Z')

/** Selects the versions, newest first, as subjects. */
const versions = db
  .selectFrom('package_versions')
  .select(({ cast }) => [cast<string>('id', 'varchar').as('subject'), sql<number>`row_number() over (order by id desc) - 1`.as('place')])

it('enqueues a job for each row: owners take turns, other jobs start one after the other', async () => {
  await using app = await testApp()
  const alice = await app.member()
  for (const version of ['1.0.0', '1.1.0', '1.2.0']) await publish(alice, { name: 'acme', version })
  const { database } = app.services
  const em = database.fork()
  const rows = await database.reads.all(db.selectFrom('package_versions').select(['id', 'version']).orderBy('id', 'desc'))
  await enqueue(em, { kind: 'owned', subject: newId(), owner: alice.id }, now)
  expect(await enqueueFrom(em, { kind: 'owned', owner: alice.id, payload: { to: 3 } }, versions, now)).toBe(3)
  expect(await enqueueFrom(em, { kind: 'timed', priority: 10 }, versions, now)).toBe(3)
  const jobs = db
    .selectFrom('jobs')
    .select(['id', 'created_at', 'subject', 'payload', 'state', 'priority', 'run_at', 'owner', 'turn'])
    .orderBy('turn')
    .orderBy('run_at')
  const common = { id: expect.stringMatching(/^[0-9a-f-]{36}$/), created_at: now, state: 'queued' }
  const owned = { ...common, payload: '{"to":3}', priority: 0, run_at: now, owner: alice.id }
  expect((await database.reads.all(jobs.where('kind', '=', 'owned'))).slice(1)).toEqual(
    rows.map(({ id }, place) => ({ ...owned, subject: id, turn: now.getTime() + (place + 1) * turnMs })),
  )
  const timed = { ...common, payload: '{}', priority: 10, owner: null, turn: 0 }
  expect(await database.reads.all(jobs.where('kind', '=', 'timed'))).toEqual(
    rows.map(({ id }, place) => ({ ...timed, subject: id, run_at: new Date(now.getTime() + place) })),
  )
})

it('skips subjects that wait, and wakes the workers once', async () => {
  await using app = await testApp()
  const alice = await app.member()
  await publish(alice, { name: 'acme', version: '1.0.0' })
  const { database } = app.services
  const em = database.fork()
  const before = await countJobs(database.reads)
  let woken = 0
  const stop = onJobCommitted(em, () => woken++)
  const runAt = new Date(now.getTime() + 1000)
  expect(await em.transactional((inner) => enqueueFrom(inner, { kind: 'some', runAt }, versions, now))).toBe(1)
  expect(await em.transactional((inner) => enqueueFrom(inner, { kind: 'some' }, versions, now))).toBe(0)
  expect(await em.transactional((inner) => enqueueFrom(inner, { kind: 'none' }, versions.where('version', '=', '9.9.9'), now))).toBe(0)
  stop()
  expect(woken).toBe(1)
  expect((await countJobs(database.reads)).queued).toBe(before.queued + 1)
  expect(await database.reads.get(db.selectFrom('jobs').select('run_at').where('kind', '=', 'some'))).toEqual({ run_at: runAt })
})
