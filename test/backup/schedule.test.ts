import { appendFileSync, existsSync, mkdirSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { deleteOldBackups } from '../../server/operations/backup/delete-old.ts'
import { blobList } from '../../server/operations/backup/place/place.ts'
import { warnOfLostPlace } from '../../server/operations/backup/owner.ts'
import { scheduleBackups } from '../../server/operations/backup/schedule/job.ts'
import { verifyBackups } from '../../server/operations/backup/verify/backups.ts'
import { examineBackups } from '../../server/operations/checks/doctor/store.ts'
import { type TestApp, testApp } from '../app.ts'
import { backUp, folderOfTest, placesIn, sourceOf } from '../support/backups.ts'
import { anotherInstance } from '../support/instances.ts'
import { runJobs } from '../support/jobs.ts'
import { sample } from '../support/metrics.ts'
import { publish } from '../support/publish.ts'
import { pathOf, shaOf } from '../support/stored-blobs.ts'

const dayMs = 86_400_000
const schedule = `{ backupSchedule { place expression keep nextAt lastSuccess { id at bytes blobs lacking } lastFailure { at reason } } }`
const snapshotsIn = (folder: string) => readdirSync(placesIn(folder).snapshots).toSorted()
const pruneBackups = (app: TestApp, folder: string, made: string, keep: number) => deleteOldBackups(sourceOf(app), folder, { made, keep })

it('backs up on schedule, once for all instances, and keeps the configured number', async () => {
  const folder = folderOfTest()
  const start = new Date()
  const env = { BACKUP_TO: folder, BACKUP_SCHEDULE: '0 3 * * *', BACKUP_KEEP: '1', METRICS_TOKEN: 'the token of the metrics' }
  await using app = await testApp({ now: start, env })
  await using other = await anotherInstance(app)
  const [admin, alice] = [await app.admin(), await app.member()]
  const first = await publish(alice, { name: 'acme', version: '1.0.0' })
  const second = await publish(alice, { name: 'acme', version: '1.1.0' })
  const turn = async () => {
    const due = await Promise.all([app, ...(other ? [other] : [])].map(({ services }) => scheduleBackups(services)))
    await Promise.all([runJobs(app), ...(other ? [runJobs(other)] : [])])
    return due.filter(Boolean).length
  }
  const shown = async () => (await admin.graphql(schedule)).body.data.backupSchedule
  expect(await turn()).toBe(0)
  expect(await shown()).toMatchObject({ place: folder, expression: env.BACKUP_SCHEDULE, keep: 1, lastSuccess: null, lastFailure: null })
  app.clock.now = new Date(start.getTime() + 3 * dayMs)
  expect(await turn()).toBe(1)
  expect(await turn()).toBe(0)
  const [id] = snapshotsIn(folder)
  expect(snapshotsIn(folder)).toHaveLength(1)
  const { nextAt, ...state } = await shown()
  expect(state).toMatchObject({ lastSuccess: { id, blobs: 2, lacking: 0 }, lastFailure: null })
  expect(Number(state.lastSuccess.bytes)).toBeGreaterThan(first.length + second.length)
  expect([new Date(nextAt) > app.clock.now, nextAt.slice(11)]).toEqual([true, '03:00:00.000Z'])

  await admin.delete('/api/admin/packages/acme/versions/1.0.0')
  app.clock.now = new Date(nextAt)
  expect(await turn()).toBe(1)
  expect(snapshotsIn(folder)).toEqual([(await shown()).lastSuccess.id])
  expect([first, second].map((archive) => existsSync(placesIn(folder).blob(shaOf(archive))))).toEqual([false, true])
  expect(await verifyBackups(app.config, folder)).toMatchObject({ checked: { backups: 1, blobs: 1 }, problems: [] })
  const text = (await app.services.metrics?.text()) ?? ''
  expect(sample(text, 'snug_backup_last_success_timestamp_seconds')).toBeGreaterThan(start.getTime() / 1000)
  expect(sample(text, 'snug_backup_next_timestamp_seconds')).toBe((new Date(nextAt).getTime() + dayMs) / 1000)
  expect(sample(text, 'snug_backup_size_bytes')).toBeGreaterThan(second.length)
  expect(sample(text, 'snug_backup_last_failure_timestamp_seconds')).toBeUndefined()
})

it('shows administrators why a backup failed', async () => {
  const folder = folderOfTest()
  await using app = await testApp({ now: new Date(), env: { BACKUP_TO: folder, METRICS_TOKEN: 'the token of the metrics' } })
  const [admin, member] = [await app.admin(), await app.member()]
  await scheduleBackups(app.services)
  app.clock.now = new Date(Date.now() + dayMs)
  expect(await scheduleBackups(app.services)).toBe(true)
  await app.services.database.fork().execute("update jobs set attempts = 4 where kind = 'backup'")
  rmSync(folder, { recursive: true })
  writeFileSync(folder, 'no folder')
  await runJobs(app)
  const { lastSuccess, lastFailure } = (await admin.graphql(schedule)).body.data.backupSchedule
  expect([lastSuccess, lastFailure.at]).toEqual([null, app.clock.now.toISOString()])
  expect(lastFailure.reason).toContain(folder)
  expect(sample((await app.services.metrics?.text()) ?? '', 'snug_backup_last_failure_timestamp_seconds')).toBeGreaterThan(0)
  expect((await member.graphql(schedule)).body.errors[0].extensions.code).toBe('InsufficientPermissions')
})

it('makes no scheduled backup where earlier ones are missing, as on an unmounted volume, until a manual one', async () => {
  const folder = folderOfTest()
  await using app = await testApp({ now: new Date(), env: { BACKUP_TO: folder } })
  const admin = await app.admin()
  await scheduleBackups(app.services)
  const nextDay = async () => {
    app.clock.now = new Date(app.services.now().getTime() + dayMs)
    expect(await scheduleBackups(app.services)).toBe(true)
    await app.services.database.fork().execute("update jobs set attempts = 4 where kind = 'backup' and state <> 'done'")
    await runJobs(app)
    return (await admin.graphql(schedule)).body.data.backupSchedule
  }
  const { lastSuccess } = await nextDay()
  await warnOfLostPlace(app.services)
  renameSync(folder, `${folder}-unmounted`)
  onTestFinished(() => rmSync(`${folder}-unmounted`, { recursive: true, force: true }))
  const said = `${folder} has none of the backups that this server made there; the last one was ${lastSuccess.id}. Mount the volume`
  expect(app.lines.join('')).not.toContain(said)
  mkdirSync(folder)
  await warnOfLostPlace(app.services)
  expect(app.lines.join('')).toContain(` WARNING ${said}`)
  expect(await nextDay()).toMatchObject({ lastSuccess: { id: lastSuccess.id }, lastFailure: { reason: expect.stringContaining(said) } })
  const [found] = await examineBackups(app.config, app.services.database.fork())
  expect(found).toMatchObject({ status: 'failed', message: expect.stringContaining(said) })

  // First the volume is mounted again, then a manual backup starts over.
  rmSync(folder, { recursive: true })
  renameSync(`${folder}-unmounted`, folder)
  expect((await nextDay()).lastSuccess.id > lastSuccess.id).toBe(true)
  rmSync(folder, { recursive: true })
  await backUp(app, folder)
  const { lastSuccess: again } = await nextDay()
  expect(snapshotsIn(folder)).toContain(again.id)
})

it('warns at startup of a location with backups of another server, as after a restore elsewhere', async () => {
  const folder = folderOfTest()
  await using other = await testApp()
  await backUp(other, folder)
  await using app = await testApp({ env: { BACKUP_TO: folder } })
  const said = `${folder} has backups of another server. Give each server a place of its own. If this server replaces the other one`
  await warnOfLostPlace(app.services)
  expect(app.lines.join('')).toContain(` WARNING ${said}`)
  const [found] = await examineBackups(app.config, app.services.database.fork())
  expect(found).toMatchObject({ status: 'failed', message: expect.stringContaining(said) })
  rmSync(join(folder, 'owner'))
  app.lines.length = 0
  await warnOfLostPlace(app.services)
  expect(app.lines.join('')).not.toContain('WARNING')
})

it('never deletes the last complete backup, nor blobs that a remaining backup needs', async () => {
  await using app = await testApp({ alone: true })
  const alice = await app.member()
  const lost = await publish(alice, { name: 'lost', version: '1.0.0' })
  const folder = folderOfTest()
  const made: string[] = []
  const backUpAgain = async () => made.push((await backUp(app, folder)).manifest.id)
  await backUpAgain()
  await backUpAgain()
  writeFileSync(pathOf(app, shaOf(lost)), 'other bytes')
  rmSync(placesIn(folder).blob(shaOf(lost)))
  await backUpAgain()
  await backUpAgain()
  const [, complete = '', , newest = ''] = made
  expect(await pruneBackups(app, folder, newest, 1)).toMatchObject({ backups: [made[0], made[2]], blobs: 0 })
  expect(snapshotsIn(folder)).toEqual([complete, newest])
  expect(await pruneBackups(app, folder, newest, 1)).toMatchObject({ backups: [], blobs: 0 })
})

it('deletes nothing while the new backup is damaged, and no blob while the needed ones are unknown', async () => {
  await using app = await testApp()
  const alice = await app.member()
  const archive = await publish(alice, { name: 'acme', version: '1.0.0' })
  const [folder, places] = [folderOfTest(), () => placesIn(folder)]
  const [first, second] = [(await backUp(app, folder)).manifest.id, (await backUp(app, folder)).manifest.id]
  const list = (id: string) => join(places().snapshot(id), blobList)
  appendFileSync(list(second), `${'f'.repeat(64)}\t1\tarchives\n`)
  await expect(pruneBackups(app, folder, second, 1)).rejects.toThrow('The backup is damaged')
  expect(snapshotsIn(folder)).toEqual([first, second])
  const third = (await backUp(app, folder)).manifest.id
  await expect(pruneBackups(app, folder, third, 2)).rejects.toThrow('The backup is damaged')
  expect(snapshotsIn(folder)).toEqual([second, third])
  expect(existsSync(places().blob(shaOf(archive)))).toBe(true)
  expect(await pruneBackups(app, folder, third, 1)).toMatchObject({ backups: [second], blobs: 0 })
})

it('refuses to start with a location that backups cannot use', async () => {
  const folder = folderOfTest()
  writeFileSync(join(folder, 'notes.txt'), 'mine')
  await expect(testApp({ env: { BACKUP_TO: folder } })).rejects.toThrow(`BACKUP_TO: ${folder} has other files`)
  await expect(testApp({ env: { BACKUP_TO: join(folder, 'notes.txt') } })).rejects.toThrow(/^BACKUP_TO: /)
  await expect(testApp({ env: { BLOB_PATH: folder, BACKUP_TO: join(folder, 'backups') } })).rejects.toThrow('is in BLOB_PATH')
  const empty = folderOfTest()
  await expect(testApp({ env: { DATA_DIR: empty, BACKUP_TO: empty } })).rejects.toThrow(`BACKUP_TO: ${empty} is DATA_DIR`)
  const inner = join(empty, 'data')
  await expect(testApp({ env: { DATA_DIR: inner, BACKUP_TO: empty } })).rejects.toThrow(`BACKUP_TO: ${empty} contains DATA_DIR`)
  await expect(testApp({ env: { BACKUP_TO: join(folder, 'notes.txt') } })).rejects.toThrow('is a file. Name a folder for the backups.')
  const below = join(folder, 'notes.txt', 'below')
  await expect(testApp({ env: { BACKUP_TO: below } })).rejects.toThrow(
    `BACKUP_TO: No backup can be made in ${below}: ${below} cannot be created`,
  )
})

it('refuses backups inside the data folders or into a file', async () => {
  await using app = await testApp()
  const { BLOB_PATH, DOCS_PATH, DATA_DIR } = app.config
  for (const [within, how] of [
    [join(BLOB_PATH, 'backups'), 'is in BLOB_PATH'],
    [join(DOCS_PATH, 'backups'), 'is in DOCS_PATH'],
    [DATA_DIR, 'is DATA_DIR'],
  ] as const) {
    await expect(backUp(app, within)).rejects.toThrow(`${within} ${how}. Name a place apart from the data.`)
    expect(existsSync(placesIn(within).snapshots)).toBe(false)
  }
  const file = join(folderOfTest(), 'notes.txt')
  writeFileSync(file, 'mine')
  await expect(backUp(app, file)).rejects.toThrow(`${file} is a file. Name a folder for the backups.`)
})
