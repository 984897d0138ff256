import { createHash } from 'node:crypto'
import { appendFile, mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gunzipSync, gzipSync } from 'node:zlib'
import { expect, it, onTestFinished } from 'vitest'
import { mirrorFiles } from '../../server/registry/mirror/entries.ts'
import { type TestApp, testApp } from '../app.ts'
import { admin, adminJson } from '../support/admin.ts'
import { lockText } from '../support/lock-text.ts'
import { PubClient } from '../support/pub-client.ts'
import { publishOwn } from '../support/mirror.ts'
import { Upstream } from '../support/upstream.ts'

type Line = { kind: string; name: string; version?: string; sha256: string; bytes: number; [field: string]: unknown }

async function folderFor(name: string): Promise<string> {
  const parent = await mkdtemp(join(tmpdir(), 'snug-mirror-'))
  onTestFinished(() => rm(parent, { recursive: true }))
  return join(parent, name)
}

const mirrorOf = (upstream: Upstream, env: Record<string, string> = {}) => testApp({ env: { UPSTREAM_URL: upstream.url, ...env } })

/** Fills the mirror of a server with versions of the upstream server, and exports it. */
async function exported(app: TestApp, upstream: Upstream, packages: { name: string; version: string }[]): Promise<string> {
  const folder = await folderFor('export')
  for (const one of packages) {
    const lock = join(app.config.DATA_DIR, 'pubspec.lock')
    await writeFile(lock, await lockText(upstream, [one]))
    expect(await admin(app, 'mirror-fetch', lock)).toMatchObject({ code: 0 })
  }
  expect(await admin(app, 'mirror-export', folder)).toMatchObject({ code: 0 })
  return folder
}

const pathIn = (folder: string, sha256: string) => join(folder, 'sha256', sha256.slice(0, 2), sha256.slice(2, 4), sha256)
const linesOf = async (folder: string): Promise<Line[]> =>
  (await readFile(join(folder, 'index.jsonl'), 'utf8'))
    .trim()
    .split('\n')
    .slice(1)
    .map((line) => JSON.parse(line) as Line)

/** Replaces the lines of an index, except its header. */
async function setLines(folder: string, lines: readonly (object | string)[]): Promise<void> {
  const [header = ''] = (await readFile(join(folder, 'index.jsonl'), 'utf8')).split('\n')
  const texts = lines.map((line) => (typeof line === 'string' ? line : JSON.stringify(line)))
  await writeFile(join(folder, 'index.jsonl'), [header, ...texts, ''].join('\n'))
}

/** Adds a file with this content and returns its hash and size. */
async function addFile(folder: string, content: Buffer): Promise<{ sha256: string; bytes: number }> {
  const sha256 = createHash('sha256').update(content).digest('hex')
  await mkdir(join(pathIn(folder, sha256), '..'), { recursive: true })
  await writeFile(pathIn(folder, sha256), content)
  return { sha256, bytes: content.length }
}

it('moves the mirror to a server whose upstream server cannot be reached', async () => {
  const upstream = await Upstream.start()
  await using from = await mirrorOf(upstream)
  const packages = ['intl', 'path', 'meta'].flatMap((name) => ['1.0.0', '1.1.0-dev.1+2'].map((version) => ({ name, version })))
  for (const { name, version } of packages) upstream.publish(name, version)
  upstream.advise('path', { affected: ['1.0.0'] })
  const folder = await exported(from, upstream, packages)
  await upstream.stop()
  await using to = await mirrorOf(upstream)
  const first = await adminJson(to, 'mirror-import', folder)
  expect(first).toMatchObject({ code: 0, body: { ok: true, present: 0, skipped: [], refused: [] } })
  // Each package has a listing and a score, and one has advisories.
  expect(first.body.imported).toBe(packages.length + 3 + 3 + 1)
  const member = await to.member()
  const client = new PubClient({
    hostedUrl: `${to.config.SERVER_URL}/mirror`,
    address: `${await to.listen()}/mirror`,
    token: member.secret ?? '',
  })
  for (const { name, version } of packages) expect((await client.download(name, version)).length).toBeGreaterThan(0)
  expect(await client.advisories('path')).toMatchObject([{ affected: [{}] }])
  expect(await adminJson(to, 'mirror-import', folder)).toMatchObject({ code: 0, body: { imported: 0, present: first.body.imported } })
})

it('updates an earlier export, and repairs what is damaged there', async () => {
  const upstream = await Upstream.start()
  await using app = await mirrorOf(upstream)
  upstream.publish('intl', '1.0.0')
  const folder = await exported(app, upstream, [{ name: 'intl', version: '1.0.0' }])
  const archive = (await linesOf(folder)).find(({ kind }) => kind === 'archive')
  await writeFile(pathIn(folder, archive?.sha256 ?? ''), 'damaged')
  await addFile(folder, Buffer.from('from an earlier export'))
  expect(await adminJson(app, 'mirror-export', folder)).toMatchObject({ code: 0, body: { copied: 1, removed: 1, lacking: [] } })
  expect(await adminJson(app, 'mirror-export', folder)).toMatchObject({ code: 0, body: { copied: 0, removed: 0 } })
  await (await mirrorFiles.store(app.services)).remove(archive?.sha256 ?? '', { at: new Date() })
  expect(await adminJson(app, 'mirror-export', await folderFor('second'))).toMatchObject({
    code: 1,
    body: { lacking: [{ what: 'archive:intl:1.0.0', reason: 'Its file is missing.' }] },
  })
})

it('refuses folders with other files, and folders of the server', async () => {
  const upstream = await Upstream.start()
  await using app = await mirrorOf(upstream, {})
  const folder = await folderFor('other')
  await mkdir(folder)
  await writeFile(join(folder, 'diary.txt'), 'private')
  expect(await admin(app, 'mirror-export', folder)).toMatchObject({ code: 1, err: expect.stringContaining('contains diary.txt') })
  expect(await readdir(folder)).toEqual(['diary.txt'])
  expect(await admin(app, 'mirror-export', app.config.DATA_DIR)).toMatchObject({ code: 1, err: expect.stringContaining('is DATA_DIR') })
  expect(await admin(app, 'mirror-import', folder)).toMatchObject({ code: 1, err: expect.stringContaining('has no file index.jsonl') })
  await writeFile(join(folder, 'index.jsonl'), '{"format":"snug-mirror","version":2}\n')
  expect(await admin(app, 'mirror-import', folder)).toMatchObject({ code: 1, err: expect.stringContaining('cannot read') })
  const header = { format: 'snug-mirror', version: 1, upstream: 'https://other.example', exportedAt: new Date().toISOString() }
  await writeFile(join(folder, 'index.jsonl'), `${JSON.stringify(header)}\n`)
  expect(await admin(app, 'mirror-import', folder)).toMatchObject({ code: 1, err: expect.stringContaining('must not be mixed') })
})

it('refuses hostile lines of an index and imports the others', async () => {
  const upstream = await Upstream.start()
  await using from = await mirrorOf(upstream)
  upstream.publish('intl', '1.0.0')
  const folder = await exported(from, upstream, [{ name: 'intl', version: '1.0.0' }])
  await using to = await mirrorOf(upstream)
  const lines = await linesOf(folder)
  const listing = lines.find(({ kind }) => kind === 'listing')
  const archive = lines.find(({ kind }) => kind === 'archive')
  const invalid = [
    { ...archive, sha256: '../../../../etc/passwd' },
    { ...archive, sha256: archive?.sha256.toUpperCase() },
    { ...archive, name: '../intl' },
    { ...archive, version: '1.0.0/../..' },
    { ...archive, version: undefined },
    { ...archive, path: '/etc/passwd' },
    { ...listing, kind: 'token' },
    { ...listing, version: '1.0.0' },
    { ...listing, kind: 'names' },
    { ...listing, etag: 'x\r\nset-cookie: a=b' },
    { ...listing, bytes: -1 },
    { ...listing, checkedAt: 'yesterday' },
    'not JSON',
    '{"__proto__":{"kind":"archive"}}',
    `${'['.repeat(2000)}${']'.repeat(2000)}`,
    '',
  ]
  await setLines(folder, [...invalid, ...lines])
  const { code, body } = await adminJson(to, 'mirror-import', folder)
  expect(code).toBe(1)
  expect(body).toMatchObject({ ok: false, imported: lines.length })
  expect(body.refused).toEqual(
    invalid.map((_line, index) => ({ what: `index.jsonl line ${index + 2}`, reason: 'It does not describe a file of the mirror.' })),
  )
  await appendFile(join(folder, 'index.jsonl'), `{"kind":"${'x'.repeat(5000)}"}`)
  expect(await admin(to, 'mirror-import', folder)).toMatchObject({ code: 1, err: expect.stringContaining('more than 4096 characters') })
})

it('refuses files that are damaged, of another size, no files or missing', async () => {
  const upstream = await Upstream.start()
  await using from = await mirrorOf(upstream)
  for (const name of ['damaged', 'longer', 'linked', 'missing']) upstream.publish(name, '1.0.0')
  const folder = await exported(
    from,
    upstream,
    ['damaged', 'longer', 'linked', 'missing'].map((name) => ({ name, version: '1.0.0' })),
  )
  const hashOf = (lines: Line[], name: string, kind: string) => lines.find((line) => line.name === name && line.kind === kind)?.sha256 ?? ''
  const lines = await linesOf(folder)
  for (const kind of ['listing', 'archive']) {
    const damaged = pathIn(folder, hashOf(lines, 'damaged', kind))
    await writeFile(damaged, Buffer.alloc((await readFile(damaged)).length))
  }
  await appendFile(pathIn(folder, hashOf(lines, 'longer', 'archive')), 'more')
  const linked = pathIn(folder, hashOf(lines, 'linked', 'archive'))
  await rm(linked)
  await symlink('/dev/zero', linked)
  await rm(pathIn(folder, hashOf(lines, 'missing', 'archive')))
  await using to = await mirrorOf(upstream)
  const { code, body } = await adminJson(to, 'mirror-import', folder)
  expect(code).toBe(1)
  expect(Object.fromEntries(body.refused.map(({ what, reason }: { what: string; reason: string }) => [what, reason]))).toEqual({
    'listing damaged': 'Its file does not have its SHA-256.',
    'archive damaged 1.0.0': 'The listing in the mirror does not have this version.',
    'archive longer 1.0.0': expect.stringMatching(/^Its file has \d+ bytes instead of \d+\.$/),
    'archive linked 1.0.0': 'Its file is not a regular file.',
    'archive missing 1.0.0': 'Its file is missing.',
  })
  const files = []
  for await (const file of (await mirrorFiles.store(to.services)).list()) files.push(file)
  expect(files.length).toBeLessThanOrEqual(body.imported)
})

it('refuses documents and archives with a valid hash that do not fit', async () => {
  const upstream = await Upstream.start()
  await using from = await mirrorOf(upstream)
  for (const name of ['intl', 'path', 'meta']) upstream.publish(name, '1.0.0')
  const folder = await exported(
    from,
    upstream,
    ['intl', 'path', 'meta'].map((name) => ({ name, version: '1.0.0' })),
  )
  const lines = await linesOf(folder)
  const listingOf = (name: string) => lines.find((line) => line.name === name && line.kind === 'listing') as Line
  const listing = JSON.parse(gunzipSync(await readFile(pathIn(folder, listingOf('path').sha256))).toString())
  const packed = (content: string) => addFile(folder, gzipSync(content))
  const other = await addFile(folder, Buffer.from('another archive'))
  const meta = lines.find((line) => line.name === 'meta' && line.kind === 'archive') as Line
  await setLines(folder, [
    { ...listingOf('intl'), ...(await packed(JSON.stringify(listing))) },
    { ...listingOf('path'), ...(await packed(JSON.stringify({ ...listing, versions: [{ ...listing.versions[0], pubspec: null }] }))) },
    listingOf('meta'),
    { ...listingOf('meta'), kind: 'score', ...(await packed('["a list"]')) },
    { ...listingOf('meta'), kind: 'advisories', ...(await packed('x'.repeat(20 * 1024 ** 2))) },
    { ...meta, ...other },
    { ...meta, name: 'absent' },
  ])
  await using to = await mirrorOf(upstream)
  const { body } = await adminJson(to, 'mirror-import', folder)
  expect(body.imported).toBe(1)
  expect(Object.fromEntries(body.refused.map(({ what, reason }: { what: string; reason: string }) => [what, reason]))).toEqual({
    'listing intl': 'The listing of intl is not a valid listing of this package.',
    'listing path': 'The listing of path has a version that package clients cannot read.',
    'score meta': 'the answer is not a JSON object',
    'advisories meta': expect.stringContaining('It cannot be imported: '),
    'archive meta 1.0.0': expect.stringMatching(/^Its SHA-256 is \w+ instead of \w+ as in the listing\.$/),
    'archive absent 1.0.0': 'The listing in the mirror does not have this version.',
  })
})

it('keeps newer listings, never replaces an archive, and skips own names', async () => {
  const upstream = await Upstream.start()
  await using from = await mirrorOf(upstream)
  for (const name of ['intl', 'path', 'ours', 'acme_tool']) upstream.publish(name, '1.0.0')
  const folder = await exported(
    from,
    upstream,
    ['intl', 'path', 'ours', 'acme_tool'].map((name) => ({ name, version: '1.0.0' })),
  )
  await using to = await mirrorOf(upstream, { UPSTREAM_NEVER: 'acme_*' })
  const member = await to.member()
  await publishOwn(to, member, { name: 'ours', version: '2.0.0' })
  upstream.publish('intl', '1.1.0')
  expect(await member.get('/mirror/api/packages/intl')).toMatchObject({ status: 200, body: { versions: [{}, {}] } })
  // The archive of path is another one in the listing that this server has.
  upstream.publish('path', '1.0.0', { files: { 'lib/other.dart': '// other' } })
  expect(await member.get('/mirror/api/packages/path')).toMatchObject({ status: 200 })
  const { body } = await adminJson(to, 'mirror-import', folder)
  expect(body.skipped.map(({ what }: { what: string }) => what)).toEqual(
    expect.arrayContaining(['listing ours', 'archive ours 1.0.0', 'listing acme_tool', 'archive acme_tool 1.0.0']),
  )
  expect(body.refused).toMatchObject([{ what: 'archive path 1.0.0' }])
  expect(await member.get('/mirror/api/packages/intl')).toMatchObject({ body: { versions: [{}, {}] } })
  expect(await member.get('/mirror/api/packages/ours')).toMatchObject({ status: 403 })
  expect(await member.get('/mirror/api/packages/acme_tool')).toMatchObject({ status: 403 })
})

it('completes the names of what was imported', async () => {
  const upstream = await Upstream.start()
  for (const name of ['intl', 'path', 'ours', 'acme_x']) upstream.publish(name, '1.0.0')
  await using source = await mirrorOf(upstream)
  const packages = ['intl', 'ours', 'acme_x'].map((name) => ({ name, version: '1.0.0' }))
  const folder = await exported(source, upstream, packages)
  await upstream.stop()
  await using target = await mirrorOf(upstream, { UPSTREAM_NEVER: 'acme_*' })
  const member = await target.member()
  const names = async () => (await member.get('/mirror/api/package-name-completion-data')).body
  expect((await names()).error.code).toBe('ServiceUnavailable')
  expect(await admin(target, 'mirror-import', folder)).toMatchObject({ code: 0 })
  await publishOwn(target, member, { name: 'ours', version: '1.0.0' })
  expect(await names()).toEqual({ packages: ['intl'] })
  const { body } = await member.graphql('{ searchUpstream(query: "int", first: 5) { name } }')
  expect(body.data.searchUpstream).toEqual([{ name: 'intl' }])
})

it('moves attestations, and imports none that is not valid', async () => {
  const upstream = await Upstream.start()
  await using from = await mirrorOf(upstream)
  for (const version of ['1.0.0', '1.1.0']) upstream.publish('colors', version).attestation = { mediaType: version }
  const locked = ['1.0.0', '1.1.0'].map((version) => ({ name: 'colors', version }))
  const folder = await exported(from, upstream, locked)
  const lines = await linesOf(folder)
  const isFirst = ({ kind, version }: Line) => kind === 'attestation' && version === '1.0.0'
  expect(lines.filter(({ kind }) => kind === 'attestation').map(({ version }) => version)).toEqual(['1.0.0', '1.1.0'])
  const damaged = await addFile(folder, gzipSync('not an attestation'))
  await setLines(
    folder,
    lines.map((line) => (isFirst(line) ? { ...line, ...damaged } : line)),
  )
  await using to = await mirrorOf(upstream)
  expect((await admin(to, 'mirror-import', folder)).code).not.toBe(0)
  await upstream.stop()
  const member = await to.member()
  const path = (version: string) => `/mirror/api/packages/colors/versions/${version}/attestation`
  expect(await member.get(path('1.1.0'))).toMatchObject({ status: 200, body: { mediaType: '1.1.0' } })
  expect(await member.get(path('1.0.0'))).toMatchObject({ status: 503 })
  await setLines(folder, lines)
  expect((await admin(to, 'mirror-import', folder)).code).toBe(0)
  expect(await member.get(path('1.0.0'))).toMatchObject({ status: 200, body: { mediaType: '1.0.0' } })
})
