import { expect, it } from 'vitest'
import { testApp } from '../app.ts'
import { environmentOf, runCommand } from '../support/admin.ts'
import { backupBucket } from '../support/backup-buckets.ts'
import { backUp } from '../support/backups.ts'
import { s3Bucket, type S3Fault } from '../support/s3-service.ts'

const noSecrets = 'must not contain credentials'
const form = 'write a folder, or s3://bucket/prefix'

const malformed = {
  's3://key:verysecret@bucket/snug': noSecrets,
  's3://verysecret@bucket': noSecrets,
  's3:/bucket/verysecret': form,
  's3://': form,
  's3://bucket/../verysecret': form,
  's3://bucket/snug?key=verysecret': form,
  'https://key:verysecret@example.com/bucket': noSecrets,
  'gs://bucket/verysecret': form,
}

it('refuses malformed addresses without repeating them', async () => {
  await using app = await testApp()
  for (const [address, message] of Object.entries(malformed)) {
    for (const command of ['backup', 'restore', 'verify']) {
      const { code, out, err } = await runCommand(environmentOf(app), command, address)
      expect([address, command, code, out, err]).toEqual([address, command, 2, '', expect.stringContaining(message)])
      expect(err).not.toContain('verysecret')
    }
    const { code, err } = await runCommand({ ...environmentOf(app), BACKUP_TO: address }, 'backup', address)
    expect([address, code, err]).toEqual([address, 78, expect.stringContaining(`BACKUP_TO: ${message}`)])
    expect(err).not.toContain('verysecret')
  }
})

const denied: S3Fault = { status: 403, code: 'AccessDenied' }

it.each<[string, (call: { operation: string; key: string }) => S3Fault | null, string]>([
  ['ListObjectsV2', ({ operation }) => (operation === 'ListObjectsV2' ? denied : null), 'the access key may not do this'],
  ['PutObject', ({ operation }) => (operation === 'PutObject' ? denied : null), 'the access key may not do s3:PutObject'],
  ['DeleteObject', ({ operation }) => (operation === 'DeleteObject' ? denied : null), 'may not do s3:DeleteObject'],
  ['key', () => ({ status: 403, code: 'InvalidAccessKeyId' }), 'Correct BACKUP_S3_ACCESS_KEY_ID.'],
  ['secret', () => ({ status: 403, code: 'SignatureDoesNotMatch' }), 'Correct BACKUP_S3_SECRET_ACCESS_KEY.'],
  ['region', () => ({ status: 301, code: 'PermanentRedirect' }), 'Correct BACKUP_S3_REGION.'],
])('reports wrong permissions, key or region of a bucket: %s', async (_what, fault, message) => {
  await using backups = await backupBucket()
  await using app = await testApp({ env: backups.env })
  backups.bucket.fault = fault
  await expect(backUp(app, backups.address)).rejects.toThrow(message)
  await expect(testApp({ env: { ...backups.env, BACKUP_TO: backups.address } })).rejects.toThrow(/^BACKUP_TO: The place for backups s3:/)
})

it('names a missing bucket in every command and at startup', async () => {
  await using backups = await backupBucket()
  await using app = await testApp()
  const environment = { ...environmentOf(app), ...backups.env }
  for (const command of ['backup', 'restore', 'verify']) {
    const { code, err } = await runCommand(environment, command, 's3://no-such-bucket/snug')
    const message = 'there is no bucket no-such-bucket at http://127.0.0.1'
    expect([command, code, err]).toEqual([command, 78, expect.stringContaining(message)])
  }
  await expect(testApp({ env: { ...backups.env, BACKUP_TO: 's3://no-such-bucket' } })).rejects.toThrow('or BACKUP_S3_ENDPOINT.')
})

it('leaves other objects in a bucket alone and uses a separate prefix from the archives', async () => {
  await using backups = await backupBucket()
  const { bucket, address, env, inPlace } = backups
  await using app = await testApp({ env })
  await bucket.write(inPlace('blobs/picture.png'), Buffer.from('mine'))
  await expect(backUp(app, address)).rejects.toThrow('has other objects')
  expect(await bucket.keys()).toEqual([inPlace('blobs/picture.png')])
  // Web consoles of object stores create such folder objects.
  await bucket.write('empty/', Buffer.alloc(0))
  await backUp(app, `s3://${bucket.env.S3_BUCKET}/empty/`)

  await using store = await s3Bucket()
  for (const place of [`s3://${store.env.S3_BUCKET}`, `s3://${store.env.S3_BUCKET}/staging/backups`])
    await expect(testApp({ env: { ...store.env, BACKUP_TO: place } })).rejects.toThrow('Name a place apart from the data.')
  await using allowed = await testApp({ env: { ...store.env, BACKUP_TO: `s3://${store.env.S3_BUCKET}/backups` } })
  await backUp(allowed, allowed.config.BACKUP_TO ?? '')
})

it('starts and logs a message while the bucket is unreachable', async () => {
  await using backups = await backupBucket()
  backups.bucket.fault = () => 'reset'
  await using app = await testApp({ env: { ...backups.env, BACKUP_TO: backups.address } })
  expect(app.lines.join('\n')).toContain(`No backup can be made at the moment: The place for backups ${backups.address}/ does not answer`)
  await expect(backUp(app, backups.address)).rejects.toThrow('does not answer')
})
