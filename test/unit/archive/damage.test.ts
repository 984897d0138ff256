import { constants, deflateRawSync, gzipSync } from 'node:zlib'
import type { Readable } from 'node:stream'
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { inspectPackage } from '../../../server/registry/archive/inspect.ts'
import { readArchive } from '../../../server/registry/archive/read.ts'
import { ApiError } from '../../../server/errors.ts'
import { inPieces, packageArchive, packageTar } from '../../support/archive.ts'

const rules = { serverUrl: 'https://pub.example.com', allowedHostedUrls: [] }
const foo = { name: 'foo', version: '1.0.0' }

/** Inspects an archive as a stream and as a buffer. Both must have the same outcome, which is returned. */
async function outcome(archive: Buffer) {
  const [parted, whole] = await Promise.all([inPieces(archive, 300), archive].map(verdict))
  expect(whole).toEqual(parted)
  return whole
}
const verdict = (archive: Readable | Buffer) =>
  inspectPackage(archive, rules).then(
    () => 'accepted',
    (error: unknown) => (error instanceof ApiError ? error.code : error),
  )

it('rejects an archive with any changed byte, unless it unpacks to the same content', async () => {
  const archive = await packageArchive(foo)
  const whole = await readArchive(inPieces(archive))
  await fc.assert(
    fc.asyncProperty(fc.integer({ min: 10, max: archive.length - 1 }), fc.integer({ min: 1, max: 255 }), async (index, change) => {
      const damaged = Buffer.from(archive)
      damaged.writeUInt8((damaged[index] ?? 0) ^ change, index)
      // Deflate has several encodings of the same data: distances within runs of equal bytes, and padding bits after the end.
      if ((await outcome(damaged)) === 'accepted') expect(await readArchive(inPieces(damaged))).toEqual(whole)
      else expect(await outcome(damaged)).toBe('PackageRejected')
    }),
    { numRuns: 200 },
  )
})

it('rejects an archive truncated at any length', async () => {
  const archive = await packageArchive(foo)
  for (let length = 0; length < archive.length; length += 7) expect(await outcome(archive.subarray(0, length))).toBe('PackageRejected')
  expect(await outcome(archive.subarray(0, -1))).toBe('PackageRejected')
})

it('either accepts or rejects an archive with a corrupt tar, and never fails otherwise', async () => {
  const tar = packageTar({ ...foo, files: { [`lib/${'long/'.repeat(30)}a.dart`]: 'x' } })
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.tuple(fc.nat(tar.length - 1), fc.oneof(fc.nat(255), fc.constantFrom(0, 0x2f, 0x2e, 0x37, 0xff))), {
        minLength: 1,
        maxLength: 6,
      }),
      async (changes) => {
        const damaged = Buffer.from(tar)
        for (const [index, byte] of changes) damaged.writeUInt8(byte, index)
        expect(['accepted', 'PackageRejected']).toContain(await outcome(gzipSync(damaged, { level: 1 })))
      },
    ),
    { numRuns: 300 },
  )
})

it('rejects an archive whose deflate stream ends early', async () => {
  const open = deflateRawSync(packageTar(foo), { finishFlush: constants.Z_SYNC_FLUSH })
  expect(await outcome(Buffer.concat([Buffer.from([0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3]), open, Buffer.alloc(8)]))).toBe('PackageRejected')
})
