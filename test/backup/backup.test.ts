import { appendFileSync, readdirSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { createBackup } from '../../server/operations/backup/create.ts'
import { restoreBackup } from '../../server/operations/backup/restore/restore.ts'
import { collectArchives } from '../../server/platform/store/collect.ts'
import { holdRemovals } from '../../server/platform/store/hold.ts'
import { testApp } from '../app.ts'
import { environmentOf, runCommand } from '../support/admin.ts'
import { backUp, emptyPlace, folderOfTest, placesIn, sourceOf } from '../support/backups.ts'
import { runJobs } from '../support/jobs.ts'
import { publish } from '../support/publish.ts'
import { pathOf, shaOf } from '../support/stored-blobs.ts'

const filesBelow = (folder: string) =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => join(parentPath, name))

it('restores the state at the start of the backup, including archives of versions deleted since', async () => {
  await using app = await testApp()
  const [admin, alice] = [await app.admin(), await app.member()]
  const first = await publish(alice, { name: 'acme', version: '1.0.0' })
  const second = await publish(alice, { name: 'acme', version: '1.1.0' })
  const folder = folderOfTest()
  const source = sourceOf(app)
  // After the rows are copied, a version is deleted with its archive and another version is published.
  let isChanged = false
  const open: typeof app.services.blobs.open = async (sha256) => {
    if (!isChanged) {
      isChanged = true
      expect(await admin.delete('/api/admin/packages/acme/versions/1.0.0')).toMatchObject({ status: 200 })
      await runJobs(app)
      expect(await app.services.blobs.has(shaOf(first))).toBe(false)
      await publish(alice, { name: 'acme', version: '1.2.0' })
    }
    return app.services.blobs.open(sha256)
  }
  const made = await createBackup({ ...source, stores: { ...source.stores, archives: { ...app.services.blobs, open } } }, folder)
  expect(made).toMatchObject({ copied: 2, manifest: { blobs: { count: 2, lacking: [] } } })
  // Archives that were restored to the store for the copy are removed again.
  expect(await app.services.blobs.has(shaOf(first))).toBe(false)
  for (const path of filesBelow(folder)) expect([path, statSync(path).mode & 0o077]).toEqual([path, 0])

  const place = await emptyPlace(app)
  expect(await restoreBackup(place, folder)).toMatchObject({ blobs: 2 })
  await using restored = await testApp({ sameDatabaseAs: app, config: place })
  const reader = restored.withToken(alice.secret ?? '')
  expect((await reader.get('/api/packages/acme')).body.versions.map(({ version }: { version: string }) => version)).toEqual([
    '1.0.0',
    '1.1.0',
  ])
  expect((await reader.get('/api/archives/acme-1.0.0.tar.gz')).raw.equals(first)).toBe(true)
  expect((await reader.get('/api/archives/acme-1.1.0.tar.gz')).raw.equals(second)).toBe(true)
  await publish(reader, { name: 'acme', version: '1.2.0' })
})

it('copies only new archives into an existing backup and replaces damaged ones', async () => {
  await using app = await testApp()
  const alice = await app.member()
  const archive = await publish(alice, { name: 'acme', version: '1.0.0' })
  const folder = folderOfTest()
  expect(await backUp(app, folder)).toMatchObject({ copied: 1 })
  await publish(alice, { name: 'acme', version: '1.1.0' })
  expect(await backUp(app, folder)).toMatchObject({ copied: 1, manifest: { blobs: { count: 2 } } })
  expect(await backUp(app, folder)).toMatchObject({ copied: 0 })
  appendFileSync(placesIn(folder).blob(shaOf(archive)), 'x')
  expect(await backUp(app, folder)).toMatchObject({ copied: 1 })
})

it('reports archives missing from the store and backs up the rest', async () => {
  await using app = await testApp({ alone: true })
  const alice = await app.member()
  const [lost, kept] = [await publish(alice, { name: 'lost', version: '1.0.0' }), await publish(alice, { name: 'kept', version: '1.0.0' })]
  writeFileSync(pathOf(app, shaOf(lost)), 'other bytes')
  const folder = folderOfTest()
  const { manifest } = await backUp(app, folder)
  expect(manifest.blobs.lacking).toEqual([{ sha256: shaOf(lost), problem: 'damaged' }])
  const place = await emptyPlace(app)
  const { code, out, err } = await runCommand(environmentOf({ config: place }), 'restore', folder, '--json')
  expect({ code, err, ...JSON.parse(out) }).toEqual({
    code: 1,
    err: '',
    ok: false,
    message: expect.stringMatching(/^Restored backup .*1 blob\. Start the server\.\nNot in the backup: 1 blob that/),
    lacking: manifest.blobs.lacking,
  })
  await using restored = await testApp({ sameDatabaseAs: app, config: place })
  expect(await restored.services.blobs.has(shaOf(kept))).toBe(true)
})

it('retains removed archives while a backup runs, but not after it was killed', async () => {
  const start = new Date()
  await using app = await testApp({ now: start })
  const [admin, alice] = [await app.admin(), await app.member()]
  await publish(alice, { name: 'acme', version: '1.0.0' })
  await admin.delete('/api/admin/packages/acme')
  await runJobs(app)
  app.clock.now = new Date(start.getTime() + 8 * 86_400_000)
  const { database, blobs, now } = app.services
  const circumstances = { em: database.fork(), blobs, now, say: () => {} }
  const hold = await holdRemovals(database.fork(), now)
  await expect(backUp(app, folderOfTest())).rejects.toThrow('Another backup of this server is running')
  expect((await collectArchives(circumstances)).purged).toEqual([])
  app.clock.now = new Date(app.clock.now.getTime() + 130_000)
  expect((await collectArchives(circumstances)).purged).toHaveLength(1)
  await expect(hold.confirm()).rejects.toThrow('The backup was interrupted')
  await hold.release()
  await backUp(app, folderOfTest())
})
