import { expect, it } from 'vitest'
import { z } from 'zod'
import { type Handler, handler } from '../../server/platform/jobs/handler.ts'
import { countJobs, enqueue } from '../../server/platform/jobs/queue.ts'
import { startWorker } from '../../server/platform/jobs/worker.ts'
import { type TestApp, testApp } from '../app.ts'

const fields = 'id uuid kind subject state attempts phase done total createdAt runAt startedAt finishedAt error'
const list = (args = '') => `{ jobs(first: 2${args}) { nodes { ${fields} } totalCount pageInfo { hasNextPage endCursor } } }`
const retry = (id: string) => `mutation { retryJob(input: { id: "${id}" }) { job { ${fields} } } }`

const enqueueJob = ({ services }: TestApp, kind: string, subject: string) =>
  services.database.fork().transactional((em) => enqueue(em, { kind, subject }, services.now()))

/** Runs the due jobs once. `fail` makes every job fail. */
async function runDueJobs({ services }: TestApp, fail = false) {
  const task = handler(
    z.unknown(),
    async ({ progress }) => {
      progress({ done: 1, total: 2, phase: 'halfway' })
      if (fail) throw new Error('The disk is full.')
    },
    { maxAttempts: 1 },
  )
  const worker = startWorker(services, { task })
  await worker.settled()
  await worker.stop()
}

it('lists jobs for administrators, newest first, by state, kind and subject', async () => {
  await using app = await testApp()
  const admin = await app.admin()
  await enqueueJob(app, 'task', 'a')
  await runDueJobs(app)
  await enqueueJob(app, 'task', 'b')
  await runDueJobs(app, true)
  await enqueueJob(app, 'task', 'a')
  await enqueueJob(app, 'other', 'a')
  const all = (await admin.graphql(list())).body.data.jobs
  expect(all).toMatchObject({ totalCount: 4, pageInfo: { hasNextPage: true } })
  expect(all.nodes).toMatchObject([
    { kind: 'other', subject: 'a', state: 'QUEUED', attempts: 0, startedAt: null, error: null },
    { kind: 'task', subject: 'a', state: 'QUEUED' },
  ])
  const rest = (await admin.graphql(list(`, after: "${all.pageInfo.endCursor}"`))).body.data.jobs
  expect(rest.nodes).toMatchObject([
    {
      kind: 'task',
      subject: 'b',
      state: 'FAILED',
      attempts: 1,
      done: 0,
      total: null,
      error: 'The disk is full.',
      finishedAt: expect.any(String),
    },
    { kind: 'task', subject: 'a', state: 'DONE', attempts: 1, done: 1, total: 2, phase: 'halfway' },
  ])
  expect(rest.pageInfo.hasNextPage).toBe(false)
  for (const [args, count] of [
    [', state: FAILED', 1],
    [', kind: "task"', 3],
    [', kind: "task", subject: "a", state: QUEUED', 1],
    [', subject: "c"', 0],
  ] as const) {
    expect((await admin.graphql(list(args))).body.data.jobs.totalCount, args).toBe(count)
  }
  const counts = { queued: 2, running: 0, failed: 1 }
  expect((await admin.graphql('{ jobCounts { queued running failed } }')).body.data.jobCounts).toEqual(counts)
  expect(await countJobs(app.services.database.reads)).toEqual(counts)
  const byId = `{ node(id: "${rest.nodes[0].id}") { ... on Job { subject } } }`
  expect((await admin.graphql(byId)).body.data.node).toEqual({ subject: 'b' })
  expect((await (await app.member()).graphql(byId)).body.data.node).toBeNull()
})

it('retries only failed jobs, on request of an administrator', async () => {
  await using app = await testApp()
  const admin = await app.admin()
  await enqueueJob(app, 'task', 'a')
  await runDueJobs(app, true)
  const { id } = (await admin.graphql(list())).body.data.jobs.nodes[0]
  expect((await admin.graphql(retry(id))).body.data.retryJob.job).toMatchObject({
    state: 'QUEUED',
    attempts: 0,
    error: 'The disk is full.',
  })
  expect((await admin.graphql(retry(id))).body.errors[0]).toMatchObject({
    message: 'Only failed jobs can be retried. This job is queued.',
    extensions: { code: 'Conflict' },
  })
  await runDueJobs(app, true)
  await enqueueJob(app, 'task', 'a')
  expect((await admin.graphql(retry(id))).body.errors[0]).toMatchObject({
    message: 'Another job of the same kind and subject is already queued.',
    extensions: { code: 'Conflict' },
  })
  await runDueJobs(app)
  await admin.graphql(retry(id))
  await runDueJobs(app)
  expect((await admin.graphql(list(', state: DONE'))).body.data.jobs.nodes).toHaveLength(2)
  const unknown = Buffer.from('Job:00000000-0000-7000-8000-000000000000').toString('base64')
  expect((await admin.graphql(retry(unknown))).body.errors[0].extensions.code).toBe('NotFound')
})

const cancel = (id: string) => `mutation { cancelJob(input: { id: "${id}" }) }`

it('deletes a queued job or stops a running one on cancellation and records who canceled it', async () => {
  await using app = await testApp()
  const admin = await app.admin({ displayName: 'Ada' })
  await enqueueJob(app, 'task', 'waiting')
  const [waiting] = (await admin.graphql(list())).body.data.jobs.nodes
  expect((await admin.graphql(cancel(waiting.id))).body.data.cancelJob).toBe(true)
  expect((await admin.graphql(list())).body.data.jobs.totalCount).toBe(0)
  expect((await admin.graphql(cancel(waiting.id))).body.errors[0].extensions.code).toBe('NotFound')

  await enqueueJob(app, 'task', 'running')
  const begun = Promise.withResolvers<void>()
  const task = handler(z.unknown(), async ({ signal }) => {
    begun.resolve()
    await new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
  })
  const worker = startWorker(app.services, { task }, { leaseMs: 90 })
  await begun.promise
  const [running] = (await admin.graphql(list())).body.data.jobs.nodes
  expect((await admin.graphql(cancel(running.id))).body.data.cancelJob).toBe(true)
  await worker.settled()
  await worker.stop()
  const [stopped] = (await admin.graphql(list())).body.data.jobs.nodes
  expect(stopped).toMatchObject({ state: 'FAILED', attempts: 1, error: 'Cancelled by Ada.', finishedAt: expect.any(String) })
  expect((await admin.graphql(cancel(running.id))).body.errors[0]).toMatchObject({
    message: 'Only queued or running jobs can be cancelled. This job is failed.',
    extensions: { code: 'Conflict' },
  })
  const { entries } = (await admin.get('/api/admin/audit-log?kind=server.job_cancelled')).body
  expect(entries.map(({ summary }: { summary: string }) => summary)).toEqual([
    'Cancelled the job task of running',
    'Cancelled the job task of waiting',
  ])
})

it('calls the handler of a cancelled job in the same transaction', async () => {
  await using app = await testApp({ alone: true })
  const admin = await app.admin({ displayName: 'Ada' })
  const steps: string[] = []
  const onCancel: Handler['onCancel'] = {
    lock: async (_em, subject) => void steps.push(`lock ${subject}`),
    async record(em, { subject, payload }, reason, now) {
      steps.push(`record ${subject} ${payload} ${reason}`)
      await enqueue(em, { kind: 'task', subject: `after ${subject}` }, now)
      if (subject === 'stuck') throw new Error('It cannot be recorded.')
    },
  }
  const task = handler(z.unknown(), async () => {}, { onCancel })
  app.services.jobHandlers = () => ({ task })
  await enqueueJob(app, 'task', 'stuck')
  const [stuck] = (await admin.graphql(list())).body.data.jobs.nodes
  expect((await admin.graphql(cancel(stuck.id))).body.errors[0].extensions.code).toBe('InternalError')
  expect((await admin.graphql(list())).body.data.jobs.nodes).toEqual([stuck])
  await enqueueJob(app, 'task', 'waiting')
  const [waiting] = (await admin.graphql(list())).body.data.jobs.nodes
  expect((await admin.graphql(cancel(waiting.id))).body.data.cancelJob).toBe(true)
  expect(steps).toEqual(['stuck', 'waiting'].flatMap((subject) => [`lock ${subject}`, `record ${subject} {} Cancelled by Ada.`]))
  const { nodes } = (await admin.graphql(list())).body.data.jobs
  expect(nodes.map(({ subject }: { subject: string }) => subject)).toEqual(['after waiting', 'stuck'])
  const worker = startWorker(app.services, { task })
  await worker.settled()
  await worker.stop()
  expect((await admin.graphql(cancel(stuck.id))).body.errors[0].extensions.code).toBe('Conflict')
  expect(steps).toHaveLength(5)
})
