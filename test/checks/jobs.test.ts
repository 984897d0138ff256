import { expect, it } from 'vitest'
import { z } from 'zod'
import type { Check } from '../../server/operations/checks/doctor/check.ts'
import { handler, PermanentFailure } from '../../server/platform/jobs/handler.ts'
import { enqueue } from '../../server/platform/jobs/queue.ts'
import { startWorker } from '../../server/platform/jobs/worker.ts'
import { testApp } from '../app.ts'
import { adminJson } from '../support/admin.ts'

it('warns of permanently failed jobs with count, time and where to look', async () => {
  const at = new Date('2026-03-01T12:00:00Z')
  await using app = await testApp({ now: at })
  const look = async () => {
    const { body } = await adminJson(app, 'doctor', '--quick')
    return body.checks.find(({ name }: Check) => name === 'jobs')
  }
  expect(await look()).toEqual({ name: 'jobs', status: 'ok', message: 'No jobs have failed.' })
  const failing = handler(z.unknown(), async () => {
    throw new PermanentFailure('It cannot be done.')
  })
  await app.services.database.fork().transactional(async (em) => {
    for (const subject of ['one', 'two']) await enqueue(em, { kind: 'paint', subject }, at)
    await enqueue(em, { kind: 'carve', subject: 'three' }, at)
    await enqueue(em, { kind: 'waits', subject: 'four' }, at)
  })
  const worker = startWorker(app.services, { paint: failing, carve: failing })
  await worker.settled()
  await worker.stop()
  const moment = at.toISOString()
  expect(await look()).toEqual({
    name: 'jobs',
    status: 'warning',
    message: `Jobs have failed: 2 of paint, last at ${moment}; 1 of carve, last at ${moment}.`,
    advice: `See ${app.config.SERVER_URL}/admin/jobs for the causes, and to retry the jobs. Failed jobs are deleted after 90 days.`,
  })
})
