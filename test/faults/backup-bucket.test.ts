import { expect, it, onTestFinished } from 'vitest'
import { runCommand } from '../support/admin.ts'
import { backupBucket } from '../support/backup-buckets.ts'
import { FaultRegistry } from '../support/fault-registry.ts'
import { createDatabase } from '../support/postgres.ts'
import { s3Bucket } from '../support/s3-service.ts'
import { folderForTest, secretForTests } from '../support/server-process.ts'

/** Runs an admin command with the settings of a server on PostgreSQL. */
const command = (folder: string, env: Record<string, string>, ...words: string[]) =>
  runCommand({ SERVER_URL: 'http://localhost:1', JWT_SECRET: secretForTests, DATA_DIR: folder, ...env }, ...words)

it('creates a consistent backup in another bucket while 50 versions are published and 5 are deleted', async () => {
  await using store = await s3Bucket()
  await using elsewhere = await s3Bucket()
  await using backups = await backupBucket()
  const registry = await FaultRegistry.open('postgres', { env: { ...store.env, ...backups.env, S3_TIMEOUT_MS: '60000' } })
  await registry.publishMany({ label: 'early', publishes: 10, packages: 6 })

  // Uploads of archives to the backup wait until all changes below are done. The rows have been copied by then.
  const [begun, changed] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  backups.bucket.fault = async ({ operation, key }) => {
    if (operation !== 'PutObject' || !key.includes('/blobs/')) return null
    begun.resolve()
    await changed.promise
    return null
  }
  const made = command(registry.folder, registry.env, 'backup', backups.address)
  await begun.promise
  const headers = { authorization: `Bearer ${registry.token}` }
  const deleteFive = async () => {
    for (const index of [0, 1, 2, 3, 4]) {
      const path = `/api/admin/packages/early_${index}/versions/1.0.0`
      expect(await fetch(registry.listensAt + path, { method: 'DELETE', headers })).toMatchObject({ status: 200 })
    }
  }
  await Promise.all([registry.publishMany({ label: 'during', publishes: 50 }), deleteFive()])
  changed.resolve()
  expect(await made).toMatchObject({ code: 0, out: expect.stringContaining('Copied now: 10 blobs.') })
  expect(await command(registry.folder, registry.env, 'verify', backups.address)).toMatchObject({ code: 0 })

  const { url, drop } = await createDatabase()
  onTestFinished(drop)
  const [folder, env] = [folderForTest(), { ...registry.env, ...elsewhere.env, POSTGRES_URL: url }]
  expect(await command(folder, env, 'restore', backups.address)).toMatchObject({ code: 0 })
  const { code, out } = await command(folder, env, 'verify', '--json')
  expect([code, JSON.parse(out)]).toMatchObject([0, { ok: true, problems: [], checked: { archives: 10 } }])
})
