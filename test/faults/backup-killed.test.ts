import { randomBytes } from 'node:crypto'
import { readdirSync } from 'node:fs'
import { expect, it } from 'vitest'
import { runCommand } from '../support/admin.ts'
import { admin } from '../support/admin-process.ts'
import { packageArchive } from '../support/archive.ts'
import { backupBucket } from '../support/backup-buckets.ts'
import { type Backend, databaseOf, FaultRegistry } from '../support/fault-registry.ts'
import { isFullRun } from '../support/fault-table.ts'
import type { S3Call } from '../support/s3-call.ts'
import { type S3Bucket, s3Bucket } from '../support/s3-service.ts'
import { folderForTest, secretForTests } from '../support/server-process.ts'

const backends: Backend[] = ['sqlite', 'postgres']

/** The S3 call at which the process is killed: before the bucket receives the call, or with `isDone`, after the bucket has executed it. */
type Moment = { when: string; at: (call: S3Call) => boolean; isDone?: true; isWhole?: true; ofDatabase?: true }

const puts = (part: string) => (call: S3Call) => call.operation === 'PutObject' && call.key.includes(part)
const calls = (operation: string, part: string) => (call: S3Call) => call.operation === operation && call.key.includes(part)

const moments: Moment[] = [
  { when: 'testing whether the bucket is writable', at: puts('/partial/') },
  { when: 'taking ownership', at: puts('/owner') },
  { when: 'after taking ownership', at: puts('/owner'), isDone: true },
  { when: 'listing existing blobs', at: (call) => call.operation === 'ListObjectsV2' && prefixOf(call).endsWith('/blobs/') },
  { when: 'uploading a blob', at: puts('/blobs/') },
  { when: 'after uploading a blob', at: puts('/blobs/'), isDone: true },
  { when: 'uploading a part of a large blob', at: calls('UploadPart', '/blobs/') },
  { when: 'completing a multipart upload', at: calls('CompleteMultipartUpload', '/blobs/') },
  { when: 'uploading the database copy', at: puts('/snapshots/'), ofDatabase: true },
  { when: 'after uploading the list of blobs', at: puts('/blobs.tsv'), isDone: true },
  { when: 'writing the manifest', at: puts('/manifest.json') },
  { when: 'after writing the manifest', at: puts('/manifest.json'), isDone: true, isWhole: true, ofDatabase: true },
]

/** Most moments do not depend on the database. Short runs test those on PostgreSQL only. */
const momentsOn = (backend: Backend) => moments.filter(({ ofDatabase }) => isFullRun || backend === 'postgres' || ofDatabase)

const prefixOf = ({ query }: S3Call) => query.get('prefix') ?? ''

it.for(backends)(
  'ignores a backup to a bucket that was killed before its manifest was written, and completes the next one, on %s',
  // The test runs about sixty commands, one after another.
  { timeout: 900_000 },
  async (backend) => {
    await using store = await s3Bucket()
    await using elsewhere = await s3Bucket()
    await using backups = await backupBucket()
    const registry = await FaultRegistry.open(backend, { env: { ...store.env, ...backups.env } })
    const command = (...words: string[]) => runCommand(environmentOf(registry), ...words)
    for (const [version, size] of [
      ['1.0.0', 100],
      ['1.0.1', 6 * 1024 ** 2],
    ] as const)
      await registry.client.publish(await packageArchive({ name: 'acme', version, files: { 'lib/noise.bin': randomBytes(size) } }))
    for (const [index, { when, at, isDone = false, isWhole = false }] of momentsOn(backend).entries()) {
      // Each moment gets its own bucket prefix, so that its backup is the first one there.
      const address = `${backups.address}-${index}`
      const { process, result } = admin(registry.folder, registry.env, 'backup', address)
      await killAt(backups.bucket, at, { isDone, kill: () => kill(process.pid) })
      expect([when, await result]).toMatchObject([when, { code: null }])
      const verified = await command('verify', address)
      expect([when, verified]).toMatchObject([
        when,
        isWhole ? { code: 0 } : { code: 1, err: expect.stringContaining('no complete backup') },
      ])
      // The killed process ran on this machine, so the next backup can start at once.
      expect([when, await command('backup', address)]).toMatchObject([when, { code: 0 }])
      const { code, out } = await command('verify', address, '--json')
      expect([when, code, JSON.parse(out)]).toMatchObject([when, 0, { checked: { backups: isWhole ? 2 : 1, blobs: 2 }, problems: [] }])
      expect([when, backups.bucket.features.uploads.size, scratchIn(registry.folder)]).toEqual([when, 0, []])
    }
    expect((await backups.bucket.keys()).filter((key) => key.includes('/partial/'))).toEqual([])

    const settings = { ...registry.env, ...elsewhere.env, ...(await databaseOf(backend)) }
    const restored = { folder: folderForTest(), env: settings }
    expect(await runCommand(environmentOf(restored), 'restore', `${backups.address}-0`)).toMatchObject({ code: 0 })
    const { code, out } = await runCommand(environmentOf(restored), 'verify', '--json')
    expect([code, JSON.parse(out)]).toMatchObject([0, { problems: [], checked: { archives: 2 } }])
  },
)

/** Kills the process at the first matching call, and resolves then. With `isDone`, the bucket executes the call first; otherwise it never does. */
function killAt(bucket: S3Bucket, at: Moment['at'], { isDone, kill }: { isDone: boolean; kill: () => void }): Promise<void> {
  const killed = Promise.withResolvers<void>()
  let isOver = !isDone
  bucket.fault = (call) => {
    // The bucket executes this call but its response is lost. The client retries, and the process is killed at the retry.
    if (!isOver && at(call)) {
      isOver = true
      return 'lost'
    }
    if (!isOver || (!isDone && !at(call))) return null
    bucket.fault = () => null
    kill()
    killed.resolve()
    return 'reset'
  }
  return killed.promise
}

/** Kills the whole process group: the command runs in a child process. */
const kill = (pid: number | undefined) => void process.kill(-(pid ?? 0), 'SIGKILL')

const environmentOf = ({ folder, env }: { folder: string; env: Record<string, string> }) => ({
  JWT_SECRET: secretForTests,
  DATA_DIR: folder,
  ...env,
})

const scratchIn = (folder: string) => readdirSync(folder).filter((name) => name.startsWith('.backup-'))
