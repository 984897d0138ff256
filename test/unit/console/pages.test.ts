import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { type PageIndex, readPageIndex } from '../../../server/platform/console/page-index.ts'
import { consoleRoutes } from '../../support/console-routes.ts'

const folder = mkdtempSync(join(tmpdir(), 'snug-pages-'))
let pages: PageIndex

beforeAll(() => {
  const file = join(folder, 'pages.json')
  const all = consoleRoutes().map((path) => ({ path, files: [], queries: [] }))
  writeFileSync(file, JSON.stringify({ session: { hash: 'x', variables: {} }, pages: all }))
  pages = readPageIndex(file)
})
afterAll(() => rmSync(folder, { recursive: true }))

it('lists every page of the console', () => expect(new Set(consoleRoutes()).size).toBeGreaterThan(40))

it('has no pages before the build', () => expect(readPageIndex(join(folder, 'missing.json')).has('/')).toBe(false))

it.each([
  '/',
  '/packages/',
  '/Packages/acme',
  '/packages/acme/versions/1.0.0+1/install',
  '/admin/users/x',
  '/oauth/consent',
  '/packages/acme/files',
  '/packages/acme/versions/1.0.0/files/lib/src/a.dart',
])('recognizes the page %s', (path) => expect(pages.has(path)).toBe(true))

it.each([
  '/nothing',
  '/packages/acme/nothing',
  '/packages//',
  '/packages/acme/filesystem',
  '/admin/users/x/y',
  '/login/x',
  '/wp-login.php',
  '/.env',
  '//',
])('does not recognize %s as a page', (path) => expect(pages.has(path)).toBe(false))
