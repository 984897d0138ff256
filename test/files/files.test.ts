import { expect, it } from 'vitest'
import type { Actor } from '../actor.ts'
import { testApp } from '../app.ts'
import { makePublic, publicApp } from '../support/public-packages.ts'
import { plain } from '../support/pictures.ts'
import { publish } from '../support/publish.ts'

const query = `query ($path: String!) { package(name: "acme") { version(version: "1.0.0") {
  files { totalCount bytes nodes { path kind bytes } }
  file(path: $path) { file { path kind bytes sha256 } mediaType url text lines html }
} } }`
async function read(actor: Actor, path: string) {
  const { body } = await actor.graphql(query, { path })
  expect(body.errors).toBeUndefined()
  return body.data.package?.version
}

it('lists the files of a version and returns their text, highlighted lines and rendered Markdown', async () => {
  await using app = await testApp()
  const alice = await app.member()
  const files = {
    'lib/acme.dart': 'int answer() => 42;\n',
    'doc/a b/guide.md': '# Guide\n\n[Source](../../lib/acme.dart)\n',
    'doc/logo.png': await plain({ width: 4, height: 4 }).png().toBuffer(),
    'data.bin': Buffer.from([0, 1, 2]),
    'empty.txt': '',
  }
  await publish(alice, { name: 'acme', version: '1.0.0', files })
  const { files: listed, file } = await read(alice, 'lib/acme.dart')
  expect(listed.totalCount).toBe(9)
  expect(listed.bytes).toBe(listed.nodes.reduce((sum: number, { bytes }: { bytes: number }) => sum + bytes, 0))
  expect(listed.nodes).toEqual(
    expect.arrayContaining([
      { path: 'data.bin', kind: 'BINARY', bytes: 3 },
      { path: 'doc/a b/guide.md', kind: 'TEXT', bytes: files['doc/a b/guide.md'].length },
      { path: 'doc/logo.png', kind: 'IMAGE', bytes: files['doc/logo.png'].length },
      { path: 'empty.txt', kind: 'TEXT', bytes: 0 },
    ]),
  )
  expect(file).toMatchObject({
    file: { path: 'lib/acme.dart', kind: 'TEXT', bytes: 20 },
    mediaType: 'text/plain',
    url: 'http://localhost:8080/raw/acme/1.0.0/lib/acme.dart',
    text: 'int answer() => 42;\n',
    lines: [expect.stringMatching(/<span class="hl-\w">int ?<\/span>/)],
    html: null,
  })
  const guide = (await read(alice, 'doc/a b/guide.md')).file
  expect(guide.url).toBe('http://localhost:8080/raw/acme/1.0.0/doc/a%20b/guide.md')
  expect(guide.html).toContain('href="/packages/acme/versions/1.0.0/files/lib/acme.dart"')
  expect((await read(alice, 'doc/logo.png')).file).toMatchObject({ mediaType: 'image/png', text: null, lines: null, html: null })
  expect((await read(alice, 'data.bin')).file).toMatchObject({ file: { kind: 'BINARY' }, text: null })
  expect((await read(alice, 'empty.txt')).file).toMatchObject({ text: '', lines: [''] })
  for (const path of ['lib', 'missing.txt', '../acme.dart', '/etc/passwd', '', 'LIB/acme.dart', '__proto__'])
    expect((await read(alice, path)).file, path).toBeNull()
})

it('returns no text of files with too many bytes or lines', async () => {
  await using app = await testApp()
  const alice = await app.member()
  const files = { 'large.txt': 'x'.repeat(512 * 1024 + 1), 'long.txt': '\n'.repeat(10_000), 'fits.txt': '\n'.repeat(9999) }
  await publish(alice, { name: 'acme', version: '1.0.0', files })
  expect((await read(alice, 'large.txt')).file).toMatchObject({ file: { kind: 'TEXT', bytes: 524_289 }, text: null, lines: null })
  expect((await read(alice, 'long.txt')).file).toMatchObject({ text: null, lines: null })
  expect((await read(alice, 'fits.txt')).file.lines.length).toBeGreaterThan(9900)
})

it('shows files only to users who may read the version', async () => {
  await using app = await publicApp()
  const alice = await app.member()
  await publish(alice, { name: 'acme', version: '1.0.0' })
  expect(await read(app.anonymous, 'LICENSE')).toBeUndefined()
  await makePublic(app, 'acme')
  expect((await read(app.anonymous, 'LICENSE')).file.text).toContain('MIT')
})
