import { execFileSync } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { expect, it, onTestFinished } from 'vitest'
import { root } from '../../support/sources.ts'

const script = pathToFileURL(join(root, 'server/platform/launch/prepare.mjs')).href

/** Creates the sources of a server with a fake build that only records its runs. */
function sources(): string {
  const folder = mkdtempSync(join(tmpdir(), 'snug-build-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  for (const path of ['server/dist', 'server/platform/rest', 'node_modules/vite/bin']) mkdirSync(join(folder, path), { recursive: true })
  for (const name of ['package-lock.json', 'server/main.ts', 'server/platform/rest/route.ts']) writeFileSync(join(folder, name), name)
  const vite = "require('node:fs').appendFileSync('server/dist/builds', 'built\\n')"
  writeFileSync(join(folder, 'node_modules/vite/bin/vite.js'), vite)
  return folder
}

/** Builds the server if necessary and returns the number of builds so far. */
function ensure(folder: string): number {
  const code = `const { ensureBuilt } = await import('${script}'); ensureBuilt('server')`
  execFileSync(process.execPath, ['--input-type=module', '--eval', code], { cwd: folder, stdio: ['ignore', 'inherit', 'ignore'] })
  return readFileSync(join(folder, 'server/dist/builds'), 'utf8').trim().split('\n').length
}

it('builds again only after a source changes', () => {
  const folder = sources()
  expect([ensure(folder), ensure(folder)]).toEqual([1, 1])
  const path = join(folder, 'server/platform/rest/route.ts')
  const { atime, mtime } = statSync(path)
  writeFileSync(path, readFileSync(path, 'utf8').toUpperCase())
  utimesSync(path, atime, mtime) // the file keeps its size and modification time
  expect([ensure(folder), ensure(folder)]).toEqual([2, 2])
  writeFileSync(join(folder, 'server/more.ts'), 'more')
  expect([ensure(folder), ensure(folder)]).toEqual([3, 3])
  rmSync(join(folder, 'server/more.ts'))
  expect([ensure(folder), ensure(folder)]).toEqual([4, 4])
})

it('does not build again if the same sources are copied or rewritten', () => {
  const folder = sources()
  ensure(folder)
  const copy = mkdtempSync(join(tmpdir(), 'snug-build-'))
  onTestFinished(() => rmSync(copy, { recursive: true }))
  cpSync(folder, copy, { recursive: true })
  expect([ensure(copy), ensure(copy)]).toEqual([1, 1])
  const path = join(folder, 'server/main.ts')
  writeFileSync(path, readFileSync(path))
  expect([ensure(folder), ensure(folder)]).toEqual([1, 1])
})
