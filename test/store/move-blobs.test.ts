import { writeFile } from 'node:fs/promises'
import type { Readable } from 'node:stream'
import { expect, it, vi } from 'vitest'
import { move } from '../../server/operations/admin/storage.ts'
import type { Config } from '../../server/platform/config/config.ts'
import { holdRemovals } from '../../server/platform/store/hold.ts'
import { moveBlobs } from '../../server/platform/store/move.ts'
import { openBlobs } from '../../server/platform/store/open.ts'
import { type TestApp, testApp } from '../app.ts'
import { admin } from '../support/admin.ts'
import { folderStore } from '../support/blob-stores.ts'
import { documentVersion } from '../support/docs.ts'
import { runJobs } from '../support/jobs.ts'
import { publish } from '../support/publish.ts'
import { s3Bucket } from '../support/s3-service.ts'
import { pathOf, shaOf } from '../support/stored-blobs.ts'

// The test starts three servers, one after the other.
vi.setConfig({ testTimeout: 120_000 })

const operation = (app: TestApp, config: Partial<Config>) => ({ em: app.services.database.fork(), config: { ...app.config, ...config } })
const archive = (version: string) => `/api/archives/acme-${version}.tar.gz`

it('moves all files to a bucket while the server runs, and back to a folder', async () => {
  await using bucket = await s3Bucket()
  await using app = await testApp({ env: { ...bucket.env, BLOB_BACKEND: 'filesystem' } })
  const alice = await app.member()
  const stored = [await publish(alice, { name: 'acme', version: '1.0.0' }), await publish(alice, { name: 'acme', version: '1.1.0' })]
  await documentVersion(app, 'acme', '1.0.0')
  // The move is interrupted: one archive is copied, another one partially, and the destination has no identity yet.
  let copies = 0
  bucket.fault = ({ operation: call, key }) => (call === 'CopyObject' && key.startsWith('sha256') && ++copies > 1 ? 'reset' : null)
  await expect(move(operation(app, {}), 's3')).rejects.toThrow('The storage of this server cannot be reached')
  bucket.fault = () => null
  expect(await bucket.keys()).not.toContain('store-id')

  const said: string[] = []
  const told = await move(operation(app, {}), 's3', (line) => void said.push(line))
  expect(told).toMatch(
    / has 3 of 3 archives, verified: 2 were copied now .*\nNow stop the server, run this command again .* BLOB_BACKEND=s3\./,
  )
  expect(said[0]).toMatch(/^\d of 3 archives \(\d+ %\), \d copied$/)

  // The next run copies what was published in the meantime.
  stored.push(await publish(alice, { name: 'acme', version: '1.2.0' }))
  expect(await move(operation(app, {}), 's3')).toContain('4 of 4 archives, verified: 1 were copied now')
  await app.stop()
  await using moved = await testApp({ sameDatabaseAs: app, config: { BLOB_BACKEND: 's3' } })
  for (const [index, version] of ['1.0.0', '1.1.0', '1.2.0'].entries())
    expect((await alice.at(moved).get(archive(version))).raw.equals(stored[index] ?? Buffer.alloc(0))).toBe(true)
  expect(await alice.at(moved).get('/documentation/acme/1.0.0/index.json')).toMatchObject({ status: 200 })

  stored.push(await publish(alice.at(moved), { name: 'acme', version: '1.3.0' }))
  expect(await move(operation(moved, {}), 'filesystem')).toContain('5 of 5 archives, verified: 1 were copied now')
  const folder = await openBlobs({ ...app.config, BLOB_BACKEND: 'filesystem' })
  expect((await folder.read(shaOf(stored[3] ?? ''))).equals(stored[3] ?? Buffer.alloc(0))).toBe(true)
})

it.each(['s3', 'filesystem'] as const)('makes no requests for single archives when %s has all of them', async (kind) => {
  await using bucket = await s3Bucket()
  await using app = await testApp({ env: { ...bucket.env, BLOB_BACKEND: 'filesystem' } })
  const alice = await app.member()
  const archives = [await publish(alice, { name: 'acme', version: '1.0.0' }), await publish(alice, { name: 'acme', version: '1.1.0' })]
  await documentVersion(app, 'acme', '1.0.0')
  await move(operation(app, {}), 's3')
  const again = async () => {
    bucket.calls.length = 0
    const said = await move(operation(app, kind === 's3' ? {} : { BLOB_BACKEND: 's3' }), kind)
    return [said, bucket.calls.filter(({ key }) => key.startsWith('sha256/')).map(({ operation: call }) => call)]
  }
  expect(await again()).toEqual([expect.stringContaining('3 of 3 archives, verified: 0 were copied now'), []])

  const [first = Buffer.alloc(0)] = archives
  const key = `sha256/${shaOf(first).slice(0, 2)}/${shaOf(first).slice(2, 4)}/${shaOf(first)}`
  if (kind === 's3') await bucket.write(key, Buffer.from('cut'))
  else await writeFile(pathOf(app, shaOf(first)), 'cut')
  expect((await again())[0]).toContain('3 of 3 archives, verified: 1 were copied now')
  expect([(await bucket.read(key)).equals(first), (await app.services.blobs.read(shaOf(first))).equals(first)]).toEqual([true, true])
})

it('shows the operator the answer of the bucket, which clients do not see', async () => {
  await using bucket = await s3Bucket()
  await using app = await testApp({ env: { ...bucket.env, BLOB_BACKEND: 'filesystem' } })
  await publish(await app.member(), { name: 'acme', version: '1.0.0' })
  bucket.fault = ({ operation: call, key }) =>
    call === 'CopyObject' && key.startsWith('sha256') ? { status: 403, code: 'AccessDenied' } : null
  const { code, err } = await admin(app, 'move-blobs', 's3')
  expect(code).toBe(1)
  expect(err).toMatch(/^The storage of this server cannot be reached at the moment.* \(AccessDenied: A fault of the test\)$/)
})

it('replaces damaged files at the destination and reports damaged ones at the source', async () => {
  await using bucket = await s3Bucket()
  await using app = await testApp({ env: { ...bucket.env, BLOB_BACKEND: 'filesystem' } })
  const alice = await app.member()
  const [first, second] = [
    await publish(alice, { name: 'acme', version: '1.0.0' }),
    await publish(alice, { name: 'acme', version: '1.1.0' }),
  ]
  const key = `sha256/${shaOf(first).slice(0, 2)}/${shaOf(first).slice(2, 4)}/${shaOf(first)}`
  await bucket.write(key, Buffer.from('damaged'))
  await writeFile(pathOf(app, shaOf(second)), 'damaged')
  await expect(move(operation(app, {}), 's3')).rejects.toThrow(
    new RegExp(`^damaged in .*: ${shaOf(second)}\ns3://.* has 1 of 2 archives, verified: 1 were copied now`),
  )
  expect((await bucket.read(key)).equals(first)).toBe(true)
})

it('does not report the archive of a version that is deleted during the move as missing', async () => {
  await using bucket = await s3Bucket()
  await using app = await testApp({ env: { ...bucket.env, BLOB_BACKEND: 'filesystem' } })
  const [alice, admin] = [await app.member(), await app.admin()]
  const gone = await publish(alice, { name: 'gone', version: '1.0.0' })
  await publish(alice, { name: 'acme', version: '1.0.0' })
  let deleting: Promise<unknown> | undefined
  bucket.fault = async ({ key }) => {
    if (key.endsWith(shaOf(gone))) await (deleting ??= admin.delete('/api/admin/packages/gone').then(() => runJobs(app)))
    return null
  }
  expect(await move(operation(app, {}), 's3')).toContain(' has 1 of 1 archives, verified: 1 were copied now')
})

it('closes the source file when the destination fails', async () => {
  await using app = await testApp()
  await publish(await app.member(), { name: 'acme', version: '1.0.0' })
  await using to = await folderStore()
  await to.takeAway()
  const opened: Readable[] = []
  const { blobs, database } = app.services
  const open: typeof blobs.open = async (...wanted) => {
    const stream = await blobs.open(...wanted)
    opened.push(stream)
    return stream
  }
  await expect(moveBlobs({ em: database.fork(), from: { ...blobs, open }, to, withDocs: true })).rejects.toThrow('cannot be reached')
  expect(opened.map(({ destroyed }) => destroyed)).toEqual([true])
})

it('refuses to run during a backup', async () => {
  await using bucket = await s3Bucket()
  await using app = await testApp({ env: { ...bucket.env, BLOB_BACKEND: 'filesystem' } })
  const hold = await holdRemovals(app.services.database.fork(), () => new Date())
  await expect(move(operation(app, {}), 's3')).rejects.toThrow('A backup of this server is running.')
  await hold.release()
  expect(await move(operation(app, {}), 's3')).toContain(' has 0 of 0 archives')
})

it('refuses stores of other databases and invalid destinations', async () => {
  await using bucket = await s3Bucket()
  await using app = await testApp({ env: { ...bucket.env, BLOB_BACKEND: 'filesystem' } })
  await expect(move(operation(app, {}), 'bucket')).rejects.toThrow('write s3 or filesystem')
  const { S3_BUCKET: _bucket, ...rest } = app.config
  await expect(move({ em: app.services.database.fork(), config: rest }, 's3')).rejects.toThrow('S3_BUCKET is not set')
  await (await openBlobs({ ...app.config, BLOB_BACKEND: 's3' })).identify('another')
  await expect(move(operation(app, {}), 's3')).rejects.toThrow('The store to copy to belongs to another database')
  await expect(move(operation(app, {}), 'filesystem')).rejects.toThrow('The store to copy from does not belong to this database')
  await app.stop()
  await expect(testApp({ sameDatabaseAs: app, config: { BLOB_BACKEND: 's3' } })).rejects.toThrow(
    /The archive store s3:\/\/bucket-.* belongs to another database .*\n.*correct S3_BUCKET, S3_PREFIX or /,
  )
})
