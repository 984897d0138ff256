import { createHash, randomBytes } from 'node:crypto'
import { PassThrough, Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { describe, expect, it } from 'vitest'
import { crc32c, encodeCrc32c } from '../../../server/platform/blobs/measured.ts'
import { type BlobStore, DamagedBytes } from '../../../server/platform/blobs/store.ts'
import { kindsOfStores, pathOf } from '../../support/blob-stores.ts'

const day = 86_400_000
const noLimit = 1024 ** 3
const hashOf = (bytes: Buffer) => createHash('sha256').update(bytes).digest('hex')

async function store(blobs: BlobStore, bytes: Buffer) {
  const { sha256 } = await blobs.stage('one', Readable.from([bytes]), noLimit)
  await blobs.promote('one', sha256)
  return sha256
}

/** Returns when a blob was stored. */
async function storedAt(blobs: BlobStore, sha256: string): Promise<number> {
  for await (const one of blobs.list()) if (one.sha256 === sha256) return one.storedAt.getTime()
  throw new Error('not stored')
}

describe('CRC-32C', () => {
  it('matches the check value of the standard and can be computed incrementally', () => {
    expect(crc32c(Buffer.from('123456789'))).toBe(0xe3069283)
    expect(crc32c(Buffer.from('6789'), crc32c(Buffer.from('12345')))).toBe(0xe3069283)
    expect(encodeCrc32c(0xe3069283)).toBe('4waSgw==')
    expect(crc32c(Buffer.alloc(32))).toBe(0x8a9136aa)
  })

  it('is independent of where the bytes are split', () => {
    const bytes = randomBytes(41)
    for (let at = 0; at <= bytes.length; at++) expect(crc32c(bytes.subarray(at), crc32c(bytes.subarray(0, at)))).toBe(crc32c(bytes))
  })
})

describe.each(kindsOfStores)('%s', (kind, open) => {
  const rounds = kind === 'a folder' ? 50 : 5

  describe('staging', () => {
    it('returns size and checksums, and moves the bytes to their address', async () => {
      await using blobs = await open()
      const bytes = randomBytes(300_000)
      const stored = await blobs.stage('upload-1', Readable.from([bytes.subarray(0, 7), bytes.subarray(7)]), noLimit)
      expect(stored).toEqual({ bytes: 300_000, sha256: hashOf(bytes), crc32c: encodeCrc32c(crc32c(bytes)) })
      expect((await buffer(await blobs.openStaged('upload-1'))).equals(bytes)).toBe(true)
      await blobs.promote('upload-1', stored.sha256)
      await expect(blobs.openStaged('upload-1')).rejects.toMatchObject({ code: 'ENOENT' })
      expect((await blobs.read(stored.sha256)).equals(bytes)).toBe(true)
      expect((await buffer(await blobs.open(stored.sha256, { start: 10, end: 19 }))).equals(bytes.subarray(10, 20))).toBe(true)
    })

    it('leaves no files of an interrupted upload', async () => {
      await using blobs = await open()
      const source = new PassThrough()
      source.write(randomBytes(1000))
      const staged = blobs.stage('broken', source, noLimit)
      setTimeout(() => source.destroy(), 20)
      await expect(staged).rejects.toMatchObject({ code: 'ERR_STREAM_PREMATURE_CLOSE' })
      expect(await blobs.files()).toEqual([])
    })

    it('keeps staged bytes if a second upload is interrupted', async () => {
      await using blobs = await open()
      await blobs.stage('one', Readable.from([Buffer.from('first')]), noLimit)
      const failing = Readable.from(
        (async function* () {
          yield Buffer.from('sec')
          throw new Error('reset')
        })(),
      )
      await expect(blobs.stage('one', failing, noLimit)).rejects.toThrow('reset')
      expect(await blobs.files()).toEqual(['one'])
      expect(String(await buffer(await blobs.openStaged('one')))).toBe('first')
    })

    it('stops at the size limit without reading further or destroying the source', async () => {
      await using blobs = await open()
      let given = 0
      const endless = new Readable({
        read() {
          given += 1024
          this.push(Buffer.alloc(1024))
        },
      })
      await expect(blobs.stage('large', endless, 10_000)).rejects.toMatchObject({ code: 'PackageRejected', status: 413 })
      expect(given).toBeLessThan(200_000)
      expect(endless.destroyed).toBe(false)
      expect(await blobs.files()).toEqual([])
      await expect(blobs.stage('exact', Readable.from([Buffer.alloc(10_000)]), 10_000)).resolves.toMatchObject({ bytes: 10_000 })
    })

    it('discards staged bytes, also if they do not exist', async () => {
      await using blobs = await open()
      await blobs.stage('one', Readable.from([Buffer.from('x')]), noLimit)
      await blobs.discard('one')
      await blobs.discard('one')
      expect(await blobs.files()).toEqual([])
    })
  })

  describe('names', () => {
    it('rejects names that could escape the staging folder', async () => {
      await using blobs = await open()
      for (const name of ['', '.', '..', '../x', 'a/b', 'a\\b', 'a\0b', 'A', 'x'.repeat(65), '%2e%2e']) {
        await expect(blobs.stage(name, Readable.from([]), 1), name).rejects.toThrow(RangeError)
        await expect(blobs.openStaged(name), name).rejects.toThrow(RangeError)
        await expect(blobs.discard(name), name).rejects.toThrow(RangeError)
      }
    })

    it('rejects addresses that are not hashes', async () => {
      await using blobs = await open()
      for (const sha256 of ['', 'ab', '../'.repeat(21) + 'x', 'g'.repeat(64), 'A'.repeat(64), `${'a'.repeat(64)}\n`]) {
        const calls = [
          () => blobs.open(sha256),
          () => blobs.read(sha256),
          () => blobs.remove(sha256, { at: new Date() }),
          () => blobs.promote('one', sha256),
        ]
        for (const call of calls) await expect(call(), sha256).rejects.toThrow(RangeError)
      }
    })
  })

  describe('blobs', () => {
    it('can be promoted again, which updates their age', async () => {
      await using blobs = await open()
      const sha256 = await store(blobs, Buffer.from('same'))
      await blobs.age(pathOf(sha256))
      await blobs.promote('one', sha256)
      expect(await storedAt(blobs, sha256)).toBeGreaterThan(Date.now() - 60_000)
      await blobs.age(pathOf(sha256))
      expect(await store(blobs, Buffer.from('same'))).toBe(sha256)
      expect(await storedAt(blobs, sha256)).toBeGreaterThan(Date.now() - 60_000)
      expect(await blobs.files()).toEqual([sha256])
    })

    it('reports missing blobs', async () => {
      await using blobs = await open()
      const sha256 = 'a'.repeat(64)
      await expect(blobs.promote('none', sha256)).rejects.toMatchObject({ code: 'ServiceUnavailable', cause: { code: 'ENOENT' } })
      await expect(blobs.open(sha256)).rejects.toMatchObject({ code: 'ENOENT' })
      await expect(blobs.read(sha256)).rejects.toMatchObject({ code: 'ENOENT' })
      expect(await blobs.remove(sha256, { at: new Date() })).toBeNull()
      expect(await blobs.restore(sha256)).toBe(false)
      await expect(blobs.hash(sha256)).rejects.toMatchObject({ code: 'ENOENT' })
    })

    it('keeps removed blobs until they are purged, and restores them before', async () => {
      await using blobs = await open()
      const [bytes, at] = [Buffer.from('gone'), new Date('2026-01-01T00:00:00.000Z')]
      const sha256 = await store(blobs, bytes)
      expect(await blobs.remove(sha256, { at })).toBe(4)
      expect(await blobs.remove(sha256, { at })).toBeNull()
      await expect(blobs.read(sha256)).rejects.toMatchObject({ code: 'ENOENT' })
      for await (const one of blobs.listRemoved()) expect(one).toMatchObject({ sha256, bytes: 4, removedAt: at })
      expect(await blobs.purge(at)).toEqual([])
      await blobs.age(`removed/${sha256}.${at.getTime()}`)
      expect(await blobs.restore(sha256)).toBe(true)
      expect((await blobs.read(sha256)).equals(bytes)).toBe(true)
      expect(await storedAt(blobs, sha256)).toBeGreaterThan(Date.now() - 60_000)
      expect(await blobs.restore(sha256)).toBe(false)
      await blobs.remove(sha256, { at })
      // Blobs that are published again do not affect removed ones.
      expect(await store(blobs, bytes)).toBe(sha256)
      expect(await blobs.purge(new Date(at.getTime() + 1))).toMatchObject([{ sha256, bytes: 4 }])
      expect(await blobs.files()).toEqual([sha256])
    })

    it('does not remove blobs that are too young or concurrently published', async () => {
      await using blobs = await open()
      const sha256 = await store(blobs, Buffer.from('again'))
      const removal = { at: new Date(), before: new Date(Date.now() - day) }
      expect(await blobs.remove(sha256, removal)).toBeNull()
      for (let round = 0; round < rounds; round++) {
        await blobs.age(pathOf(sha256))
        await Promise.all([store(blobs, Buffer.from('again')), blobs.remove(sha256, removal)])
        expect(String(await blobs.read(sha256))).toBe('again')
      }
    })

    it('refuses to read corrupt blobs until they are repaired', async () => {
      await using blobs = await open()
      const bytes = randomBytes(700_000)
      const sha256 = await store(blobs, bytes)
      const part = { start: 5, end: 9 }
      const flipped = Buffer.from(bytes)
      flipped.writeUInt8(flipped.readUInt8(500_000) ^ 1, 500_000)
      for (const damaged of [flipped, bytes.subarray(0, 699_999), Buffer.alloc(0)]) {
        await blobs.write(pathOf(sha256), damaged)
        for (const read of [() => blobs.read(sha256), () => blobs.open(sha256), () => blobs.open(sha256, part)])
          await expect(read()).rejects.toThrow(DamagedBytes)
        expect(await blobs.hash(sha256)).toBe(hashOf(damaged))
      }
      await blobs.write(pathOf(sha256), bytes)
      expect((await blobs.read(sha256)).equals(bytes)).toBe(true)
      expect((await buffer(await blobs.open(sha256))).equals(bytes)).toBe(true)
      expect((await buffer(await blobs.open(sha256, part))).equals(bytes.subarray(5, 10))).toBe(true)
    })
  })

  it('collects old staged files, including leftovers of a crash', async () => {
    await using blobs = await open()
    await blobs.stage('abandoned', Readable.from([Buffer.from('x')]), noLimit)
    await blobs.stage('current', Readable.from([Buffer.from('y')]), noLimit)
    await blobs.write('staging/left.by-a-crash', Buffer.from('z'))
    for (const name of ['abandoned', 'left.by-a-crash']) await blobs.age(`staging/${name}`)
    expect(await blobs.collectStaged(new Date(Date.now() - day))).toBe(2)
    expect(await blobs.files()).toEqual(['current'])
  })

  it('has a single id, which the first caller sets', async () => {
    await using blobs = await open()
    expect(await blobs.identity()).toBeNull()
    const given = await Promise.all(Array.from({ length: rounds }, (_, index) => blobs.identify(`id-${index}`)))
    expect(new Set(given).size).toBe(1)
    expect(await blobs.identity()).toBe(given[0])
    expect(await blobs.identify('other', { replace: true })).toBe('other')
    expect(await blobs.files()).toEqual(['store-id'])
  })

  it('reports an unreachable storage', async () => {
    await using blobs = await open()
    await blobs.check()
    await blobs.takeAway()
    await expect(blobs.check()).rejects.toThrow(/ENOENT|NoSuchBucket|A fault of the test/)
  })
})
