import { mkdirSync, readFileSync, renameSync, rmSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import pg from 'pg'
import { expect, it } from 'vitest'
import { verify } from '../../server/operations/admin/diagnostics.ts'
import { restoreBackup } from '../../server/operations/backup/restore/restore.ts'
import type { Config } from '../../server/platform/config/config.ts'
import { testApp } from '../app.ts'
import { backUp, emptyPlace, folderOfTest, placesIn } from '../support/backups.ts'
import { publish } from '../support/publish.ts'
import { markerOf, plantOrphans, shaOf } from '../support/stored-blobs.ts'

it('refuses manifests that name files outside the backup', async () => {
  await using app = await testApp()
  const folder = folderOfTest()
  const { manifest } = await backUp(app, folder)
  const [place, path] = [await emptyPlace(app), placesIn(folder).manifest(manifest.id)]
  const [file] = manifest.files
  const [table, ...tables] = manifest.tables
  for (const changed of [
    { id: `../snapshots/${manifest.id}` },
    { id: `${manifest.id}\n` },
    { files: [{ ...file, name: '../registry.sqlite' }] },
    { tables: [{ ...table, name: '../../users' }, ...tables] },
    { tables: [{ ...table, name: 'users"; drop table users; --' }, ...tables] },
  ]) {
    writeFileSync(path, JSON.stringify({ ...manifest, ...changed }))
    await expect(restoreBackup(place, folder)).rejects.toThrow('is damaged, or was made by a newer version')
  }
})

it('refuses a list with missing blobs and blobs with other content', async () => {
  await using app = await testApp()
  const archive = await publish(await app.member(), { name: 'acme', version: '1.0.0' })
  const folder = folderOfTest()
  const { manifest } = await backUp(app, folder)
  const [places, place] = [placesIn(folder), await emptyPlace(app)]
  const list = join(places.snapshot(manifest.id), 'blobs.tsv')
  const lines = readFileSync(list)
  truncateSync(list)
  await expect(restoreBackup(place, folder)).rejects.toThrow(`${list} is missing or corrupt`)
  writeFileSync(list, lines)
  const blob = places.blob(shaOf(archive))
  const whole = join(folderOfTest(), 'whole')
  renameSync(blob, whole)
  for (const spoil of [
    () => writeFileSync(blob, Buffer.concat([archive, archive, archive])),
    () => writeFileSync(blob, archive.subarray(1)),
    () => symlinkSync('/dev/zero', blob),
    () => mkdirSync(blob),
  ]) {
    spoil()
    await expect(restoreBackup(place, folder)).rejects.toThrow(`The backup is damaged: ${blob} is missing or corrupt`)
    rmSync(blob, { recursive: true })
  }
})

it('refuses concurrent restores', async () => {
  await using app = await testApp()
  const folder = folderOfTest()
  await backUp(app, folder)
  const place = await emptyPlace(app)
  const ends = await Promise.allSettled([restoreBackup(place, folder), restoreBackup(place, folder)])
  expect(ends.map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected'])
})

it('refuses to restore into the database of a running server, even an empty one', async () => {
  await using app = await testApp()
  const folder = folderOfTest()
  await backUp(app, folder)
  const place = await emptyPlace(app)
  await using running = await testApp({ sameDatabaseAs: app, config: place })
  await expect(restoreBackup(place, folder)).rejects.toThrow(/A server is using the database|Stop the other server first/)
  await running.stop()
  await restoreBackup(place, folder)
})

it('restores over the remains of an interrupted restore', async () => {
  await using app = await testApp()
  await publish(await app.member(), { name: 'acme', version: '1.0.0' })
  const folder = folderOfTest()
  await backUp(app, folder)
  const place = await emptyPlace(app)
  plantOrphans({ config: place }, 1)
  await expect(restoreBackup(place, folder)).rejects.toThrow('already contains archives or documentation')
  writeFileSync(markerOf({ config: place }), 'restoring 20200101T000000000Z\n')
  // The migration runner creates this table before the first migration.
  if (place.DB_BACKEND === 'postgres')
    await executeIn(place, 'create table schema_migrations (id serial primary key, name text, executed_at timestamptz default now())')
  expect(await restoreBackup(place, folder)).toMatchObject({ blobs: 1 })
})

it('restores a backup of an earlier schema and migrates it', async () => {
  await using app = await testApp()
  const alice = await app.member()
  await publish(alice, { name: 'acme', version: '1.0.0' })
  // A migration that no later migration depends on.
  for (const statement of ['drop table job_tokens', "delete from schema_migrations where name like '%job_tokens%'"])
    await app.services.database.orm.em.getConnection().execute(statement)
  const folder = folderOfTest()
  const { manifest } = await backUp(app, folder)
  expect(manifest.tables.find(({ name }) => name === 'job_tokens')).toBeUndefined()
  const place = await emptyPlace(app)
  await restoreBackup(place, folder)
  await using restored = await testApp({ sameDatabaseAs: app, config: place })
  await publish(restored.withToken(alice.secret ?? ''), { name: 'acme', version: '1.1.0' })
  expect(await verify(place)).toMatchObject({ ok: true })
})

it('restores no tables of other programs', async () => {
  await using app = await testApp()
  await app.services.database.orm.em.getConnection().execute('create table spatial_ref_sys (id int)')
  const folder = folderOfTest()
  const { manifest } = await backUp(app, folder)
  expect(manifest.tables).toContainEqual(expect.objectContaining({ name: 'spatial_ref_sys' }))
  await restoreBackup(await emptyPlace(app), folder)
})

async function executeIn({ POSTGRES_URL }: Config, statement: string): Promise<void> {
  const client = new pg.Client(POSTGRES_URL)
  await client.connect()
  await client.query(statement)
  await client.end()
}
