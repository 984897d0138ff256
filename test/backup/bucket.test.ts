import { randomBytes } from 'node:crypto'
import { mkdtempSync, readdirSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { expect, it } from 'vitest'
import { verify } from '../../server/operations/admin/diagnostics.ts'
import { deleteOldBackups } from '../../server/operations/backup/delete-old.ts'
import { blobKey, manifestKey, ownerKey } from '../../server/operations/backup/place/place.ts'
import { scratchFolder, sweepScratch } from '../../server/operations/backup/place/scratch.ts'
import { restoreBackup } from '../../server/operations/backup/restore/restore.ts'
import { scheduleBackups } from '../../server/operations/backup/schedule/job.ts'
import { type TestApp, testApp } from '../app.ts'
import { backupBucket } from '../support/backup-buckets.ts'
import { backUp, emptyPlace, sourceOf } from '../support/backups.ts'
import { runJobs } from '../support/jobs.ts'
import { publish } from '../support/publish.ts'
import { type S3Bucket, s3Bucket } from '../support/s3-service.ts'
import { shaOf } from '../support/stored-blobs.ts'

const blobPuts = (bucket: S3Bucket) => bucket.calls.filter(({ operation, key }) => operation === 'PutObject' && key.includes('/blobs/'))
/** Returns the temporary folders for database copies that still exist. */
const scratchFoldersIn = ({ config }: Pick<TestApp, 'config'>) => readdirSync(config.DATA_DIR).filter((name) => name.startsWith('.backup-'))

it.each(['a folder', 'another bucket'])('backs up archives from %s to a bucket and restores them', async (kind) => {
  await using store = await s3Bucket()
  await using backups = await backupBucket()
  const { bucket, address } = backups
  const env = { ...backups.env, ...(kind === 'a folder' ? {} : store.env) }
  await using app = await testApp({ env })
  const alice = await app.member()
  // Large enough for an upload in two parts.
  const noise: Record<string, Buffer> = kind === 'a folder' ? {} : { 'lib/noise.bin': randomBytes(5.5 * 1024 ** 2) }
  const archives = [
    await publish(alice, { name: 'acme', version: '1.0.0' }),
    await publish(alice, { name: 'acme', version: '1.1.0', files: noise }),
  ]
  const { manifest } = await backUp(app, address)
  expect(manifest.blobs).toMatchObject({ count: 2, lacking: [] })
  expect(blobPuts(bucket)).toHaveLength(kind === 'a folder' ? 2 : 1)
  await publish(alice, { name: 'acme', version: '1.2.0' })
  expect(await backUp(app, address)).toMatchObject({ copied: 1, manifest: { blobs: { count: 3 } } })
  expect(await verify(app.config, address)).toMatchObject({ ok: true, data: { checked: { backups: 2, blobs: 3 }, problems: [] } })

  await using other = await s3Bucket()
  const place = {
    ...(await emptyPlace(app)),
    ...(kind === 'a folder' ? {} : { S3_BUCKET: other.env.S3_BUCKET, S3_ENDPOINT: other.env.S3_ENDPOINT }),
  }
  expect(await restoreBackup(place, address, manifest.id)).toMatchObject({ blobs: 2 })
  await using restored = await testApp({ sameDatabaseAs: app, config: place })
  const reader = restored.withToken(alice.secret ?? '')
  for (const [index, archive] of archives.entries())
    expect((await reader.get(`/api/archives/acme-1.${index}.0.tar.gz`)).raw.equals(archive)).toBe(true)
  expect(await verify(place)).toMatchObject({ ok: true, data: { checked: { archives: 2 } } })
  expect([scratchFoldersIn(app), scratchFoldersIn({ config: place })]).toEqual([[], []])
  // Neither the restored server nor another one writes to the bucket.
  await using stranger = await testApp({ env: backups.env })
  for (const one of [restored, stranger]) await expect(backUp(one, address)).rejects.toThrow('has backups of another server')
})

it('gives the bucket to one of two concurrent servers, also without conditional writes', async () => {
  await using backups = await backupBucket()
  const { bucket, address, env } = backups
  await using app = await testApp({ env })
  await using other = await testApp({ env })
  const ends = await Promise.allSettled([backUp(app, address), backUp(other, address)])
  expect(ends.map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected'])
  bucket.features.conditionalWrites = 'unknown'
  const second = address.replace('of/snug', 'second')
  const later = await Promise.allSettled([backUp(app, second), backUp(other, second)])
  expect(later.filter(({ status }) => status === 'fulfilled').length).toBeLessThanOrEqual(1)
  expect((await bucket.keys()).filter((key) => /^second.*manifest/.test(key)).length).toBeLessThanOrEqual(1)
})

it('deletes from a bucket only what no remaining backup needs', async () => {
  await using backups = await backupBucket()
  const { bucket, address, env, inPlace } = backups
  await using app = await testApp({ env })
  const [admin, alice] = [await app.admin(), await app.member()]
  const [gone, kept] = [await publish(alice, { name: 'acme', version: '1.0.0' }), await publish(alice, { name: 'acme', version: '1.1.0' })]
  const first = (await backUp(app, address)).manifest.id
  await admin.delete('/api/admin/packages/acme/versions/1.0.0')
  const second = (await backUp(app, address)).manifest.id
  const notes = [inPlace('blobs/notes.txt'), inPlace('notes.txt'), 'of/snug2/notes.txt']
  for (const key of notes) await bucket.write(key, Buffer.from('mine'))
  const forget = (made: string) => deleteOldBackups(sourceOf(app), address, { made, keep: 1 })
  // Objects that are temporarily unreadable are not deleted.
  bucket.fault = ({ operation, key }) =>
    operation === 'GetObject' && key === inPlace(manifestKey(first)) ? { status: 503, code: 'SlowDown' } : null
  await expect(forget(second)).rejects.toThrow('does not answer')
  bucket.fault = () => null
  expect(await forget(second)).toEqual({ backups: [first], blobs: 1, bytes: gone.length })
  const keys = await bucket.keys()
  expect(keys.filter((key) => key.includes('blobs/') || key.includes('notes')).toSorted()).toEqual(
    [inPlace(blobKey(shaOf(kept))), ...notes].toSorted(),
  )
  expect(keys.filter((key) => key.includes(first))).toEqual([])
  expect(await verify(app.config, address)).toMatchObject({ ok: true, data: { checked: { backups: 1, blobs: 1 } } })
})

it('ignores an interrupted backup and removes it with the next one', async () => {
  await using backups = await backupBucket()
  const { bucket, address, env, inPlace } = backups
  await using app = await testApp({ env })
  const alice = await app.member()
  const archive = await publish(alice, { name: 'acme', version: '1.0.0', files: { 'lib/noise.bin': randomBytes(5.5 * 1024 ** 2) } })
  // Simulates a killed process: it can neither complete nor clean up.
  bucket.fault = ({ operation, key }) =>
    /^(Complete|Abort|Delete)/.test(operation) && !key.includes('partial') ? { status: 500, code: 'InternalError' } : null
  await expect(backUp(app, address)).rejects.toThrow('does not answer')
  bucket.fault = ({ operation, key }) => (operation === 'PutObject' && key.endsWith('manifest.json') ? 'reset' : null)
  expect(bucket.features.uploads.size).toBe(1)
  await expect(backUp(app, address)).rejects.toThrow('does not answer')
  bucket.fault = () => null
  expect(bucket.features.uploads.size).toBe(0)
  await expect(restoreBackup(await emptyPlace(app), address)).rejects.toThrow('There is no complete backup in s3://')
  const { copied, manifest } = await backUp(app, address)
  // The blob was complete when the second backup stopped.
  expect(copied).toBe(0)
  const keys = (await bucket.keys()).filter((key) => !key.includes(manifest.id))
  expect(keys.toSorted()).toEqual([inPlace(blobKey(shaOf(archive))), inPlace(ownerKey)])
  expect(scratchFoldersIn(app)).toEqual([])
})

it('leaves no manifest of a backup it removed, also when the answer to the write was lost', async () => {
  await using backups = await backupBucket()
  const { bucket, address, env } = backups
  await using app = await testApp({ env })
  bucket.fault = ({ operation, key }) => {
    if (!key.endsWith('manifest.json')) return null
    return operation === 'PutObject' ? 'lost' : operation === 'DeleteObject' ? { status: 500, code: 'InternalError' } : null
  }
  await expect(backUp(app, address)).rejects.toThrow('does not answer')
  bucket.fault = () => null
  expect(await verify(app.config, address)).toMatchObject({ ok: true, data: { checked: { backups: 1 } } })
})

it('resends corrupt or unacknowledged objects and replaces objects of another length', async () => {
  await using backups = await backupBucket()
  const { bucket, address, env, inPlace } = backups
  await using app = await testApp({ env })
  const archive = await publish(await app.member(), { name: 'acme', version: '1.0.0' })
  let sent = 0
  bucket.fault = ({ operation, key }) => (operation === 'PutObject' && key.includes('blobs/') && ++sent === 1 ? 'lost' : null)
  expect(await backUp(app, address)).toMatchObject({ copied: 1 })
  bucket.fault = ({ operation, key }) => (operation === 'PutObject' && key.endsWith('blobs.tsv') ? 'corrupt' : null)
  await expect(backUp(app, address)).rejects.toThrow('BadDigest')
  bucket.fault = () => null
  const key = inPlace(blobKey(shaOf(archive)))
  await bucket.write(key, archive.subarray(1))
  expect(await backUp(app, address)).toMatchObject({ copied: 1 })
  expect((await bucket.read(key)).equals(archive)).toBe(true)
})

it('detects all damage of a backup in a bucket and restores none of it', async () => {
  await using backups = await backupBucket()
  const { bucket, address, env, inPlace } = backups
  await using app = await testApp({ env })
  const archive = await publish(await app.member(), { name: 'acme', version: '1.0.0' })
  const { manifest } = await backUp(app, address)
  const rows = app.config.DB_BACKEND === 'sqlite' ? 'registry.sqlite' : 'users.copy'
  const place = await emptyPlace(app)
  for (const key of [
    blobKey(shaOf(archive)),
    `snapshots/${manifest.id}/blobs.tsv`,
    `snapshots/${manifest.id}/${rows}`,
    manifestKey(manifest.id),
  ]) {
    const whole = await bucket.read(inPlace(key))
    const other = Buffer.from(whole)
    other.writeUInt8(other.readUInt8(0) ^ 1)
    for (const bytes of [other, whole.subarray(1)]) {
      await bucket.write(inPlace(key), bytes)
      const { ok, data } = await verify(app.config, address)
      expect([key, ok, JSON.stringify(data)]).toEqual([
        key,
        false,
        expect.stringContaining(key.includes('manifest') ? manifest.id : `${address}/${key}`),
      ])
      await expect(restoreBackup(place, address)).rejects.toThrow(/damaged/)
    }
    await bucket.write(inPlace(key), whole)
  }
  expect(await restoreBackup(place, address)).toMatchObject({ blobs: 1 })
})

it('backs up to a bucket by schedule and keeps the configured number of backups', async () => {
  await using backups = await backupBucket()
  const { bucket, address } = backups
  const env = { ...backups.env, BACKUP_TO: address, BACKUP_KEEP: '1' }
  await using app = await testApp({ now: new Date(), env })
  await publish(await app.member(), { name: 'acme', version: '1.0.0' })
  const first = (await backUp(app, address)).manifest.id
  await scheduleBackups(app.services)
  app.clock.now = new Date(Date.now() + 86_400_000)
  expect(await scheduleBackups(app.services)).toBe(true)
  await runJobs(app)
  const { body } = await (await app.admin()).graphql('{ backupSchedule { place lastSuccess { id blobs } lastFailure { reason } } }')
  const { lastSuccess, ...state } = body.data.backupSchedule
  expect(state).toEqual({ place: address, lastFailure: null })
  const manifests = (await bucket.keys()).filter((key) => key.endsWith('manifest.json'))
  expect(manifests).toEqual([backups.inPlace(manifestKey(lastSuccess.id))])
  expect(lastSuccess.id > first).toBe(true)
})

it('checks that the destination is empty before it copies anything', async () => {
  await using backups = await backupBucket()
  const { bucket, address, env } = backups
  await using app = await testApp({ env })
  await publish(await app.member(), { name: 'acme', version: '1.0.0' })
  await backUp(app, address)
  const place = await emptyPlace(app)
  await restoreBackup(place, address)
  const read: string[] = []
  bucket.fault = ({ operation, key }) => {
    if (operation === 'GetObject' && !key.endsWith('manifest.json')) read.push(key)
    return null
  }
  await expect(restoreBackup(place, address)).rejects.toThrow('A backup can only be restored into an empty database')
  expect([read, scratchFoldersIn({ config: place })]).toEqual([[], []])
})

it('removes temporary folders of killed processes but not of running ones', async () => {
  await using app = await testApp()
  const { DATA_DIR } = app.config
  const living = await scratchFolder(DATA_DIR)
  const killed = mkdtempSync(join(DATA_DIR, '.backup-'))
  writeFileSync(join(killed, 'lock'), '')
  // Its process may be about to take the lock.
  const begun = mkdtempSync(join(DATA_DIR, '.backup-'))
  await sweepScratch(DATA_DIR)
  expect(scratchFoldersIn(app).toSorted()).toEqual([living.folder, begun].map((path) => basename(path)).toSorted())
  await living[Symbol.asyncDispose]()
  expect(scratchFoldersIn(app)).toEqual([basename(begun)])
})
