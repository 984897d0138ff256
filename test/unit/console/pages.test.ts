import { expect, it } from 'vitest'
import { consolePages, isConsolePage } from '../../../server/platform/console/serve.ts'
import { consoleRoutes } from '../../support/console-routes.ts'

it('lists exactly the pages of the console', () => {
  const routes = new Set(consoleRoutes())
  expect(routes.size).toBeGreaterThan(40)
  expect([...consolePages].toSorted()).toEqual([...routes].toSorted())
})

it.each([
  '/',
  '/packages/',
  '/Packages/acme',
  '/packages/acme/versions/1.0.0+1/install',
  '/admin/users/x',
  '/oauth/consent',
  '/packages/acme/files',
  '/packages/acme/versions/1.0.0/files/lib/src/a.dart',
])('recognizes the page %s', (path) => expect(isConsolePage(path)).toBe(true))

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
])('does not recognize %s as a page', (path) => expect(isConsolePage(path)).toBe(false))
