import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { makeDirectoryBelow, syncNames } from '../../../server/platform/blobs/durable-files.ts'

it('syncs the name of a directory once, and again after it was removed', async () => {
  const base = mkdtempSync(join(tmpdir(), 'snug-directories-'))
  onTestFinished(() => rmSync(base, { recursive: true }))
  const path = join(base, 'ab', 'cd')
  const lasting = new Set<string>()
  await makeDirectoryBelow(base, path, lasting, 0o700)
  expect(lasting).toEqual(new Set())
  await syncNames(base, path, lasting)
  expect(lasting).toEqual(new Set([path, dirname(path)]))
  rmSync(path, { recursive: true })
  await makeDirectoryBelow(base, path, lasting, 0o700)
  expect(lasting).toEqual(new Set([dirname(path)]))
})

it('does not assume that directories of other processes are synced', async () => {
  const base = mkdtempSync(join(tmpdir(), 'snug-directories-'))
  onTestFinished(() => rmSync(base, { recursive: true }))
  const path = join(base, 'ab', 'cd')
  mkdirSync(path, { recursive: true })
  const lasting = new Set<string>()
  await makeDirectoryBelow(base, path, lasting, 0o700)
  expect(lasting).toEqual(new Set())
})
