import { chmodSync, chownSync, mkdirSync, mkdtempSync, readdirSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { Readable } from 'node:stream'
import { expect, it, onTestFinished } from 'vitest'
import { openFilesystemBlobs } from '../../../server/platform/blobs/filesystem.ts'
import { shaOf } from '../../support/stored-blobs.ts'

function folderOfTest(): string {
  const folder = mkdtempSync(join(tmpdir(), 'snug-modes-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  return folder
}

function withUmask(mask: number): void {
  const before = process.umask(mask)
  onTestFinished(() => void process.umask(before))
}

/** Returns the octal modes in a store: of folders and files, both stored and others. */
function modesIn(root: string) {
  const modes: Record<string, Set<string>> = {}
  for (const entry of readdirSync(root, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name)
    const key = `${relative(root, path).startsWith('sha256') ? 'stored' : 'other'} ${entry.isDirectory() ? 'folders' : 'files'}`
    ;(modes[key] ??= new Set()).add((statSync(path).mode & 0o7777).toString(8))
  }
  return {
    root: (statSync(root).mode & 0o7777).toString(8),
    ...Object.fromEntries(Object.entries(modes).map(([key, all]) => [key, [...all]])),
  }
}

const onlyOwner = { root: '700', 'stored folders': ['700'], 'stored files': ['600'], 'other folders': ['700'], 'other files': ['600'] }
const withGroup = { root: '750', 'stored folders': ['750'], 'stored files': ['640'], 'other folders': ['700'] }

/** Stores bytes in every possible way, and leaves some staged and some removed. */
async function fill(root: string, options?: { groupMayRead: boolean }) {
  const blobs = await openFilesystemBlobs(root, options)
  const all = ['whole', 'streamed', 'removed', 'restored'].map((text) => Buffer.from(text))
  for (const [index, bytes] of all.entries()) {
    const name = `upload-${index}`
    if (index === 0) await blobs.stageWhole(name, bytes)
    else await blobs.stage(name, Readable.from([bytes]), 100)
    await blobs.promote(name, shaOf(bytes))
  }
  for (const bytes of all.slice(2)) await blobs.remove(shaOf(bytes), { at: new Date() })
  rmSync(join(root, 'sha256', shaOf(Buffer.from('restored')).slice(0, 2)), { recursive: true })
  expect(await blobs.restore(shaOf(Buffer.from('restored')))).toBe(true)
  await blobs.stageWhole('left', Buffer.from('left'))
  await blobs.identify('id', { replace: true })
}

it.each([0o000, 0o022, 0o077])('restricts access to a store to the account of the server (umask %o)', async (mask) => {
  withUmask(mask)
  const root = join(folderOfTest(), 'blobs')
  await fill(root)
  expect(modesIn(root)).toEqual(onlyOwner)
})

it.each([0o000, 0o022, 0o077])('grants the group read access to stored files if configured (umask %o)', async (mask) => {
  withUmask(mask)
  const root = join(folderOfTest(), 'blobs')
  await fill(root, { groupMayRead: true })
  expect(modesIn(root)).toMatchObject(withGroup)
})

it('corrects the modes of an existing store in both directions without following symlinks', async () => {
  const root = folderOfTest()
  await fill(root)
  const outside = join(folderOfTest(), 'outside')
  writeFileSync(outside, '', { mode: 0o666 })
  chmodSync(outside, 0o666)
  symlinkSync(outside, join(root, 'sha256', 'link'))
  for (const entry of readdirSync(root, { recursive: true, withFileTypes: true }))
    if (!entry.isSymbolicLink()) chmodSync(join(entry.parentPath, entry.name), entry.isDirectory() ? 0o777 : 0o666)
  chmodSync(root, 0o777)
  await openFilesystemBlobs(root)
  rmSync(join(root, 'sha256', 'link'))
  expect(modesIn(root)).toMatchObject({ root: '700', 'stored folders': ['700'], 'stored files': ['600'], 'other folders': ['700'] })
  expect(statSync(outside).mode & 0o777).toBe(0o666)
  await openFilesystemBlobs(root, { groupMayRead: true })
  expect(modesIn(root)).toMatchObject(withGroup)
  await openFilesystemBlobs(root)
  expect(modesIn(root)).toMatchObject({ 'stored folders': ['700'], 'stored files': ['600'] })
})

it('keeps the group of a folder with the setgid bit', async () => {
  const root = join(folderOfTest(), 'blobs')
  mkdirSync(root)
  const gid = process.getuid?.() === 0 ? 60_601 : (process.getgid?.() ?? 0)
  chownSync(root, process.getuid?.() ?? 0, gid)
  chmodSync(root, 0o2755)
  await fill(root, { groupMayRead: true })
  const bytes = Buffer.from('whole')
  const stored = join(root, 'sha256', shaOf(bytes).slice(0, 2), shaOf(bytes).slice(2, 4), shaOf(bytes))
  expect(statSync(root).mode & 0o7777).toBe(0o2750)
  expect(statSync(stored)).toMatchObject({ gid })
  expect(statSync(stored).mode & 0o777).toBe(0o640)
})
