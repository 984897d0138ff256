import { randomBytes } from 'node:crypto'
import { readdirSync, rmSync, statfsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { testApp } from '../app.ts'
import { packageArchive } from '../support/archive.ts'
import { backUp, placesIn } from '../support/backups.ts'
import { createDatabase } from '../support/postgres.ts'
import { announce, publish, publishArchive, sendBytes } from '../support/publish.ts'
import { start } from '../support/server-process.ts'
import { smallVolume } from '../support/small-volume.ts'

const full = "The server's disk is full, so nothing was stored. Ask an administrator to free disk space, then try again."

async function databaseOf(backend: string): Promise<Record<string, string>> {
  if (backend === 'sqlite') return {}
  const { url, drop } = await createDatabase()
  onTestFinished(drop)
  return { DB_BACKEND: 'postgres', POSTGRES_URL: url }
}

/** Fills the file system of a folder. Returns a function that frees the space again. */
function fill(folder: string): () => void {
  const path = join(folder, 'filler')
  const { bavail, bsize } = statfsSync(folder)
  writeFileSync(path, Buffer.alloc(bavail * bsize))
  return () => rmSync(path)
}

it('reports the full folder when the database does not fit at the start, and starts once there is space', async () => {
  const volume = smallVolume(6000)
  const data = join(volume, 'data')
  const freeSpace = fill(volume)
  const problem = /No space is left in \/\S+, where the database is stored\. Free some space, then start again\.\n/
  /** Starts a server that must fail. Returns its log. */
  const refused = async () => {
    const server = await start(data)
    expect(await server.exit).toBe(1)
    return server.log()
  }
  const first = await refused()
  expect(first).toMatch(problem)
  freeSpace()
  // The free space suffices for folders but not for the database.
  for (const kilobytes of [64, 256]) {
    const { bavail, bsize } = statfsSync(volume)
    writeFileSync(join(volume, 'filler'), Buffer.alloc(bavail * bsize - kilobytes * 1024))
    expect(await refused()).toMatch(problem)
    rmSync(join(volume, 'filler'))
  }
  const server = await start(data)
  expect(server.log()).toContain('Snug is ready')
})

it.each(['sqlite', 'postgres'])(
  'answers 503 when the disk of the archives is full, and leaves no partial uploads, on %s',
  async (backend) => {
    const volume = smallVolume(6000)
    await using app = await testApp({ env: { ...(await databaseOf(backend)), BLOB_PATH: join(volume, 'blobs'), MIN_FREE_BYTES: '0' } })
    const alice = await app.member()
    const staged = () => readdirSync(join(volume, 'blobs', 'staging'))
    const health = async () => {
      const { status, body } = await app.anonymous.get('/api/v1/health')
      return { status, said: body.status, store: body.checks.blob_store }
    }
    const small = await publish(alice, { name: 'small', version: '1.0.0' })
    expect(await health()).toMatchObject({ status: 200, said: 'ok' })

    // This archive is larger than the free space.
    const large = await packageArchive({ name: 'large', version: '1.0.0', files: { 'assets/noise.bin': randomBytes(8_000_000) } })
    const refusal = { status: 503, headers: { 'retry-after': '60' }, body: { error: { code: 'ServiceUnavailable', message: full } } }
    for (let round = 0; round < 3; round++) {
      expect(await sendBytes(alice, await announce(alice), large)).toMatchObject(refusal)
      expect(staged()).toEqual([])
      expect(await health()).toMatchObject({ status: 503, said: 'degraded', store: { status: 'error', message: full } })
    }
    expect(await alice.get('/api/packages/large')).toMatchObject({ status: 404 })

    // A smaller archive still fits. The health check succeeds again after it.
    await publish(alice, { name: 'small', version: '1.1.0' })
    expect(await health()).toMatchObject({ status: 200, said: 'ok' })

    const freeSpace = fill(volume)
    expect(await health()).toMatchObject({ status: 503, store: { message: full } })
    const next = await packageArchive({ name: 'small', version: '1.2.0' })
    expect(await sendBytes(alice, await announce(alice), next)).toMatchObject(refusal)
    expect(staged()).toEqual([])
    expect((await alice.get('/api/archives/small-1.0.0.tar.gz')).raw.equals(small)).toBe(true)
    freeSpace()
    expect(await publishArchive(alice, next)).toMatchObject({ status: 200 })
    expect(await health()).toMatchObject({ status: 200, said: 'ok' })
    expect(app.lines.filter((line) => line.includes(' failed: '))).toEqual([])
  },
)

it.each(['sqlite', 'postgres'])('names the backup folder whose disk is full, and deletes the partial backup, on %s', async (backend) => {
  await using app = await testApp({ env: await databaseOf(backend) })
  const noise = { 'assets/noise.bin': randomBytes(8_000_000) }
  await publish(await app.member(), { name: 'large', version: '1.0.0', files: noise })
  // The first volume is too small for the database, the second one for the archive.
  for (const volume of [smallVolume(40), smallVolume(6000)]) {
    await expect(backUp(app, volume)).rejects.toThrow(`No space left at ${volume}`)
    expect(readdirSync(placesIn(volume).snapshots)).toEqual([])
  }
  await backUp(app, smallVolume(20_000))
})
