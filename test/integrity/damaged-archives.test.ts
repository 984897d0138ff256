import { randomBytes } from 'node:crypto'
import { readFile, rename, rm, truncate, writeFile } from 'node:fs/promises'
import { describe, expect, it } from 'vitest'
import { recheckFaults } from '../../server/registry/packages/listing/faults.ts'
import { type TestApp, testApp } from '../app.ts'
import { runJobs } from '../support/jobs.ts'
import { publish } from '../support/publish.ts'
import { pathOf, shaOf } from '../support/stored-blobs.ts'

/** A small archive fits into the cache; a large one is streamed. */
const sizes = [
  ['small', {}],
  ['large', { 'lib/noise.bin': randomBytes(700_000) }],
] as const

const faults = '{ archiveFaults { kind package version sha256 bytes foundAt } }'
const path = '/api/archives/acme-1.0.0.tar.gz'

async function flipBit(file: string): Promise<void> {
  const bytes = await readFile(file)
  bytes.writeUInt8(bytes.readUInt8(bytes.length - 9) ^ 1, bytes.length - 9)
  await writeFile(file, bytes)
}

const damages = [
  ['damaged', 'truncated', (file: string) => truncate(file, 100)],
  ['damaged', 'empty', (file: string) => truncate(file, 0)],
  ['damaged', 'flipped', flipBit],
  ['missing', 'missing', (file: string) => rm(file)],
] as const

/** Starts a server with a published archive that is not cached. */
async function publishedServer(files: Record<string, Buffer>) {
  const app = await testApp()
  const [alice, admin] = [await app.member(), await app.admin()]
  const archive = await publish(alice, { name: 'acme', version: '1.0.0', files })
  const known = async () => (await admin.graphql(faults)).body.data.archiveFaults
  return { app, alice, archive, known, file: pathOf(app, shaOf(archive)), [Symbol.asyncDispose]: () => app[Symbol.asyncDispose]() }
}

const errors = ({ lines }: TestApp) => lines.filter((line) => line.includes(' ERROR '))

describe.each(sizes)('a %s archive', (_size, files) => {
  it.each(damages)('that is %s (%s) answers 503 until it is repaired', async (kind, _how, harm) => {
    await using server = await publishedServer(files)
    const { app, alice, archive, file, known } = server
    await harm(file)
    const refused = { status: 503, headers: { 'retry-after': '300', 'cache-control': 'private, no-store' } }
    for (let times = 0; times < 2; times++) {
      const whole = await alice.get(path)
      expect(whole).toMatchObject(refused)
      expect(whole.body).toEqual({
        error: {
          code: 'ServiceUnavailable',
          message: `The archive of acme 1.0.0 is ${kind} on this server. Ask an administrator to restore it, then try again.`,
        },
      })
      expect(whole.headers.etag).toBeUndefined()
      expect(await alice.get(path, { headers: { range: 'bytes=0-3' } })).toMatchObject(refused)
      expect(await alice.head(path)).toMatchObject(refused)
    }
    // Clients with the matching ETag need no file.
    expect(await alice.get(path, { headers: { 'if-none-match': `"${shaOf(archive)}"` } })).toMatchObject({ status: 304 })
    expect(errors(app)[0]).toContain(`the archive of acme 1.0.0 (SHA-256 ${shaOf(archive)}) is ${kind}`)
    expect(await known()).toMatchObject([
      { kind: kind.toUpperCase(), package: 'acme', version: '1.0.0', sha256: shaOf(archive), bytes: archive.length },
    ])
    await writeFile(file, archive)
    expect((await alice.get(path, { headers: { range: 'bytes=4-9' } })).raw.equals(archive.subarray(4, 10))).toBe(true)
    expect(await alice.head(path)).toMatchObject({ status: 200, headers: { 'content-length': String(archive.length) } })
    expect((await alice.get(path)).raw.equals(archive)).toBe(true)
    expect(await known()).toEqual([])
  })
})

it('is reported to administrators only, until a check finds the archive intact or its version is deleted', async () => {
  await using server = await publishedServer({})
  const { app, alice, archive, file, known } = server
  await rm(file)
  await alice.get(path)
  expect(await known()).toHaveLength(1)
  expect((await alice.graphql(faults)).body.errors[0].extensions.code).toBe('InsufficientPermissions')
  expect((await app.anonymous.graphql(faults)).body.errors[0].extensions.code).toBe('MissingAuthentication')
  expect(await app.anonymous.get(path)).toMatchObject({ status: 401 })
  await recheckFaults(app.services)
  expect(await known()).toHaveLength(1)
  await writeFile(file, archive)
  await recheckFaults(app.services)
  expect(await known()).toEqual([])

  const admin = await app.admin()
  const check = async () => {
    await admin.graphql('mutation { checkIntegrity }')
    await runJobs(app)
  }
  await flipBit(file)
  await check()
  expect(await known()).toMatchObject([{ kind: 'DAMAGED', package: 'acme' }])
  await rm(file)
  await check()
  expect(await known()).toMatchObject([{ kind: 'MISSING' }])
  await writeFile(file, archive)
  await check()
  expect(await known()).toEqual([])
  await rm(file)
  await alice.get(path)
  await writeFile(file, 'other bytes')
  await alice.get(path)
  expect(await known()).toMatchObject([{ kind: 'DAMAGED' }])
  await admin.delete('/api/admin/packages/acme')
  expect(await known()).toEqual([])
  await recheckFaults(app.services)
  expect(await app.services.database.reads.all('select * from archive_faults')).toEqual([])
})

it('reports the storage, not the archives, when the whole store is unreachable', async () => {
  await using server = await publishedServer({ 'lib/noise.bin': randomBytes(700_000) })
  const { app, alice, archive, known } = server
  await rename(app.config.BLOB_PATH, `${app.config.BLOB_PATH}.away`)
  expect(await alice.get(path)).toMatchObject({
    status: 503,
    headers: { 'retry-after': '30' },
    body: {
      error: { code: 'ServiceUnavailable', message: 'The storage of this server cannot be reached at the moment. Try again later.' },
    },
  })
  expect(await known()).toEqual([])
  await rename(`${app.config.BLOB_PATH}.away`, app.config.BLOB_PATH)
  expect((await alice.get(path)).raw.equals(archive)).toBe(true)
})

it('is verified once for concurrent requests', async () => {
  await using server = await publishedServer({ 'lib/noise.bin': randomBytes(500_000) })
  const { alice, archive, file } = server
  const together = await Promise.all(Array.from({ length: 20 }, () => alice.get(path)))
  for (const { status, raw } of together) expect([status, raw.equals(archive)]).toEqual([200, true])
  await flipBit(file)
  const refused = await Promise.all(Array.from({ length: 20 }, () => alice.get(path)))
  expect(new Set(refused.map(({ status }) => status))).toEqual(new Set([503]))
})
