import { Readable } from 'node:stream'
import { createGzip, gzipSync } from 'node:zlib'
import { beforeAll, describe, expect, it } from 'vitest'
import { inspectPackage } from '../../server/archive/inspect.ts'
import { packageArchive, packageTar } from '../support/archive.ts'
import { bomb, gzipped, manifest, pax, refusal, withEntry } from '../support/hostile.ts'
import { tarEnd, tarEntry, tarHeader, type TarHeader } from '../support/tar.ts'

const rules = { serverUrl: 'https://pub.example.com', allowedHostedUrls: [] }
const foo = { name: 'foo', version: '1.0.0' }
const inspect = (source: Readable) => inspectPackage(source, rules)
const [MiB, GiB] = [1024 ** 2, 1024 ** 3]
const file = (name: string, content = 'x') => tarEntry({ name }, content)
const directory = (name: string) => tarEntry({ name, type: '5' })

type Case = [kind: string, make: () => Readable, message: string]

/** Every refusal is a clear line, within three seconds and 64 MB, and leaves no stream open. */
function refuses(cases: Case[]) {
  it.each(cases)('%s', async (_kind, make, message) => {
    const refused = await refusal(make(), inspect)
    expect(refused).toMatchObject({ code: 'PackageRejected', destroyed: true })
    expect(refused.message).toContain(message)
    expect(refused.message).toMatch(/^[\x20-\x7e]{1,1024}$/)
    expect(refused.time).toBeLessThan(3000)
    expect(refused.memory).toBeLessThan(64 * MiB)
  })
}

const named = (kind: string, name: TarHeader['name'], message: string): Case => [kind, () => withEntry({ name }, 'x'), message]
const typed = (kind: string, type: string, message: string, link = ''): Case => [
  kind,
  () => withEntry({ name: 'lib/evil', type, link }),
  message,
]
const both = (kind: string, first: Buffer, second: Buffer, message: string): Case => [
  kind,
  () => gzipped(manifest(), first, second),
  message,
]
const sized = (kind: string, size: string): Case => [
  kind,
  () => withEntry({ name: 'a', size }, 'x'.repeat(512)),
  'not written in octal digits',
]
const start = (size: number | string) => Buffer.concat([manifest(), tarHeader({ name: 'a', size })])
/** An archive of so many empty files. Those that are read before it is refused are made at once: only the reading is measured. */
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

/** The code is compiled and the heap has its usual size before anything is measured. */
beforeAll(async () => {
  const archive = await packageArchive({ ...foo, files: { 'big.bin': Buffer.alloc(64 * MiB) } })
  for (let run = 0; run < 3; run += 1) await inspect(Readable.from([archive]))
})

it('takes the archive on which all hostile ones are built', async () => {
  expect((await inspect(withEntry({ name: 'lib/ok.dart' }, 'x'))).files).toHaveLength(2)
  expect((await inspect(gzipped(manifest(), pax({ path: 'lib/ok.dart' }), file('other')))).files[1]).toEqual({
    path: 'lib/ok.dart',
    size: 1,
  })
})

describe('a path that leaves the package or cannot be stored is refused', () => {
  refuses([
    named('traversal', '../evil', 'the path "../evil", which has `..` in it'),
    named('traversal within', 'lib/../../evil', '`..`'),
    named('traversal at the end', 'lib/..', '`..`'),
    named('traversal behind a dot', './../evil', '`..`'),
    ['traversal by a directory', () => gzipped(manifest(), directory('../')), '`..`'],
    ['traversal by the ustar prefix', () => withEntry({ name: 'evil', prefix: '..', magic: 'ustar' }), '`..`'],
    ['traversal by a long name', () => withEntry({ name: `${'a/'.repeat(80)}../../x` }), '`..`'],
    named('absolute', '/etc/passwd', 'which is absolute'),
    named('absolute, doubly', '//etc/passwd', 'which is absolute'),
    named('absolute on Windows', 'C:/windows/evil', 'which is absolute'),
    named('relative to a drive', 'c:evil', 'which is absolute'),
    named('backslash', 'lib\\evil.dart', 'backslash'),
    named('backslash traversal', '..\\evil', 'backslash'),
    named('line break', 'lib/a\nb', 'control characters'),
    named('escape sequence', 'lib/\u001b[31m', 'control characters'),
    named('C1 control', 'lib/\u0085', 'control characters'),
    named('not UTF-8', Buffer.from([0x61, 0xff]), 'not UTF-8'),
    named('without a name', '', 'without a name'),
    named('file as a directory', 'lib/', 'as a file'),
    named('file as the root', './.', 'as a file'),
    named('reserved on Windows', 'lib/con.dart', 'reserved on Windows'),
    named('reversing what follows', 'lib/\u202egnp.dart', String.raw`"lib/\u{202e}gnp.dart"`),
    named('too long a name', `lib/${'a'.repeat(256)}`, 'longer than 255 bytes'),
    named('too long a path', 'long/'.repeat(250), 'longer than 1024 bytes'),
    named('too long a path for the client', 'a'.repeat(5000), 'longer than 2048 bytes'),
  ])
})

describe('an entry that is no file or directory is refused', () => {
  refuses([
    typed('symbolic link', '2', '"lib/evil" as a symlink', '/etc/passwd'),
    typed('hard link', '1', '"lib/evil" as a link', 'pubspec.yaml'),
    typed('character device', '3', 'as a character-device'),
    typed('block device', '4', 'as a block-device'),
    typed('FIFO', '6', 'as a fifo'),
    typed('contiguous file', '7', 'unsupported type 7'),
    typed('sparse file', 'S', 'unsupported type S'),
    typed('continued volume', 'M', 'unsupported type M'),
    typed('unknown type', 'Z', 'unsupported type Z'),
    [
      'link with a long target',
      () => gzipped(manifest(), tarEntry({ name: '././@LongLink', type: 'K' }, '../'.repeat(99)), tarEntry({ name: 'l', type: '2' })),
      'as a symlink',
    ],
    ['link by PAX', () => gzipped(manifest(), pax({ linkpath: '/etc/passwd' }), tarEntry({ name: 'l', type: '2' })), 'as a symlink'],
    ['directory with content', () => withEntry({ name: 'lib/', type: '5' }, 'x'), 'directory or link with content'],
    ['link with content', () => withEntry({ name: 'lib/l', type: '2' }, 'x'), 'directory or link with content'],
  ])
})

describe('two entries for one path are refused', () => {
  refuses([
    both('duplicate file', file('a'), file('a', 'y'), '"a" twice'),
    both('second manifest', file('a'), manifest(), '"pubspec.yaml" twice'),
    both('duplicate directory', directory('a/'), directory('a/'), '"a" twice'),
    both('duplicate by ./', file('lib/a'), file('./lib/./a'), '"lib/a" twice'),
    both('duplicate by //', file('lib/a'), file('lib//a'), '"lib/a" twice'),
    both('file and directory', file('a'), directory('a/'), 'both as a file and as a directory'),
    both('file and what is below it', file('a'), file('a/b'), 'both as a file and as a directory'),
    both('file in place of a directory', file('a/b/c'), file('a/b'), 'both as a file and as a directory'),
    both('case collision', file('lib/a.dart'), file('lib/A.dart'), 'both "lib/a.dart" and "lib/A.dart"'),
    both('case collision of directories', file('lib/a'), file('LIB/b'), 'both "lib" and "LIB"'),
    both('case collision of kinds', file('Lib'), file('lib/b'), 'both "Lib" and "lib"'),
    both('case collision beyond ASCII', file('É'), file('é'), 'one file where case does not count'),
    both('case collision of one letter with two', file('straße'), file('STRASSE'), 'one file where case does not count'),
    both('the Kelvin sign', file('k'), file('\u212a'), 'one file where case does not count'),
    both('composed and decomposed', file('\u00e9'), file('e\u0301'), 'one file where case does not count'),
    both('the manifest in capitals', file('a'), file('PUBSPEC.yaml'), 'both "pubspec.yaml" and "PUBSPEC.yaml"'),
  ])
})

describe('a tar that readers understand differently is refused', () => {
  refuses([
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
    ['data behind the end mark', () => gzipped(file('a'), tarEnd, manifest()), 'data after the end of its tar'],
    ['data behind one empty block', () => gzipped(file('a'), Buffer.alloc(512), manifest()), 'data after the end of its tar'],
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

describe('a bomb is refused', () => {
  const zeros = Buffer.alloc(MiB)
  const laughs = Array.from({ length: 9 }, (_, level) => `l${level + 1}: &l${level + 1} [${`*l${level},`.repeat(9)}]\n`).join('')
  refuses([
    ['10 GiB of zeros', () => bomb(Buffer.alloc(0), zeros, 10 * GiB), 'too many empty blocks'],
    ['10 GiB of zeros behind the end mark', () => bomb(Buffer.concat([manifest(), tarEnd]), zeros, 10 * GiB), 'too many empty blocks'],
    ['10 GiB of zeros in a file that claims 8', () => bomb(start('77777777777 '), zeros, 10 * GiB), 'unpacks to more than 268435456 bytes'],
    ['10 GiB of zeros behind a file of 255 MiB', () => bomb(start(255 * MiB), zeros, 10 * GiB), 'unpacks to more than 268435456 bytes'],
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
    ['long paths', () => entries(1e6, (index) => `${index}/${'long/'.repeat(190)}`.slice(0, -1)), 'more than 8388608 characters together'],
    ['a million laughs', yaml(`l0: &l0 ha\n${laughs}`), 'has an anchor (&l0)'],
    ['brackets 60,000 deep', yaml(`a: ${'['.repeat(60_000)}`), 'nested more than 64 deep'],
    ['100,000 commas', yaml(`a: [${','.repeat(100_000)}`), 'too many fields'],
  ])
})

it('refuses a file by the size that it claims, before reading it', async () => {
  const source = bomb(Buffer.concat([manifest(), tarHeader({ name: 'a', size: 257 * MiB })]), Buffer.alloc(MiB), GiB)
  let chunks = 0
  source.on('data', () => (chunks += 1))
  await expect(inspect(source)).rejects.toThrow('unpacks to more than 268435456 bytes')
  expect(chunks).toBeLessThan(100)
})

describe('a file that is not one gzip member is refused', () => {
  const good = gzipSync(packageTar(foo))
  const flagged = (flags: number, ...more: Buffer[]) => bytes(Buffer.from([0x1f, 0x8b, 8, flags, 0, 0, 0, 0, 0, 3]), ...more)
  refuses([
    ['second member', bytes(good, good), 'data after the end of its gzip stream'],
    ['second member behind an empty one', bytes(gzipSync(''), good), 'data after the end of its gzip stream'],
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
