import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { scheduleBackups } from '../../server/operations/backup/schedule/job.ts'
import { examineBackups } from '../../server/operations/checks/doctor/store.ts'
import { testApp } from '../app.ts'
import { adminJson } from '../support/admin.ts'
import { folderOfTest } from '../support/backups.ts'
import { runJobs } from '../support/jobs.ts'
import { publish } from '../support/publish.ts'
import { pathOf, shaOf } from '../support/stored-blobs.ts'

const dayMs = 86_400_000

it('warns of a scheduled backup that lacks archives, in the log and in the doctor, and does not count it as complete', async () => {
  const folder = folderOfTest()
  await using app = await testApp({ alone: true, now: new Date(), env: { BACKUP_TO: folder } })
  const alice = await app.member()
  const [gone, damaged] = [
    await publish(alice, { name: 'gone', version: '1.0.0' }),
    await publish(alice, { name: 'bad', version: '1.0.0' }),
  ]
  await publish(alice, { name: 'whole', version: '1.0.0' })
  rmSync(pathOf(app, shaOf(gone)))
  writeFileSync(pathOf(app, shaOf(damaged)), 'other bytes')
  await scheduleBackups(app.services)
  const nextDay = async () => {
    app.clock.now = new Date(app.services.now().getTime() + dayMs)
    app.lines.length = 0
    expect(await scheduleBackups(app.services)).toBe(true)
    await runJobs(app)
    return app.lines.join('')
  }
  const said = await nextDay()
  expect(said).toMatch(
    / WARNING Backup \S+ lacks 2 archives or documentations .* \(1 missing, 1 damaged\): 3 blobs, 1 of them copied now, /,
  )
  expect(said).not.toContain('is complete')
  const [found] = await examineBackups(app.config, app.services.database.fork())
  expect(found).toMatchObject({ status: 'warning', message: expect.stringContaining(' lacks 2 archives or documentation') })
  const { code, body } = await adminJson(app, 'backup', folder)
  expect([code, body.error.message]).toEqual([1, expect.stringMatching(/^Backup \S+ is incomplete: /)])
})

it('reports the failure of the last scheduled backup in the doctor', async () => {
  const folder = folderOfTest()
  await using app = await testApp({ now: new Date(), env: { BACKUP_TO: folder } })
  await scheduleBackups(app.services)
  app.clock.now = new Date(Date.now() + dayMs)
  await scheduleBackups(app.services)
  await app.services.database.fork().execute("update jobs set attempts = 4 where kind = 'backup'")
  rmSync(folder, { recursive: true })
  writeFileSync(folder, 'no folder')
  await runJobs(app)
  rmSync(folder)
  mkdirSync(folder)
  const [found] = await examineBackups(app.config, app.services.database.fork())
  const message = `The last scheduled backup failed at ${app.clock.now.toISOString()}: ${folder} is a file.`
  expect(found).toMatchObject({ status: 'warning', message: expect.stringContaining(message) })
})
