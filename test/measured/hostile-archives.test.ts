import { Readable } from 'node:stream'
import { createGzip, gzipSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import { packageTar } from '../support/archive.ts'
import { bomb, gzipped, manifest, pax, withEntry } from '../support/hostile-archives.ts'
import { type Case, directory, file, inspect, itRejects, warmUp } from '../support/archive-refusals.ts'
import { tarEnd, tarEntry, tarHeader } from '../support/tar.ts'

const foo = { name: 'foo', version: '1.0.0' }
const [MiB, GiB] = [1024 ** 2, 1024 ** 3]

const sized = (kind: string, size: string): Case => [
  kind,
  () => withEntry({ name: 'a', size }, 'x'.repeat(512)),
  'not written in octal digits',
]
const start = (size: number | string) => Buffer.concat([manifest(), tarHeader({ name: 'a', size })])
/** Returns an archive of empty files. Creates the entries read before the refusal in advance, so that only reading is measured. */
const entries = (count: number, name: (index: number) => string) => {
  const block = (index: number) => Buffer.concat(Array.from({ length: 64 }, (_, offset) => file(name(index + offset), '')))
  const read = 70_016
  const first = Array.from({ length: read / 64 }, (_, index) => block(index * 64))
  const blocks = (function* () {
    yield manifest()
    yield* first
    for (let index = read; index < count; index += 64) yield block(index)
  })()
  return Readable.from(blocks).pipe(createGzip({ level: 1 }))
}
const yaml = (text: string) => () => gzipped(tarEntry({ name: 'pubspec.yaml' }, text))
const bytes =
  (...parts: (Buffer | string)[]) =>
  () =>
    Readable.from([Buffer.concat(parts.map((part) => Buffer.from(part)))])

warmUp()

describe('tar archives that readers interpret differently', () => {
  itRejects([
    ['PAX path override', () => gzipped(manifest(), pax({ path: '../evil' }), file('a')), '"../evil"'],
    ['PAX path with NUL', () => gzipped(manifest(), pax({ path: 'a\0b' }), file('a')), 'control characters'],
    ['PAX path over the manifest', () => gzipped(manifest(), pax({ path: 'pubspec.yaml' }), file('a')), '"pubspec.yaml" twice'],
    [
      'PAX size smaller',
      () => gzipped(manifest(), pax({ size: '0' }), file('a', tarHeader({ name: 'evil' }).toString('latin1'))),
      'PAX header that sets size',
    ],
    ['PAX size larger', () => gzipped(manifest(), pax({ size: '9999999999' }), file('a')), 'PAX header that sets size'],
    ['PAX sparse map', () => gzipped(manifest(), pax({ 'GNU.sparse.name': '/evil' }), file('a')), 'PAX header that sets GNU.sparse.name'],
    ['global PAX path', () => gzipped(pax({ path: '../evil' }, 'g'), manifest()), 'PAX header that sets path'],
    ['two PAX headers', () => gzipped(manifest(), pax({ path: 'a' }), pax({ path: 'b' }), file('c')), 'names an entry twice'],
    ['PAX and long name', () => gzipped(manifest(), pax({ path: 'a' }), file('b'.repeat(120))), 'names an entry twice'],
    [
      'PAX with a wrong length',
      () => gzipped(manifest(), tarEntry({ name: 'p', type: 'x' }, '99 path=a\n'), file('a')),
      'malformed PAX header',
    ],
    ['PAX with no length', () => gzipped(manifest(), tarEntry({ name: 'p', type: 'x' }, 'path=a\n'), file('a')), 'malformed PAX header'],
    [
      'PAX with too many records',
      () => gzipped(manifest(), tarEntry({ name: 'p', type: 'x' }, '6 a=b\n'.repeat(33)), file('a')),
      'malformed PAX header',
    ],
    ['PAX bomb', () => gzipped(manifest(), pax({ comment: 'x'.repeat(4 * MiB) }), file('a')), 'longer than 2048 bytes'],
    ['empty PAX header', () => gzipped(manifest(), tarEntry({ name: 'p', type: 'x' }), file('a')), 'is empty or longer'],
    ['PAX header for nothing', () => gzipped(manifest(), pax({ path: 'a' })), 'cut short'],
    sized('size in base 256', '\u0080\0\0\0\0\0\0\0\0\0\0\u0001'),
    sized('negative size', '-0000000512 '),
    sized('size with letters', '0000000000g '),
    ['wrong checksum', () => gzipped(manifest(), file('a').fill('9', 148, 152)), 'not a valid tar'],
    ['data after the end mark', () => gzipped(file('a'), tarEnd, manifest()), 'data after the end of its tar'],
    ['data after one empty block', () => gzipped(file('a'), Buffer.alloc(512), manifest()), 'data after the end of its tar'],
    [
      'content cut short',
      () => Readable.from([gzipSync(Buffer.concat([manifest(), tarHeader({ name: 'a', size: 2000 }), Buffer.alloc(512)]))]),
      'cut short',
    ],
    [
      'header cut short',
      () => Readable.from([gzipSync(Buffer.concat([manifest(), tarHeader({ name: 'a' }).subarray(0, 300)]))]),
      'cut short',
    ],
  ])
})

describe('decompression bombs', () => {
  const zeros = Buffer.alloc(MiB)
  const laughs = Array.from({ length: 9 }, (_, level) => `l${level + 1}: &l${level + 1} [${`*l${level},`.repeat(9)}]\n`).join('')
  itRejects([
    ['10 GiB of zeros', () => bomb(Buffer.alloc(0), zeros, 10 * GiB), 'too many empty blocks'],
    ['10 GiB of zeros after the end mark', () => bomb(Buffer.concat([manifest(), tarEnd]), zeros, 10 * GiB), 'too many empty blocks'],
    ['10 GiB of zeros in a file that claims 8', () => bomb(start('77777777777 '), zeros, 10 * GiB), 'unpacks to more than 268435456 bytes'],
    ['10 GiB of zeros after a file of 255 MiB', () => bomb(start(255 * MiB), zeros, 10 * GiB), 'unpacks to more than 268435456 bytes'],
    [
      '10 GiB in a second file',
      () => bomb(start(255 * MiB), Buffer.concat([Buffer.alloc(255 * MiB), tarHeader({ name: 'b', size: 2 * MiB })]), 10 * GiB),
      'unpacks to more than',
    ],
    [
      'a manifest of 200 MiB',
      () => bomb(tarHeader({ name: 'pubspec.yaml', size: 200 * MiB }), zeros, 10 * GiB),
      'pubspec.yaml is larger than 131072 bytes',
    ],
    ['a million entries', () => entries(1e6, (index) => `f${index}`), 'more than 65536 entries'],
    ['a million directories', () => entries(1e6, (index) => `${index}/a/b/c/d`), 'more than 65536 files and directories'],
    ['long paths', () => entries(1e6, (index) => `${index}/${'long/'.repeat(190)}`.slice(0, -1)), 'more than 8388608 characters in total'],
    ['a million laughs', yaml(`l0: &l0 ha\n${laughs}`), 'has an anchor (&l0)'],
    ['brackets 60,000 deep', yaml(`a: ${'['.repeat(60_000)}`), 'nested more than 64 deep'],
    ['100,000 commas', yaml(`a: [${','.repeat(100_000)}`), 'too many fields'],
  ])
})

it('rejects a file by its declared size before reading its content', async () => {
  const source = bomb(Buffer.concat([manifest(), tarHeader({ name: 'a', size: 257 * MiB })]), Buffer.alloc(MiB), GiB)
  let chunks = 0
  source.on('data', () => (chunks += 1))
  await expect(inspect(source)).rejects.toThrow('unpacks to more than 268435456 bytes')
  expect(chunks).toBeLessThan(100)
})

describe('files that are not a single gzip member', () => {
  const good = gzipSync(packageTar(foo))
  const flagged = (flags: number, ...more: Buffer[]) => bytes(Buffer.from([0x1f, 0x8b, 8, flags, 0, 0, 0, 0, 0, 3]), ...more)
  itRejects([
    ['second member', bytes(good, good), 'data after the end of its gzip stream'],
    ['second member after an empty one', bytes(gzipSync(''), good), 'data after the end of its gzip stream'],
    ['empty second member', bytes(good, gzipSync('')), 'data after the end of its gzip stream'],
    ['second member in the next chunk', () => Readable.from([good, good]), 'data after the end of its gzip stream'],
    ['trailing garbage', bytes(good, 'garbage'), 'data after the end of its gzip stream'],
    ['one trailing zero', bytes(good, '\0'), 'data after the end of its gzip stream'],
    [
      'endless trailing garbage',
      () =>
        Readable.from(
          (function* () {
            yield good
            for (;;) yield good
          })(),
        ),
      'data after the end of its gzip stream',
    ],
    ['wrong checksum', bytes(good.subarray(0, -8), 'abcd', good.subarray(-4)), 'checksum does not match'],
    ['wrong length', bytes(good.subarray(0, -4), 'abcd'), 'checksum does not match'],
    ['truncated', bytes(good.subarray(0, -20)), 'cut short'],
    ['truncated in the trailer', bytes(good.subarray(0, -3)), 'cut short'],
    ['truncated in the header', bytes(good.subarray(0, 7)), 'cut short'],
    ['not gzip: a tar', bytes(packageTar(foo)), 'not a gzip archive'],
    ['not gzip: a zip', bytes('PK\u0003\u0004'), 'not a gzip archive'],
    ['not gzip: text', bytes('<html>'), 'not a gzip archive'],
    ['no byte', () => Readable.from([]), 'The uploaded file is empty'],
    ['gzip of nothing', bytes(gzipSync('')), 'The archive is empty'],
    ['gzip of an empty tar', bytes(gzipSync(tarEnd)), 'The archive is empty'],
    ['gzip of directories only', () => gzipped(directory('lib/')), 'The archive is empty'],
    ['gzip of text', bytes(gzipSync('text')), 'cut short'],
    ['reserved flags', flagged(0x20, good), 'reserved header flags'],
    ['endless header', flagged(8, Buffer.alloc(10_000, 'x')), 'gzip header of the archive is too long'],
    ['long extra field', flagged(4, Buffer.from([0xff, 0xff]), good), 'gzip header of the archive is too long'],
    ['broken deflate data', flagged(0, Buffer.alloc(100, 0xff)), 'damaged or cut short'],
  ])
})
