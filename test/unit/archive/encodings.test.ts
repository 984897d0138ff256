import { describe, expect, it } from 'vitest'
import { decodeText } from '../../../server/registry/archive/documents.ts'
import { inspectPackage } from '../../../server/registry/archive/inspect.ts'
import { readYaml } from '../../../server/registry/archive/yaml.ts'
import { parseAdvisories } from '../../../server/registry/advisories/osv.ts'
import { defaultPubspec } from '../../support/archive.ts'
import { gzipped, withEntry } from '../../support/hostile-archives.ts'
import { tarEntry, type TarHeader } from '../../support/tar.ts'

const rules = { serverUrl: 'https://pub.example.com', allowedHostedUrls: [] }
const inspect = (pubspec: string | Buffer, files: Record<string, Buffer> = {}) =>
  inspectPackage(
    gzipped(tarEntry({ name: 'pubspec.yaml' }, pubspec), ...Object.entries(files).map(([name, content]) => tarEntry({ name }, content))),
    rules,
  )

const text = '# Acme\n\nDraws a shape in €, äöü and 😀.\n'
const chinese = '# 包\n\n用于一一绘制图形。\n\n- 第一次发布\n'
const little = (source: string) => Buffer.from(source, 'utf16le')
const big = (source: string) => little(source).swap16()
const encodings: [string, (source: string) => Buffer][] = [
  ['UTF-8', (source) => Buffer.from(source)],
  ['UTF-8 with a mark', (source) => Buffer.from(`\ufeff${source}`)],
  ['UTF-16 LE', little],
  ['UTF-16 BE', big],
  ['UTF-16 LE with a mark', (source) => little(`\ufeff${source}`)],
  ['UTF-16 BE with a mark', (source) => big(`\ufeff${source}`)],
]

describe.each(encodings)('text in %s', (_name, encode) => {
  it.each([text, chinese, text.repeat(100), chinese.repeat(100)])('is decoded: %s', (source) => {
    expect(decodeText(encode(source), 20_000)).toBe(source)
    for (const limit of [5, 6, 7, 8]) expect(Buffer.byteLength(decodeText(encode(source), limit))).toBeLessThanOrEqual(limit)
  })

  it('is decoded in each document of an archive', async () => {
    const files = { 'README.md': encode(text), 'CHANGELOG.md': encode(chinese), LICENSE: encode(text), 'example/example.md': encode(text) }
    expect(await inspect(defaultPubspec('foo', '1.0.0'), files)).toMatchObject({
      readme: { text },
      changelog: { text: chinese },
      license: { text },
      example: { text },
    })
  })
})

it('reads a pubspec in UTF-8 with a byte order mark, and refuses one in UTF-16', async () => {
  const pubspec = defaultPubspec('foo', '1.0.0')
  for (const marked of [`\ufeff${pubspec}`, `\ufeff%YAML 1.2\n---\n${pubspec}`, `\ufeff# foo\r\n${pubspec}`])
    expect(await inspect(marked)).toMatchObject({ document: { name: 'foo' } })
  for (const content of encodings.slice(2).map(([, encode]) => encode(pubspec)))
    await expect(inspect(content)).rejects.toThrow('pubspec.yaml is not UTF-8. Save it as UTF-8.')
})

it.each(['v7', 'ustar', 'gnu'] as const)('reads an archive in the tar format %s', async (magic) => {
  const entry = (header: TarHeader, content = '') => tarEntry({ ...header, magic }, content)
  const archive = gzipped(
    entry({ name: 'lib/', type: '5' }),
    entry({ name: 'pubspec.yaml', type: '\0' }, defaultPubspec('foo', '1.0.0')),
    entry({ name: 'README.md' }, text),
    entry({ name: `lib/${'a'.repeat(91)}.dart` }, 'final a = 1;'),
  )
  expect(await inspectPackage(archive, rules)).toMatchObject({
    pubspec: { name: 'foo' },
    readme: { text },
    files: [
      { path: 'pubspec.yaml' },
      { path: 'README.md', size: Buffer.byteLength(text) },
      { path: `lib/${'a'.repeat(91)}.dart`, size: 12 },
    ],
  })
})

it.each(['../a', '/a', 'lib/../../a'])('refuses the path %s in a tar of version 7', async (name) => {
  await expect(inspectPackage(withEntry({ name, magic: 'v7' }), rules)).rejects.toThrow('path')
})

it('ignores the prefix field, which version 7 does not have', async () => {
  const { files } = await inspectPackage(withEntry({ name: 'a', prefix: 'b', magic: 'v7' }), rules)
  expect(files.map(({ path }) => path)).toEqual(['pubspec.yaml', 'a'])
})

it('replaces NUL in other content', () => {
  expect(decodeText(Buffer.from('a\0b'), 100)).toBe('a\ufffdb')
})

it.each([
  '%YAML 1.2\n---',
  '%YAML 1.1\n---',
  '%YAML 1.2 # note\n---',
  '# note\n%YAML 1.2\n---',
  '%YAML 1.2\r\n---',
  '\ufeff%YAML 1.2\n---',
])('accepts the version of YAML: %j', (start) => {
  expect(readYaml(`${start}\nname: x`, 'pubspec.yaml')).toEqual({ name: 'x' })
})

const advisory = (affected: object) =>
  JSON.stringify({
    id: 'GHSA-1',
    modified: '2026-01-01T00:00:00Z',
    summary: null,
    withdrawn: null,
    affected: [{ package: { ecosystem: 'Pub', name: 'acme' }, ...affected }],
  })
const ranged = (...events: object[]) => advisory({ versions: null, ranges: [{ type: 'SEMVER', events }] })

it('reads null in an advisory as absent', () => {
  const [read] = parseAdvisories(ranged({ introduced: '0', fixed: null }, { fixed: '1.1.0' }))
  expect(read).not.toHaveProperty('withdrawn')
  expect(read?.affected).toEqual([
    { package: { ecosystem: 'Pub', name: 'acme' }, ranges: [{ type: 'SEMVER', events: [{ introduced: '0' }, { fixed: '1.1.0' }] }] },
  ])
})

it.each([
  { introduced: '0', fixed: '1.1.0' },
  { fixed: '1.1.0', last_affected: '1.0.0' },
  { introduced: '0', limit: '*' },
])('refuses an event with two kinds: %o', (event) => {
  expect(() => parseAdvisories(ranged(event))).toThrow('must have only one of introduced, fixed, last_affected and limit')
})
