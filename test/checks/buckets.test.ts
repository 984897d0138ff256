import { expect, it } from 'vitest'
import type { Check } from '../../server/operations/checks/doctor/check.ts'
import { testApp } from '../app.ts'
import { environmentOf, runCommand } from '../support/admin.ts'
import { backupBucket } from '../support/backup-buckets.ts'
import { backUp, folderOfTest } from '../support/backups.ts'
import { s3Bucket } from '../support/s3-service.ts'

async function runDoctor(environment: Record<string, string>) {
  const { out } = await runCommand(environment, 'doctor', '--quick', '--json')
  for (const secret of ['a secret of the bucket', 'a secret of the backups']) expect(out).not.toContain(secret)
  const checks: Check[] = JSON.parse(out).checks
  return (wanted: string) => checks.find(({ name }) => name === wanted)
}

it('checks the buckets of archives and backups and leaves them unchanged', async () => {
  await using store = await s3Bucket()
  await using backups = await backupBucket()
  const env = { ...store.env, ...backups.env, BACKUP_TO: backups.address }
  await using app = await testApp({ env })
  await backUp(app, backups.address)
  const environment = { ...environmentOf(app), ...env }
  const before = [await store.keys(), await backups.bucket.keys()]
  const well = await runDoctor(environment)
  expect(['store', 'store identity', 'backups', 'clocks'].map((name) => well(name)?.status)).toEqual(['ok', 'ok', 'ok', 'ok'])
  expect(well('backups')?.message).toBe(`The backup destination ${backups.address}/ is writable.`)
  expect([await store.keys(), await backups.bucket.keys()]).toEqual(before)

  for (const bucket of [store, backups.bucket])
    bucket.fault = ({ operation }) => (operation === 'PutObject' ? { status: 403, code: 'AccessDenied' } : null)
  const denied = await runDoctor(environment)
  for (const name of ['store', 'backups'])
    expect(denied(name)).toMatchObject({ status: 'failed', message: expect.stringContaining('may not do s3:PutObject') })
  for (const bucket of [store, backups.bucket]) bucket.fault = () => 'reset'
  const away = await runDoctor(environment)
  for (const name of ['store', 'backups'])
    expect(away(name)).toMatchObject({ status: 'failed', message: expect.stringContaining('does not answer at http://127.0.0.1') })
})

it('finds a backup location that is missing, has other files or belongs to another server', async () => {
  await using app = await testApp()
  await using other = await testApp()
  const folder = folderOfTest()
  const look = async (BACKUP_TO: string, more = {}) => (await runDoctor({ ...environmentOf(app), ...more, BACKUP_TO }))('backups')
  expect(await look(`${folder}/none`)).toMatchObject({ status: 'warning', message: expect.stringContaining('does not exist') })
  expect(await look(app.config.DATA_DIR)).toMatchObject({ status: 'failed', message: expect.stringContaining('has other files') })
  await backUp(app, folder)
  expect(await look(folder)).toMatchObject({ status: 'ok' })
  await backUp(other, `${folder}/other`)
  expect(await look(`${folder}/other`)).toMatchObject({ status: 'failed', message: expect.stringContaining('of another server') })
  await using backups = await backupBucket()
  const missing = await look('s3://no-such-bucket', backups.env)
  expect(missing).toMatchObject({ status: 'failed', message: expect.stringContaining('there is no bucket no-such-bucket') })
})
