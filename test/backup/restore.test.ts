import { appendFileSync, cpSync, existsSync, mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expect, it } from 'vitest'
import { restoreBackup } from '../../server/operations/backup/restore/restore.ts'
import { testApp } from '../app.ts'
import { backUp, emptyPlace, folderOfTest, placesIn } from '../support/backups.ts'
import { publish } from '../support/publish.ts'
import { shaOf } from '../support/stored-blobs.ts'

it('backs up only into an empty folder or one with its own backups', async () => {
  await using app = await testApp()
  const folder = folderOfTest()
  writeFileSync(join(folder, 'notes.txt'), 'mine')
  await expect(backUp(app, folder)).rejects.toThrow(`${folder} has other files`)
  await using other = await testApp()
  const own = folderOfTest()
  await backUp(other, own)
  await expect(backUp(app, own)).rejects.toThrow('has backups of another server')
})

it('refuses a folder with backups of another server or of the server it was restored from', async () => {
  await using app = await testApp()
  await publish(await app.member(), { name: 'acme', version: '1.0.0' })
  const folder = folderOfTest()
  await backUp(app, folder)
  const place = await emptyPlace(app)
  await restoreBackup(place, folder)
  await using restored = await testApp({ sameDatabaseAs: app, config: place })
  // Files that a concurrent backup of the first server writes.
  const underWay = [join(placesIn(folder).partial, 'blob'), join(placesIn(folder).snapshots, '20990101T000000000Z', 'rows.copy')]
  mkdirSync(dirname(underWay[1] ?? ''))
  for (const path of underWay) writeFileSync(path, 'half')
  await using stranger = await testApp()
  for (const other of [restored, stranger]) await expect(backUp(other, folder)).rejects.toThrow('has backups of another server')
  expect(underWay.map((path) => existsSync(path))).toEqual([true, true])
  await backUp(restored, folderOfTest())
  await backUp(app, folder)
  expect(underWay.map((path) => existsSync(path))).toEqual([false, false])
  // The first server no longer exists.
  rmSync(placesIn(folder).owner)
  await backUp(restored, folder)
})

it('restores only into an empty database and store', async () => {
  await using app = await testApp()
  await publish(await app.member(), { name: 'acme', version: '1.0.0' })
  const folder = folderOfTest()
  await expect(restoreBackup(await emptyPlace(app), folder)).rejects.toThrow('There is no complete backup in')
  const { manifest } = await backUp(app, folder)
  await expect(restoreBackup(await emptyPlace(app), folder, '20200101T000000000Z')).rejects.toThrow(`It has these: ${manifest.id}.`)
  await app.stop()
  await expect(restoreBackup(app.config, folder)).rejects.toThrow('The database already contains accounts or packages.')
  const place = await emptyPlace(app)
  await expect(restoreBackup({ ...place, BLOB_PATH: app.config.BLOB_PATH }, folder)).rejects.toThrow(
    'already contains archives or documentation',
  )
  const other = app.config.DB_BACKEND === 'sqlite' ? 'postgres' : 'sqlite'
  const onward = other === 'postgres' ? 'sqlite, then move it to PostgreSQL.' : 'postgres: it cannot be converted to SQLite.'
  const refused = `DB_BACKEND is ${other}. Restore it on ${onward}`
  await expect(restoreBackup({ ...place, DB_BACKEND: other }, folder)).rejects.toThrow(refused)
})

it('refuses a backup of a newer version and one with a damaged manifest', async () => {
  await using app = await testApp()
  const folder = folderOfTest()
  const { manifest } = await backUp(app, folder)
  const path = placesIn(folder).manifest(manifest.id)
  writeFileSync(
    path,
    JSON.stringify({ ...manifest, version: '99.0.0', migrations: [...manifest.migrations, 'Migration99999999000000_later'] }),
  )
  await expect(restoreBackup(await emptyPlace(app), folder)).rejects.toThrow('made by Snug 99.0.0, which is newer')
  writeFileSync(path, JSON.stringify(manifest).slice(0, -20))
  await expect(restoreBackup(await emptyPlace(app), folder)).rejects.toThrow('is damaged, or was made by a newer version')
})

it('leaves nothing usable after restoring damaged files, and starts over on the next run', async () => {
  await using app = await testApp()
  const alice = await app.member()
  const archive = await publish(alice, { name: 'acme', version: '1.0.0' })
  await publish(alice, { name: 'beta', version: '1.0.0' })
  const folder = folderOfTest()
  const { manifest } = await backUp(app, folder)
  const places = placesIn(folder)
  const rows = join(places.snapshot(manifest.id), app.config.DB_BACKEND === 'sqlite' ? 'registry.sqlite' : 'users.copy')
  const place = await emptyPlace(app)
  for (const path of [places.blob(shaOf(archive)), rows]) {
    const whole = join(folderOfTest(), 'whole')
    cpSync(path, whole)
    appendFileSync(path, '\n')
    await expect(restoreBackup(place, folder)).rejects.toThrow('damaged')
    await expect(testApp({ sameDatabaseAs: app, config: place })).rejects.toThrow('A restore of a backup into')
    rmSync(path)
    await expect(restoreBackup(place, folder)).rejects.toThrow()
    mkdirSync(join(path, '..'), { recursive: true })
    renameSync(whole, path)
  }
  expect(await restoreBackup(place, folder)).toMatchObject({ blobs: 2 })
  await using restored = await testApp({ sameDatabaseAs: app, config: place })
  expect((await restored.withToken(alice.secret ?? '').get('/api/archives/acme-1.0.0.tar.gz')).raw.equals(archive)).toBe(true)
})

it('links a restored database to its store after an interruption just before that step', async () => {
  await using app = await testApp()
  const alice = await app.member()
  await publish(alice, { name: 'acme', version: '1.0.0' })
  const folder = folderOfTest()
  const { manifest } = await backUp(app, folder)
  const place = await emptyPlace(app)
  await restoreBackup(place, folder)
  writeFileSync(join(place.BLOB_PATH, 'store-id'), `restoring ${manifest.id}\n`)
  await expect(testApp({ sameDatabaseAs: app, config: place })).rejects.toThrow('was interrupted, so the server does not start')
  await restoreBackup(place, folder)
  await using restored = await testApp({ sameDatabaseAs: app, config: place })
  expect(await restored.withToken(alice.secret ?? '').get('/api/packages/acme')).toMatchObject({ status: 200 })
  await restored.stop()
  await expect(restoreBackup(place, folder)).rejects.toThrow('The database already contains accounts or packages.')
})
