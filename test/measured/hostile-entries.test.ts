import { describe, expect, it } from 'vitest'
import { gzipped, manifest, pax, withEntry } from '../support/hostile-archives.ts'
import { type Case, directory, file, inspect, itRejects, warmUp } from '../support/archive-refusals.ts'
import { tarEntry, type TarHeader } from '../support/tar.ts'

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

warmUp()

it('accepts the valid archive from which the hostile ones are derived', async () => {
  expect((await inspect(withEntry({ name: 'lib/ok.dart' }, 'x'))).files).toHaveLength(2)
  expect((await inspect(gzipped(manifest(), pax({ path: 'lib/ok.dart' }), file('other')))).files[1]).toEqual({
    path: 'lib/ok.dart',
    size: 1,
  })
})
describe('paths that leave the package or cannot be stored', () => {
  itRejects([
    named('traversal', '../evil', 'the path "../evil", which has `..` in it'),
    named('traversal within', 'lib/../../evil', '`..`'),
    named('traversal at the end', 'lib/..', '`..`'),
    named('traversal after a dot', './../evil', '`..`'),
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
    named('file as the root', '.', 'as a file'),
    named('reserved on Windows', 'lib/con.dart', 'reserved on Windows'),
    named('right-to-left override', 'lib/\u202egnp.dart', String.raw`"lib/\u{202e}gnp.dart"`),
    named('name that is too long', `lib/${'a'.repeat(256)}`, 'longer than 255 bytes'),
    named('path that is too long', 'long/'.repeat(250), 'longer than 1024 bytes'),
    named('path that is too long for the client', 'a'.repeat(5000), 'longer than 2048 bytes'),
  ])
})

describe('entries that are neither files nor directories', () => {
  itRejects([
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

describe('duplicate and colliding paths', () => {
  itRejects([
    both('duplicate file', file('a'), file('a', 'y'), '"a" twice'),
    both('second manifest', file('a'), manifest(), '"pubspec.yaml" twice'),
    both('duplicate directory', directory('a/'), directory('a/'), '"a" twice'),
    both('duplicate by ./', file('lib/a'), file('./lib/./a'), '"lib/a" twice'),
    both('duplicate by //', file('lib/a'), file('lib//a'), '"lib/a" twice'),
    both('file and directory', file('a'), directory('a/'), 'both as a file and as a directory'),
    both('file and a file below it', file('a'), file('a/b'), 'both as a file and as a directory'),
    both('file in place of a directory', file('a/b/c'), file('a/b'), 'both as a file and as a directory'),
    both('case collision', file('lib/a.dart'), file('lib/A.dart'), 'both "lib/a.dart" and "lib/A.dart"'),
    both('case collision of directories', file('lib/a'), file('LIB/b'), 'both "lib" and "LIB"'),
    both('case collision of kinds', file('Lib'), file('lib/b'), 'both "Lib" and "lib"'),
    both('case collision beyond ASCII', file('É'), file('é'), 'the same file on systems that ignore case'),
    both('case collision of one letter with two', file('straße'), file('STRASSE'), 'the same file on systems that ignore case'),
    both('the Kelvin sign', file('k'), file('\u212a'), 'the same file on systems that ignore case'),
    both('composed and decomposed', file('\u00e9'), file('e\u0301'), 'the same file on systems that ignore case'),
    both('the manifest in capitals', file('a'), file('PUBSPEC.yaml'), 'both "pubspec.yaml" and "PUBSPEC.yaml"'),
  ])
})
