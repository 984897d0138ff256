import { lstatSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { z } from 'zod'
import { runTask } from '../../../server/analysis/sdks/unpack/run-task.ts'
import { perform } from '../../../server/analysis/sdks/unpack/unpack.ts'
import { tarXzOf, zipOf } from '../../support/sdk-archives.ts'
import { tarEnd, tarEntry } from '../../support/tar.ts'
import { xz } from '../../support/xz.ts'

const bounds = { entries: 20, bytes: 200_000, freeBytes: 0 }

async function unpack(archive: Buffer, { availableBytes = 1e9, ...limits }: Partial<typeof bounds> & { availableBytes?: number } = {}) {
  const folder = await mkdtemp(join(tmpdir(), 'snug-unpack-'))
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  const [path, into] = [join(folder, 'archive'), join(folder, 'into')]
  writeFileSync(path, archive)
  const task = { do: 'unpack', archive: path, into, top: 'sdk', bounds: { ...bounds, ...limits }, availableBytes } as const
  const unpacked = await perform(task, () => {}).catch((error: unknown) => error)
  // No archive may create files outside its folder.
  expect(readdirSync(folder).toSorted()).toEqual(
    unpacked instanceof Error && !readdirSync(folder).includes('into') ? ['archive'] : ['archive', 'into'],
  )
  return { unpacked, into }
}

const tree = [
  { path: 'sdk/bin/dart', content: '#!/bin/sh\n', mode: 0o4777 },
  { path: 'sdk/version', content: '1.2.3', mode: 0o600 },
  { path: 'sdk/bin/tool', link: '../version' },
]

describe.each([
  { form: 'zip', pack: zipOf },
  { form: 'tar.xz', pack: tarXzOf },
])('$form archive', ({ pack }) => {
  it('is unpacked with symlinks and executables, writable only by its owner', async () => {
    const { unpacked, into } = await unpack(await pack(tree))
    expect(unpacked).toEqual({ entries: 3, bytes: 15 })
    expect(lstatSync(join(into, 'bin/dart')).mode & 0o7777).toBe(0o755)
    expect(lstatSync(join(into, 'version')).mode & 0o7777).toBe(0o644)
    expect(lstatSync(join(into, 'bin/tool')).isSymbolicLink()).toBe(true)
    expect(readFileSync(join(into, 'bin/tool'), 'utf8')).toBe('1.2.3')
  })

  it.each([
    ['outside its folder', [{ path: 'other/file' }], 'outside of its folder sdk'],
    ['that occur twice', [{ path: 'sdk/a' }, { path: 'sdk/a' }], 'twice'],
    ['with the same name for a file and a folder', [{ path: 'sdk/a' }, { path: 'sdk/a/b' }], 'twice'],
    ['below a symlink', [{ path: 'sdk/a', link: 'b' }, { path: 'sdk/a/c' }], 'below the link'],
    ['that link outside its folder', [{ path: 'sdk/a', link: '../../etc/passwd' }], 'which may lead out'],
    ['that are absolute links', [{ path: 'sdk/a', link: '/etc/passwd' }], 'which may lead out'],
    [
      'that link outside its folder through other links',
      [
        { path: 'sdk/d/e/up', link: '../..' },
        { path: 'sdk/out', link: 'd/e/up/../x' },
      ],
      'which may lead out',
    ],
    ['that are too many', Array.from({ length: 21 }, (_, index) => ({ path: `sdk/${index}` })), 'more than 20 entries'],
    ['that are too large', [{ path: 'sdk/a', content: Buffer.alloc(200_001) }], 'more than 200000 bytes'],
  ])('is rejected for entries %s', async (_what, files, message) => {
    const { unpacked } = await unpack(await pack(files))
    expect(unpacked).toMatchObject({ name: 'UnpackRejected', message: expect.stringContaining(message) })
  })

  it('is rejected if it is corrupt or truncated', async () => {
    const whole = await pack([...tree, { path: 'sdk/zeros', content: Buffer.alloc(100_000) }])
    const damaged = Buffer.from(whole)
    damaged.fill(0xff, 60, 90)
    for (const broken of [damaged, whole.subarray(0, whole.length - 40), whole.subarray(0, 50)])
      expect((await unpack(broken)).unpacked).toMatchObject({ name: 'UnpackRejected', message: expect.stringContaining('The archive') })
  })

  it('is rejected if it would use reserved disk space', async () => {
    const { unpacked } = await unpack(await pack(tree), { freeBytes: 2 ** 60 })
    expect(unpacked).toMatchObject({ name: 'UnpackRejected', message: expect.stringContaining('not enough free disk space') })
  })
})

describe('path traversal', () => {
  const names = ['sdk/../evil', '../evil', '/evil', 'sdk//../../evil', 'sdk/..', 'sdk/a\\..\\evil', 'C:/evil', 'sdk/a\nb']
  it.each(names)('is rejected in a tar archive: %j', async (name) => {
    const { unpacked } = await unpack(xz(Buffer.concat([tarEntry({ name }, 'x'), tarEnd])))
    expect(unpacked).toMatchObject({ name: 'UnpackRejected' })
  })

  it.each(names.filter((name) => name !== 'sdk/a\nb'))('is rejected in a zip archive: %j', async (name) => {
    // The zip library does not write such names, so a placeholder of the same length is replaced.
    const stand = 'x'.repeat(name.length)
    const archive = Buffer.from((await zipOf([{ path: stand, content: 'y' }])).toString('latin1').replaceAll(stand, name), 'latin1')
    expect((await unpack(archive)).unpacked).toMatchObject({ name: 'UnpackRejected' })
  })
})

it.each([
  ['a device', { name: 'sdk/null', type: '3' }],
  ['a pipe', { name: 'sdk/pipe', type: '6' }],
  ['a hard link to a missing file', { name: 'sdk/hard', type: '1', link: 'sdk/missing' }],
  ['a hard link outside the folder', { name: 'sdk/hard', type: '1', link: '../archive' }],
])('rejects %s in a tar archive', async (_what, header) => {
  const { unpacked } = await unpack(xz(Buffer.concat([tarEntry(header), tarEnd])))
  expect(unpacked).toMatchObject({ name: 'UnpackRejected' })
})

it('unpacks in a thread that can be aborted', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'snug-unpack-'))
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  const [archive, into] = [join(folder, 'archive'), join(folder, 'into')]
  writeFileSync(archive, await zipOf(Array.from({ length: 2000 }, (_, index) => ({ path: `sdk/${index}`, content: 'x' }))))
  const stopped = new AbortController()
  const task = { do: 'unpack', archive, into, top: 'sdk', bounds: { ...bounds, entries: 1e6 }, availableBytes: 1e9 } as const
  const unpacked = runTask(task, z.unknown(), { signal: stopped.signal, onProgress: () => stopped.abort(new Error('Enough.')) })
  await expect(unpacked).rejects.toThrow('Enough.')
  const left = readdirSync(into).length
  expect(left).toBeLessThan(2000)
})

it('copies hard links as files, and keeps modification times', async () => {
  const original = tarEntry({ name: 'sdk/a' }, 'text')
  const { into } = await unpack(xz(Buffer.concat([original, tarEntry({ name: 'sdk/b', type: '1', link: 'sdk/a' }), tarEnd])))
  expect(readFileSync(join(into, 'b'), 'utf8')).toBe('text')
  expect(lstatSync(join(into, 'a')).mtime).toEqual(new Date('2023-11-14T22:13:20Z'))
})

it('counts the bytes of hard links, because each is copied', async () => {
  const original = tarEntry({ name: 'sdk/a' }, 'x'.repeat(100_000))
  const links = ['b', 'c'].map((name) => tarEntry({ name: `sdk/${name}`, type: '1', link: 'sdk/a' }))
  const { unpacked, into } = await unpack(xz(Buffer.concat([original, ...links, tarEnd])))
  expect(unpacked).toMatchObject({ name: 'UnpackRejected', message: expect.stringContaining('more than 200000 bytes') })
  expect(readdirSync(into)).toEqual(['a', 'b'])
})

it('rejects a zip archive that declares more than the free space before writing files', async () => {
  const { unpacked } = await unpack(await zipOf([{ path: 'sdk/a', content: Buffer.alloc(5000) }]), { availableBytes: 4999 })
  expect(unpacked).toMatchObject({ name: 'UnpackRejected', message: expect.stringContaining('not enough free disk space') })
})

it('rejects files that are not archives', async () => {
  expect((await unpack(Buffer.from('hello, this is text'))).unpacked).toMatchObject({
    message: 'The archive is neither a zip nor a tar.xz file.',
  })
})
