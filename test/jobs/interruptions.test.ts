import { expect, it } from 'vitest'
import { z } from 'zod'
import { Job } from '../../server/platform/jobs/entity.ts'
import { type Handler, handler } from '../../server/platform/jobs/handler.ts'
import { backOffMs } from '../../server/platform/jobs/attempt.ts'
import { claim, requeueLost } from '../../server/platform/jobs/lease.ts'
import { enqueue, retryJob } from '../../server/platform/jobs/queue.ts'
import { startWorker } from '../../server/platform/jobs/worker.ts'
import { type TestApp, testApp } from '../app.ts'

const dayMs = 86_400_000

async function jobsApp() {
  const app = await testApp({ now: new Date('2026-01-01T00:00:00Z') })
  const { database, now } = app.services
  return {
    app,
    ask: (subject: string) => database.fork().transactional((em) => enqueue(em, { kind: 'task', subject }, now())),
    advance: (ms: number) => (app.clock.now = new Date(now().getTime() + ms)),
    /** Claims the next job as a server that is killed immediately, has another server detect that, and returns the job's subject. */
    async takeAndDie(): Promise<string | undefined> {
      const held = await claim(database.fork(), ['task'], now(), 1000, { backOffMs })
      app.clock.now = new Date(now().getTime() + 1001)
      await requeueLost(database.fork(), { kinds: ['task'], now: now(), own: [] }, backOffMs)
      return held?.subject
    },
    jobOf: (id: string) => database.fork().findOneOrFail(Job, { id }),
    [Symbol.asyncDispose]: () => app[Symbol.asyncDispose](),
  }
}

/** Runs all due jobs and returns their subjects and attempt numbers. */
async function runDueJobs({ services }: TestApp, options: Partial<Handler> = {}): Promise<[string, number][]> {
  const done: [string, number][] = []
  const task = handler(z.unknown(), async ({ subject, attempt }) => void done.push([subject, attempt]), { maxConcurrent: 1, ...options })
  const worker = startWorker(services, { task })
  await worker.settled()
  await worker.stop()
  return done
}

it('counts no attempt against a job of a killed server', async () => {
  await using jobs = await jobsApp()
  const id = await jobs.ask('a')
  for (let kill = 0; kill < 4; kill++) {
    expect(await jobs.takeAndDie()).toBe('a')
    jobs.advance(dayMs)
  }
  expect(await runDueJobs(jobs.app, { maxAttempts: 1 })).toEqual([['a', 1]])
  expect(await jobs.jobOf(id)).toMatchObject({ state: 'done', attempts: 5, interruptions: 4, error: null })
})

it('gives up a job after ten interruptions without running it again, until an administrator retries it', async () => {
  await using jobs = await jobsApp()
  const [id, onPermanentFailure] = [await jobs.ask('a'), Array<string>()]
  const options = { onPermanentFailure: async (subject: string, error: string) => void onPermanentFailure.push(`${subject}: ${error}`) }
  for (let kill = 0; kill < 10; kill++) {
    expect(await jobs.takeAndDie()).toBe('a')
    jobs.advance(dayMs)
  }
  expect(await runDueJobs(jobs.app, options)).toEqual([])
  const error = 'The server ended 10 times while it ran this job.'
  expect(await jobs.jobOf(id)).toMatchObject({ state: 'failed', error })
  expect(onPermanentFailure).toEqual([`a: ${error}`])
  await retryJob(jobs.app.services.database.fork(), id, jobs.app.services.now())
  expect(await runDueJobs(jobs.app, options)).toEqual([['a', 1]])
})

it('delays a job longer after each interruption except the first, so that others run first', async () => {
  await using jobs = await jobsApp()
  const id = await jobs.ask('a')
  expect(await jobs.takeAndDie()).toBe('a')
  expect(await jobs.takeAndDie()).toBe('a')
  await jobs.ask('b')
  expect(await runDueJobs(jobs.app)).toEqual([['b', 1]])
  expect(await jobs.jobOf(id)).toMatchObject({ state: 'queued', error: 'The server ended while it ran this job.' })
  jobs.advance(12_000)
  expect(await jobs.takeAndDie()).toBe('a')
  jobs.advance(30_000)
  expect(await runDueJobs(jobs.app)).toEqual([])
  jobs.advance(14_000)
  expect(await runDueJobs(jobs.app)).toEqual([['a', 1]])
})

it('interrupts each of many jobs a few times instead of the first one every time, however often the server is killed', async () => {
  await using jobs = await jobsApp()
  const { database, now } = jobs.app.services
  const subjects = Array.from({ length: 12 }, (_, index) => `s${index}`)
  const owners = ['ann', 'bob', null]
  for (const [index, subject] of subjects.entries())
    await database.fork().transactional((em) => enqueue(em, { kind: 'task', subject, owner: owners[index % 3] ?? null }, now()))
  const kills = 50
  const interrupted: string[] = []
  for (let kill = 0; kill < kills; kill++) {
    interrupted.push((await jobs.takeAndDie()) ?? '')
    jobs.advance(dayMs)
  }
  const counts = subjects.map((subject) => interrupted.filter((one) => one === subject).length)
  expect(counts.reduce((sum, count) => sum + count, 0)).toBe(kills)
  expect(Math.max(...counts)).toBeLessThanOrEqual(Math.ceil(kills / subjects.length) + 1)
  // Jobs that come later do not wait for interrupted ones.
  await database.fork().transactional((em) => enqueue(em, { kind: 'task', subject: 'new' }, now()))
  const done = await runDueJobs(jobs.app)
  expect(done[0]).toEqual(['new', 1])
  expect(done.map(([subject]) => subject).toSorted()).toEqual(['new', ...subjects].toSorted())
})

it('runs one interrupted job at a time so that a job that crashes the server can be identified', async () => {
  await using jobs = await jobsApp()
  const { database, now } = jobs.app.services
  for (const subject of ['a', 'b']) await jobs.ask(subject)
  const next = async () => (await claim(database.fork(), ['task'], now(), 60_000, { backOffMs }))?.subject
  expect([await next(), await next()]).toEqual(['a', 'b'])
  jobs.advance(61_000)
  await jobs.ask('c')
  expect([await next(), await next(), await next()]).toEqual(['a', 'c', undefined])
})

it('drops an interrupted job in favor of a later one with the same subject', async () => {
  await using jobs = await jobsApp()
  const first = await jobs.ask('a')
  const held = await claim(jobs.app.services.database.fork(), ['task'], jobs.app.services.now(), 1000, { backOffMs })
  expect(held?.id).toBe(first)
  const second = await jobs.ask('a')
  jobs.advance(1001)
  expect(await runDueJobs(jobs.app)).toEqual([['a', 1]])
  expect(await jobs.jobOf(first)).toMatchObject({ state: 'failed', error: 'The server ended while it ran this job.' })
  expect(await jobs.jobOf(second)).toMatchObject({ state: 'done', attempts: 1 })
})
