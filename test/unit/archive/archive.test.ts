import { createReadStream } from 'node:fs'
import { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { gzipSync } from 'node:zlib'
import { pack } from 'tar-stream'
import { describe, expect, it } from 'vitest'
import { readArchive } from '../../../server/registry/archive/read.ts'
import { inspectPackage } from '../../../server/registry/archive/inspect.ts'
import { type ArchiveOptions, defaultPubspec, inPieces, packageArchive, packageTar } from '../../support/archive.ts'
import { gzipped, pax } from '../../support/hostile-archives.ts'
import { tarEntry } from '../../support/tar.ts'

const rules = { serverUrl: 'https://pub.example.com', allowedHostedUrls: [] }
const foo = { name: 'foo', version: '1.0.0' }
const inspect = async (options: Partial<ArchiveOptions> = {}) =>
  inspectPackage(inPieces(await packageArchive({ ...foo, ...options })), rules)
const manifest = tarEntry({ name: 'pubspec.yaml' }, defaultPubspec('foo', '1.0.0'))
const withFiles = (files: Record<string, string>) =>
  gzipped(manifest, ...Object.entries(files).map(([name, text]) => tarEntry({ name }, text)))

const padded = (size: number) => defaultPubspec('foo', '1.0.0').padEnd(size, '#')

describe('package archive', () => {
  it('is parsed into its pubspec, documents and files', async () => {
    expect(await inspect()).toEqual({
      pubspec: expect.objectContaining({ ...foo, environment: [{ sdk: 'sdk', constraint: '>=3.0.0 <4.0.0' }] }),
      document: expect.objectContaining({ ...foo, environment: { sdk: '>=3.0.0 <4.0.0' } }),
      readme: { path: 'README.md', text: '# foo\n\nMade for a test.\n' },
      changelog: { path: 'CHANGELOG.md', text: '## 1.0.0\n\n- First.\n' },
      license: { path: 'LICENSE', text: expect.stringContaining('MIT') },
      example: null,
      files: ['README.md', 'CHANGELOG.md', 'LICENSE', 'lib/foo.dart', 'pubspec.yaml'].map((path) => ({ path, size: expect.any(Number) })),
    })
  })

  it('may have no documents', async () => {
    expect(await inspectPackage(gzipped(manifest), rules)).toMatchObject({
      readme: null,
      changelog: null,
      license: null,
      example: null,
      files: [{ path: 'pubspec.yaml' }],
    })
  })

  it('is parsed independently of chunk boundaries', async () => {
    const archive = await packageArchive({
      ...foo,
      files: { 'bin/data': Buffer.alloc(3000, 'x'), [`lib/${'long/'.repeat(30)}a.dart`]: 'x' },
    })
    const whole = await readArchive(inPieces(archive, archive.length))
    for (const size of [1, 2, 7, 10, 11, 511]) expect(await readArchive(inPieces(archive, size))).toEqual(whole)
    expect(await readArchive(archive)).toEqual(whole)
  })

  it('may be created by other tools', async () => {
    const tar = pack()
    for (const name of ['./', './lib/', `./lib/${'ü'.repeat(60)}.dart`, './pubspec.yaml']) {
      if (name.endsWith('/')) tar.entry({ name, type: 'directory' })
      else tar.entry({ name }, name.endsWith('yaml') ? defaultPubspec('foo', '1.0.0') : 'x')
    }
    tar.finalize()
    const archive = gzipSync(Buffer.concat([pax({ comment: 'a commit' }, 'g'), await buffer(Readable.from(tar)), Buffer.alloc(8192)]))
    expect((await readArchive(inPieces(archive))).files.map(({ path }) => path)).toEqual([`lib/${'ü'.repeat(60)}.dart`, 'pubspec.yaml'])
  })

  it('may have a gzip header with a name, a comment, extra data and a checksum', async () => {
    const plain = await packageArchive(foo)
    const fields = Buffer.concat([Buffer.from([3, 0]), Buffer.from('abc'), Buffer.from('package.tar\0a comment\0'), Buffer.from([0, 0])])
    const archive = Buffer.concat([Buffer.from([0x1f, 0x8b, 8, 2 + 4 + 8 + 16, 0, 0, 0, 0, 0, 3]), fields, plain.subarray(10)])
    for (const size of [1, 13, 5000]) expect(await readArchive(inPieces(archive, size))).toMatchObject({ readme: { path: 'README.md' } })
  })

  it('is accepted at the exact limits', async () => {
    const tar = packageTar({ ...foo, files: { 'big.bin': Buffer.alloc(5000) } })
    const limits = { unpackedBytes: tar.length, entries: 7 }
    const read = (change: Partial<typeof limits>) => readArchive(inPieces(gzipSync(tar)), { ...limits, ...change })
    expect(await read({})).toMatchObject({ files: expect.any(Array) })
    await expect(read({ unpackedBytes: tar.length - 1 })).rejects.toThrow('unpacks to more than')
    await expect(read({ entries: 6 })).rejects.toThrow('more than 6 entries')
  })

  it('has a pubspec of at most 128 KiB', async () => {
    expect((await inspect({ manifest: padded(131_072) })).pubspec.name).toBe('foo')
    await expect(inspect({ manifest: padded(131_073) })).rejects.toThrow('pubspec.yaml is larger than 131072 bytes')
  })
})

describe('documents of an archive', () => {
  it.each([
    [['README', 'readme.md', 'README.txt'], 'readme.md'],
    [['README.rst', 'README.txt', 'Readme'], 'Readme'],
    [['README.txt', 'README.rst'], 'README.txt'],
    [['doc/README.md', 'README.markdown'], 'README.markdown'],
    [['README.md.bak', 'READMEFIRST', 'lib/README.md'], null],
  ])('selects the README from %j', async (names, chosen) => {
    const { readme } = await readArchive(withFiles(Object.fromEntries(names.map((name) => [name, name]))))
    expect(readme).toEqual(chosen && { path: chosen, text: chosen })
  })

  it('finds the changelog and license', async () => {
    expect(await readArchive(withFiles({ 'changelog.txt': 'a', 'LICENSE.md': 'b' }))).toMatchObject({
      changelog: { text: 'a' },
      license: { text: 'b' },
    })
  })

  const examples = [
    'example.md',
    'lib/main.dart',
    'main.dart',
    'lib/foo.dart',
    'foo.dart',
    'lib/foo_example.dart',
    'foo_example.dart',
    'lib/example.dart',
    'example.dart',
    'README.md',
  ]

  it.each(examples.map((name, index) => [name, index] as const))('selects example/%s if no better example exists', async (name, index) => {
    const files = Object.fromEntries(
      [...examples.slice(index), 'other.dart', 'lib/bar.dart'].toReversed().map((file) => [`example/${file}`, file]),
    )
    expect((await inspect({ files })).example).toEqual({ path: `example/${name}`, text: name })
  })

  it('ignores other files in the example folder', async () => {
    expect((await inspect({ files: { 'example/other.dart': 'x', 'examples/main.dart': 'x', 'main.dart': 'x' } })).example).toBeNull()
  })

  it('finds the example after many other files', async () => {
    const others = Object.fromEntries(Array.from({ length: 500 }, (_, index) => [`example/lib/page_${index}.dart`, 'x'.repeat(9000)]))
    expect((await inspect({ files: { ...others, 'example/lib/foo.dart': 'it' } })).example?.text).toBe('it')
  })

  it.each(['a', 'é', '€', '😀'])('truncates documents between characters at 256 KiB (%s)', async (character) => {
    const width = Buffer.byteLength(character)
    for (const shift of ['', 'x', 'xx', 'xxx']) {
      const { readme } = await readArchive(withFiles({ README: shift + character.repeat(300_000 / width) }))
      expect(readme?.text).toBe(shift + character.repeat(Math.floor((262_144 - shift.length) / width)))
    }
  })

  it('replaces invalid UTF-8 and null characters in documents', async () => {
    const archive = gzipped(
      manifest,
      tarEntry({ name: 'README.md' }, Buffer.from('a\0b\xff\xe9c', 'latin1')),
      tarEntry({ name: 'CHANGELOG.md' }, Buffer.alloc(300_000, 0xff)),
    )
    const { readme, changelog } = await readArchive(archive)
    expect(readme?.text).toBe('a\ufffdb\ufffd\ufffdc')
    expect(Buffer.byteLength(changelog?.text ?? '')).toBeLessThanOrEqual(262_144)
    expect(changelog?.text).toMatch(/^\ufffd+$/)
  })
})

describe('archive and its pubspec', () => {
  const screenshots = "screenshots:\n  - {path: './doc/a.png', description: It.}\n"

  it('must contain the screenshots of the pubspec', async () => {
    expect(
      (await inspect({ pubspec: screenshots, files: { 'doc/a.png': Buffer.alloc(4 * 1024 ** 2) } })).document.screenshots,
    ).toHaveLength(1)
    await expect(inspect({ pubspec: screenshots })).rejects.toThrow('the screenshot "./doc/a.png" is not in the archive')
    await expect(inspect({ pubspec: screenshots, files: { 'doc/a.png/b': '' } })).rejects.toThrow('is not in the archive')
    await expect(inspect({ pubspec: screenshots, files: { 'doc/a.png': Buffer.alloc(4 * 1024 ** 2 + 1) } })).rejects.toThrow(
      'larger than 4194304 bytes',
    )
  })

  it.each([
    [{ 'foo-1.0.0/pubspec.yaml': 'name: foo' }, 'not at the root of the archive but at "foo-1.0.0/pubspec.yaml"'],
    [{ 'pubspec.yml': 'name: foo' }, 'The manifest is called "pubspec.yml". Rename it'],
    [{ 'Pubspec.yaml': 'name: foo' }, 'The manifest is called "Pubspec.yaml"'],
    [{ 'lib/a.dart': '' }, 'no pubspec.yaml at its root'],
    [{ 'pubspec.yaml/x': '' }, 'no pubspec.yaml at its root'],
  ])('must have the pubspec at the root: %j', async (files, message) => {
    const archive = gzipped(...Object.entries(files).map(([name, text]) => tarEntry({ name }, text)))
    await expect(inspectPackage(archive, rules)).rejects.toThrow(message)
  })

  it('may have other pubspecs in subfolders', async () => {
    expect((await inspect({ files: { 'example/pubspec.yaml': 'name: [' } })).pubspec.name).toBe('foo')
  })

  it('must have a pubspec in UTF-8', async () => {
    await expect(inspectPackage(gzipped(tarEntry({ name: 'pubspec.yaml' }, Buffer.from([0x61, 0xff]))), rules)).rejects.toThrow(
      'pubspec.yaml is not UTF-8',
    )
  })
})

describe('source stream of an archive', () => {
  it('is closed after reading', async () => {
    const archive = inPieces(await packageArchive(foo))
    await readArchive(archive)
    expect(archive.destroyed).toBe(true)
  })

  it('propagates its errors unchanged', async () => {
    await expect(inspectPackage(createReadStream('/does/not/exist'), rules)).rejects.toMatchObject({ code: 'ENOENT' })
    const archive = await packageArchive({ ...foo, files: { 'x.bin': Buffer.alloc(1e6, 'abc') } })
    const failure = new Error('The disk is gone.')
    const broken = Readable.from(
      (function* () {
        yield archive.subarray(0, 500)
        throw failure
      })(),
    )
    await expect(inspectPackage(broken, rules)).rejects.toBe(failure)
  })

  it('can be aborted', async () => {
    const stuck = new Readable({ read() {} })
    stuck.push((await packageArchive(foo)).subarray(0, 300))
    setTimeout(() => stuck.destroy(), 20)
    await expect(inspectPackage(stuck, rules)).rejects.toMatchObject({ code: 'ERR_STREAM_PREMATURE_CLOSE' })
  })
})
