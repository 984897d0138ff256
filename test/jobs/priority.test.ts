import { setTimeout as sleep } from 'node:timers/promises'
import { expect, it } from 'vitest'
import { z } from 'zod'
import { readRow, skipsSync, withoutSync } from '../../server/platform/db/statements.ts'
import { backOffMs } from '../../server/platform/jobs/attempt.ts'
import { claim } from '../../server/platform/jobs/lease.ts'
import { handler, PermanentFailure } from '../../server/platform/jobs/handler.ts'
import { countJobs, enqueue, type NewJob } from '../../server/platform/jobs/queue.ts'
import { startWorker } from '../../server/platform/jobs/worker.ts'
import { type TestApp, testApp } from '../app.ts'
import { publish } from '../support/publish.ts'
import { versionId } from '../support/reports.ts'

const anything = z.unknown()
const enqueueJob = ({ services }: TestApp, job: NewJob) => services.database.fork().transactional((em) => enqueue(em, job, services.now()))

it('claims the lowest priority first, then the job that has been due longest', async () => {
  await using app = await testApp()
  const at = (seconds: number) => new Date(Date.now() - seconds * 1000)
  await enqueueJob(app, { kind: 'work', subject: 'oldest, but later', priority: 10, runAt: at(90) })
  await enqueueJob(app, { kind: 'work', subject: 'second', runAt: at(10) })
  await enqueueJob(app, { kind: 'work', subject: 'first', runAt: at(20) })
  await enqueueJob(app, { kind: 'work', subject: 'third', priority: 10, runAt: at(5) })
  // Enqueuing a job again with a more urgent priority moves it forward.
  await enqueueJob(app, { kind: 'work', subject: 'third', runAt: at(4) })
  const seen: string[] = []
  const worker = startWorker(app.services, {
    work: handler(anything, async ({ subject }) => void seen.push(subject), { maxConcurrent: 1 }),
  })
  await worker.settled()
  await worker.stop()
  expect(seen).toEqual(['first', 'second', 'third', 'oldest, but later'])
})

it('skips a locked job instead of waiting for it', async () => {
  await using app = await testApp()
  const { database, now } = app.services
  if (database.backend === 'sqlite') return expect(await claim(database.fork(), ['work'], now(), 1, { backOffMs })).toBeNull() // SQLite has no row locks.
  const next = async () => (await claim(database.fork(), ['work'], now(), 60_000, { backOffMs }))?.subject
  await enqueueJob(app, { kind: 'work', subject: 'lost' })
  await claim(database.fork(), ['work'], now(), -1, { backOffMs })
  await enqueueJob(app, { kind: 'work', subject: 'waits' })
  await database.fork().transactional(async (em) => {
    await em.execute("select 1 from jobs where subject = 'lost' for update")
    expect([await next(), await next()]).toEqual(['waits', undefined])
  })
  expect(await next()).toBe('lost')
})

it('analyzes a new version before a backlog of a thousand, without reading the backlog', async () => {
  await using app = await testApp()
  const [alice, admin] = [await app.member(), await app.admin()]
  await publish(alice, { name: 'acme', version: '1.0.0' })
  const em = app.services.database.fork()
  const base = await versionId(app, 'acme')
  await em.execute('delete from jobs')
  const rows = Array.from({ length: 1000 }, (_, index) => [
    `00000000-0000-7000-8000-${String(index).padStart(12, '0')}`,
    `1.0.${index + 1}`,
  ])
  const columns = 'created_at, package_id, sort_key, is_prerelease, archive_sha256, archive_bytes, archive_crc32c, pubspec'
  await em.transactional(async (inner) => {
    for (const [id, version] of rows)
      await inner.execute(
        `insert into package_versions (id, version, ${columns}) select ?, ?, ${columns} from package_versions where id = ?`,
        [id, version, base],
      )
  })
  expect((await admin.post('/api/admin/sdk/score-remaining')).body).toEqual({ queued: 1001 })
  await publish(alice, { name: 'fresh', version: '1.0.0' })
  const held = await claim(em, ['analysis'], app.services.now(), 60_000, { backOffMs })
  expect(held?.subject).toBe(await versionId(app, 'fresh'))
  expect((await claim(em, ['analysis'], app.services.now(), 60_000, { backOffMs }))?.subject).toBe(base)
  const plan = app.config.DB_BACKEND === 'sqlite' ? 'explain query plan' : 'explain'
  const due = `select * from jobs where kind in ('analysis') and state = 'queued' and run_at <= ${app.config.DB_BACKEND === 'sqlite' ? Date.now() : 'now()'}`
  await em.execute('analyze jobs')
  const steps = await em.execute<object[]>(`${plan} ${due} order by priority, run_at, id limit 1`)
  expect(JSON.stringify(steps)).toMatch(/jobs_kind_state_priority_run_at_id_index/)
  expect(JSON.stringify(steps)).not.toMatch(/temp b-tree|Sort/i)
})

it('limits jobs with their own slots and keeps them from occupying those of others', async () => {
  await using app = await testApp()
  let [running, most, may] = [0, 0, 0]
  let release = () => {}
  const held = new Promise<void>((resolve) => (release = resolve))
  const slow = handler(
    anything,
    async () => {
      most = Math.max(most, ++running)
      await held
      running--
    },
    { hasOwnSlots: true, maxConcurrent: async () => may },
  )
  const quick: string[] = []
  const worker = startWorker(
    app.services,
    { slow, quick: handler(anything, async ({ subject }) => void quick.push(subject)) },
    { concurrency: 1 },
  )
  for (const subject of ['a', 'b', 'c', 'd']) await enqueueJob(app, { kind: 'slow', subject })
  await worker.settled()
  expect(running).toBe(0)
  may = 2
  for (const subject of ['x', 'y', 'z']) await enqueueJob(app, { kind: 'quick', subject })
  await expect.poll(() => [running, quick.length]).toEqual([2, 3])
  release()
  await worker.settled()
  await worker.stop()
  expect(most).toBe(2)
  expect(await countJobs(app.services.database.reads)).toEqual({ queued: 0, running: 0, failed: 0 })
})

it('pauses after background jobs while the server is in use, but not before urgent jobs', async () => {
  await using app = await testApp()
  const seen: { subject: string; began: number; ended: number }[] = []
  const work = handler(
    anything,
    async ({ subject }) => {
      const began = performance.now()
      await sleep(100)
      seen.push({ subject, began, ended: performance.now() })
      if (subject === 'first') await enqueueJob(app, { kind: 'work', subject: 'fresh' })
    },
    { hasOwnSlots: true, maxConcurrent: 1 },
  )
  for (const [subject, seconds] of [
    ['first', 30],
    ['second', 20],
  ] as const)
    await enqueueJob(app, { kind: 'work', subject, priority: 10, runAt: new Date(Date.now() - seconds * 1000) })
  const worker = startWorker(app.services, { work }, { pollMs: 3_600_000, isInUse: () => true })
  await expect.poll(() => seen.map(({ subject }) => subject)).toEqual(['first', 'fresh', 'second'])
  await worker.stop()
  const [first, fresh, second] = seen
  const pause = (one?: { ended: number }, next?: { began: number }) => (next?.began ?? 0) - (one?.ended ?? 0)
  expect(pause(first, fresh)).toBeLessThan(pause(first, second))
  expect(pause(first, second)).toBeGreaterThan(195)
})

it('does not retry a permanent failure and notifies the handler', async () => {
  await using app = await testApp()
  const told: string[] = []
  const hopeless = handler(
    anything,
    async () => {
      throw new PermanentFailure('It is too large.')
    },
    { onPermanentFailure: async (subject, error) => void told.push(subject, error) },
  )
  const worker = startWorker(app.services, { hopeless })
  await enqueueJob(app, { kind: 'hopeless', subject: 'a' })
  await worker.settled()
  await worker.stop()
  expect(told).toEqual(['a', 'It is too large.'])
  expect(await countJobs(app.services.database.reads)).toEqual({ queued: 0, running: 0, failed: 1 })
})

it('syncs to disk in jobs that were enqueued by transactions without sync', async () => {
  await using app = await testApp()
  const seen: boolean[] = []
  const note = handler(anything, async () => void seen.push(skipsSync()))
  const start = async () => startWorker(app.services, { note }, { pollMs: 3_600_000, concurrency: 1 })
  for (const begin of [start, () => withoutSync(start)]) {
    const worker = await begin()
    await worker.settled()
    await withoutSync(() => Promise.all(['a', 'b'].map((subject) => enqueueJob(app, { kind: 'note', subject }))))
    await worker.settled()
    await worker.stop()
  }
  expect(seen).toEqual([false, false, false, false])
})

it('yields to requests before each statement of a job', async () => {
  await using app = await testApp()
  const { database } = app.services
  let turns = 0
  const asks = 20
  const ask20 = handler(anything, async () => {
    let isOver = false
    const count = () => void (isOver || (turns++, setImmediate(count)))
    setImmediate(count)
    for (let n = 0; n < asks; n++) await readRow(database.fork(), 'select 1', [])
    isOver = true
  })
  const worker = startWorker(app.services, { ask: ask20 })
  await enqueueJob(app, { kind: 'ask', subject: 'a' })
  await worker.settled()
  await worker.stop()
  expect(turns).toBeGreaterThanOrEqual(asks - 1)
})
