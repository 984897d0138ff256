import { expect, it } from 'vitest'
import { createBackup } from '../../server/operations/backup/create.ts'
import { restoreBackup } from '../../server/operations/backup/restore/restore.ts'
import { verifyPlace } from '../../server/operations/backup/verify/server.ts'
import type { Config } from '../../server/platform/config/config.ts'
import { migrateTo } from '../../server/platform/db/schema/migrate.ts'
import { migrationNames } from '../../server/platform/db/schema/migration-files.ts'
import { openPostgres } from '../../server/platform/db/open/open-postgres.ts'
import { openSqlite } from '../../server/platform/db/open/open-sqlite.ts'
import { openUnlocked } from '../../server/platform/db/open/orm.ts'
import { openStores } from '../../server/platform/store/open.ts'
import { testApp } from '../app.ts'
import { backUp, emptyPlace, folderOfTest } from '../support/backups.ts'
import { publish } from '../support/publish.ts'
import { s3Bucket } from '../support/s3-service.ts'
import { shaOf } from '../support/stored-blobs.ts'

it('restores archives from one bucket into another', async () => {
  await using bucket = await s3Bucket()
  await using other = await s3Bucket()
  await using app = await testApp({ env: bucket.env })
  const alice = await app.member()
  const [archive, gone] = [
    await publish(alice, { name: 'acme', version: '1.0.0' }),
    await publish(alice, { name: 'acme', version: '1.1.0' }),
  ]
  const key = (await bucket.keys()).find((one) => one.endsWith(shaOf(gone))) ?? ''
  await bucket.write(key, Buffer.from('other bytes'))
  const folder = folderOfTest()
  const { manifest } = await backUp(app, folder)
  expect(manifest.blobs).toMatchObject({ count: 2, lacking: [{ sha256: shaOf(gone), problem: 'damaged' }] })
  await bucket.write(key, gone)
  expect(await backUp(app, folder)).toMatchObject({ copied: 1, manifest: { blobs: { count: 2, lacking: [] } } })

  const { S3_BUCKET, S3_ENDPOINT } = other.env
  const place = { ...(await emptyPlace(app)), BLOB_BACKEND: 's3' as const, S3_BUCKET, S3_ENDPOINT }
  await expect(restoreBackup({ ...place, S3_BUCKET: app.config.S3_BUCKET }, folder)).rejects.toThrow(
    'already contains archives or documentation',
  )
  expect(await restoreBackup(place, folder)).toMatchObject({ blobs: 2 })
  await using restored = await testApp({ sameDatabaseAs: app, config: place })
  const stores = { archives: restored.services.blobs, docs: restored.services.docs }
  expect(await verifyPlace({ em: restored.services.database.fork(), config: place, stores })).toMatchObject({
    checked: { archives: 2 },
    problems: [],
  })
  expect((await restored.withToken(alice.secret ?? '').get('/api/archives/acme-1.0.0.tar.gz')).raw.equals(archive)).toBe(true)
})

/** Backs up a database as an earlier version left it, without the last migration. */
async function backUpEarlier(config: Config, folder: string): Promise<string[]> {
  const names = migrationNames(config.DB_BACKEND).slice(0, -1)
  const { orm, close } = await (config.DB_BACKEND === 'sqlite' ? openSqlite(config, {}) : openPostgres(config, {}))
  try {
    await migrateTo(orm, config, names)
    const em = orm.em.fork()
    await em.execute(`insert into server_settings (key, value) values ('store.id', '"of before"'), ('kept', '1')`)
    await createBackup({ em, config, stores: await openStores(config), now: () => new Date() }, folder)
  } finally {
    await close()
  }
  return names
}

it('migrates a backup of an earlier version', async () => {
  await using app = await testApp()
  const folder = folderOfTest()
  const earlier = await backUpEarlier(await emptyPlace(app), folder)
  const place = await emptyPlace(app)
  expect((await restoreBackup(place, folder)).manifest.migrations).toEqual(earlier)
  // Opening the database normally refuses a database of another version.
  const orm = await openUnlocked(place)
  const rows = await orm.em.fork().execute("select key, value from server_settings where key in ('store.id', 'kept') order by key")
  await orm.close(true)
  expect(rows).toEqual([
    { key: 'kept', value: '1' },
    { key: 'store.id', value: '"of before"' },
  ])
})
