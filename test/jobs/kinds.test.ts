import { expect, it } from 'vitest'
import { jobHandlers } from '../../server/job-handlers.ts'
import { jobKinds } from '../../web/jobs/kinds.ts'
import { testApp } from '../app.ts'
import { folderOfTest } from '../support/backups.ts'

it('names every kind of job in the console', async () => {
  await using app = await testApp({ env: { BACKUP_TO: folderOfTest() }, alone: true })
  expect(Object.keys(jobKinds)).toEqual(Object.keys(jobHandlers(app.services)).toSorted())
})

it('gives every kind of job its own label', () => {
  const labels = Object.values(jobKinds).map(({ label }) => label)
  expect(new Set(labels).size).toBe(labels.length)
})
