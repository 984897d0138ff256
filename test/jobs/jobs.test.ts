import { expect, it } from 'vitest'
import { z } from 'zod'
import { Job } from '../../server/platform/jobs/entity.ts'
import { handler, type Handlers, type Work } from '../../server/platform/jobs/handler.ts'
import { collectJobs, countJobs, enqueue, type NewJob } from '../../server/platform/jobs/queue.ts'
import { startWorker } from '../../server/platform/jobs/worker.ts'
import { type TestApp, testApp } from '../app.ts'
import { anotherInstance } from '../support/instances.ts'

const anything = z.unknown()
const enqueueJob = ({ services }: TestApp, job: NewJob) => services.database.fork().transactional((em) => enqueue(em, job, services.now()))
const jobOf = ({ services }: TestApp, id: string) => services.database.fork().findOneOrFail(Job, { id })
const nothing = { queued: 0, running: 0, failed: 0 }

const signal = () => Promise.withResolvers<void>()

it('starts a job when it is committed, passes its payload and records its progress', async () => {
  await using app = await testApp()
  const seen: unknown[] = []
  const count = handler(z.object({ to: z.number() }), async (work, { to }) => {
    seen.push(work.subject, work.attempt, to)
    for (let done = 1; done <= to; done++) work.progress({ done, total: to, phase: 'counting' })
  })
  // The worker does not poll during this test.
  const worker = startWorker(app.services, { count }, { pollMs: 3_600_000 })
  await worker.settled()
  const id = await app.services.database.fork().transactional(async (em) => {
    const asked = await enqueue(em, { kind: 'count', subject: 'sheep', payload: { to: 3 } }, app.services.now())
    expect(seen).toEqual([])
    return asked
  })
  await worker.settled()
  expect(seen).toEqual(['sheep', 1, 3])
  expect(await jobOf(app, id)).toMatchObject({ state: 'done', done: 3, total: 3, phase: 'counting', attempts: 1, error: null, lease: null })
  await worker.stop()
  expect(app.lines.filter((line) => line.includes(id))).toEqual([
    expect.stringMatching(/ DEBUG job \S+ \(count sheep\): done after \d+ms\n$/),
  ])
})

it('discards jobs of failed transactions and keeps one queued job per kind and subject', async () => {
  await using app = await testApp()
  const failing = app.services.database.fork().transactional(async (em) => {
    await enqueue(em, { kind: 'note', subject: 'a' }, app.services.now())
    throw new Error('changed my mind')
  })
  await expect(failing).rejects.toThrow('changed my mind')
  expect(await countJobs(app.services.database.reads)).toEqual(nothing)
  const later = new Date(Date.now() + 60_000)
  const ids = await Promise.all(
    Array.from({ length: 20 }, (_, index) => enqueueJob(app, { kind: 'note', subject: 'a', payload: { index }, runAt: later })),
  )
  expect(new Set(ids).size).toBe(1)
  const sooner = await enqueueJob(app, { kind: 'note', subject: 'a', payload: { index: 99 } })
  expect(sooner).toBe(ids[0])
  expect((await jobOf(app, sooner)).runAt.getTime()).toBeLessThan(later.getTime())
  const seen: unknown[] = []
  const worker = startWorker(app.services, { note: handler(anything, async (_work, payload) => void seen.push(payload)) })
  await worker.settled()
  await worker.stop()
  expect(seen).toEqual([{ index: 99 }])
})

it('never runs a job twice concurrently, however many workers there are', async () => {
  await using app = await testApp()
  await using second = await anotherInstance(app)
  const running = new Map<string, number>()
  const runs = new Map<string, number>()
  let [maxOfOne, maxOfAll, now] = [0, 0, 0]
  const run = handler(anything, async ({ subject }: Work) => {
    running.set(subject, (running.get(subject) ?? 0) + 1)
    runs.set(subject, (runs.get(subject) ?? 0) + 1)
    maxOfOne = Math.max(maxOfOne, running.get(subject) ?? 0)
    maxOfAll = Math.max(maxOfAll, ++now)
    await new Promise((resolve) => setTimeout(resolve, Number(subject) % 5))
    now--
    running.set(subject, (running.get(subject) ?? 0) - 1)
  })
  for (let index = 0; index < 200; index++) await enqueueJob(app, { kind: 'work', subject: String(index) })
  const workers = [app, second ?? app].map(({ services }) => startWorker(services, { work: run }, { concurrency: 4, pollMs: 20 }))
  await expect.poll(() => countJobs(app.services.database.reads)).toEqual(nothing)
  await Promise.all(workers.map((worker) => worker.stop()))
  expect(maxOfOne).toBe(1)
  expect(maxOfAll).toBeGreaterThan(1)
  expect([...runs.values()].every((count) => count === 1)).toBe(true)
  expect(runs.size).toBe(200)
})

it('retries a failing job with growing delays and finally gives up', async () => {
  await using app = await testApp({ now: new Date('2026-01-01T00:00:00Z') })
  const advance = (ms: number) => (app.clock.now = new Date((app.clock.now?.getTime() ?? 0) + ms))
  let runs = 0
  const broken = handler(
    anything,
    async () => {
      runs++
      throw new Error(`no\n luck ${'x'.repeat(2000)}`)
    },
    { maxAttempts: 3 },
  )
  const worker = startWorker(app.services, { broken })
  const id = await enqueueJob(app, { kind: 'broken', subject: 'a' })
  await worker.settled()
  expect(await jobOf(app, id)).toMatchObject({ state: 'queued', attempts: 1, error: expect.stringMatching(/^no luck x+$/) })
  for (const [wait, attempts] of [
    [9_000, 1],
    [3_000, 2],
    [39_000, 2],
    [8_000, 3],
  ] as const) {
    advance(wait)
    await enqueueJob(app, { kind: 'other', subject: 'wakes the worker' })
    await worker.settled()
    expect(runs).toBe(attempts)
  }
  expect(await jobOf(app, id)).toMatchObject({ state: 'failed', attempts: 3, lease: null })
  expect((await jobOf(app, id)).error).toHaveLength(1000)
  expect(app.lines.filter((line) => line.includes(' ERROR ')).length).toBe(3)
  await worker.stop()
})

it('runs a job that was enqueued during its run afterwards, not concurrently', async () => {
  await using app = await testApp()
  const [begun, go] = [signal(), signal()]
  let [runs, now, most] = [0, 0, 0]
  const slow = handler(anything, async () => {
    runs++
    most = Math.max(most, ++now)
    begun.resolve()
    await go.promise
    now--
  })
  const worker = startWorker(app.services, { slow })
  await enqueueJob(app, { kind: 'slow', subject: 'a' })
  await begun.promise
  await enqueueJob(app, { kind: 'slow', subject: 'a' })
  expect(await countJobs(app.services.database.reads)).toEqual({ queued: 1, running: 1, failed: 0 })
  go.resolve()
  await worker.settled()
  expect([runs, most]).toEqual([2, 1])
  await worker.stop()
})

it('takes over a job with an expired lease, after which its former holder changes nothing', async () => {
  await using app = await testApp({ now: new Date('2026-01-01T00:00:00Z') })
  const [begun, go] = [signal(), signal()]
  const silent: Handlers = {
    task: handler(anything, async (work) => {
      begun.resolve()
      await go.promise
      work.progress({ done: 99 })
    }),
  }
  const first = startWorker(app.services, silent, { leaseMs: 60_000 })
  const id = await enqueueJob(app, { kind: 'task', subject: 'a' })
  await begun.promise
  app.clock.now = new Date('2026-01-01T00:00:59Z')
  const attempts: number[] = []
  const able: Handlers = { task: handler(anything, async ({ attempt }) => void attempts.push(attempt)) }
  const second = startWorker(app.services, able)
  await second.settled()
  expect(attempts).toEqual([])
  app.clock.now = new Date('2026-01-01T00:01:01Z')
  const third = startWorker(app.services, able)
  await third.settled()
  // The interruption counts against the process, not the job.
  expect(attempts).toEqual([1])
  go.resolve()
  await first.settled()
  expect(await jobOf(app, id)).toMatchObject({ state: 'done', attempts: 2, done: 0 })
  for (const worker of [first, second, third]) await worker.stop()
})

it('renews the lease of a long job so that no other worker takes it over', async () => {
  await using app = await testApp()
  const go = signal()
  let runs = 0
  const long = handler(anything, async () => (runs++, go.promise))
  const workers = [1, 2].map(() => startWorker(app.services, { long }, { leaseMs: 300, pollMs: 50 }))
  await enqueueJob(app, { kind: 'long', subject: 'a' })
  await new Promise((resolve) => setTimeout(resolve, 1200))
  go.resolve()
  for (const worker of workers) await worker.settled()
  expect(runs).toBe(1)
  for (const worker of workers) await worker.stop()
})

it('returns jobs to the queue on stop, whether or not they react to the signal', async () => {
  await using app = await testApp()
  const [begun, never] = [signal(), signal()]
  let count = 0
  const start = () => ++count === 2 && begun.resolve()
  const handlers: Handlers = {
    polite: handler(anything, async ({ signal: stop }) => {
      start()
      await new Promise((_resolve, reject) => stop.addEventListener('abort', () => reject(stop.reason as Error)))
    }),
    deaf: handler(anything, async () => (start(), never.promise)),
  }
  const worker = startWorker(app.services, handlers, { graceMs: 50 })
  const ids = [await enqueueJob(app, { kind: 'polite', subject: 'a' }), await enqueueJob(app, { kind: 'deaf', subject: 'a' })]
  await begun.promise
  await worker.stop()
  for (const id of ids) expect(await jobOf(app, id)).toMatchObject({ state: 'queued', attempts: 0, lease: null, error: null })
  never.resolve()
  await new Promise((resolve) => setTimeout(resolve, 50))
  expect(await countJobs(app.services.database.reads)).toEqual({ queued: 2, running: 0, failed: 0 })
})

it('leaves jobs of unknown kinds alone and deletes old ones', async () => {
  await using app = await testApp({ now: new Date('2026-01-01T00:00:00Z') })
  const worker = startWorker(app.services, { known: handler(anything, async () => {}) })
  for (const kind of ['known', 'unknown']) await enqueueJob(app, { kind, subject: 'a' })
  await worker.settled()
  await worker.stop()
  const em = app.services.database.fork()
  expect(await countJobs(app.services.database.reads)).toEqual({ queued: 1, running: 0, failed: 0 })
  expect(await collectJobs(em, new Date('2026-01-07T00:00:00Z'))).toBe(0)
  expect(await collectJobs(em, new Date('2026-01-09T00:00:00Z'))).toBe(1)
  expect(await em.count(Job)).toBe(1)
})

it('does not start a running job again when the clock is moved forward', async () => {
  await using app = await testApp()
  const [begun, done] = [signal(), signal()]
  let runs = 0
  const slow = handler(anything, async () => {
    runs++
    begun.resolve()
    await done.promise
  })
  const worker = startWorker(app.services, { slow, quick: handler(anything, async () => {}) }, { concurrency: 3 })
  await enqueueJob(app, { kind: 'slow', subject: 'a' })
  await begun.promise
  app.clock.now = new Date(Date.now() + 3_600_000)
  for (let round = 0; round < 3; round++) await enqueueJob(app, { kind: 'quick', subject: String(round) })
  await expect.poll(() => countJobs(app.services.database.reads)).toMatchObject({ queued: 0, running: 1 })
  done.resolve()
  await worker.settled()
  await worker.stop()
  expect(runs).toBe(1)
})
