import { expect, it } from 'vitest'
import { openPage, settled } from '../support/browser.ts'
import { consoleApp, publishTo, startSession } from '../support/console.ts'

it.each([
  ['packages', '/packages/acme', 'acme 1.0.0'],
  ['publishers', '/publishers/acme', 'Acme'],
  ['access_tokens', '/admin/users/{admin}', 'Adam Admin'],
])('shows an error, not a missing page, when reading from %s fails', async (table, path, title) => {
  await using app = await consoleApp()
  const admin = await app.admin({ displayName: 'Adam Admin' })
  await publishTo(app.url, admin.secret ?? '', { name: 'acme', version: '1.0.0' })
  await admin.post('/api/publishers', { id: 'acme', displayName: 'Acme' })
  const page = await openPage(app.url, { tolerate: [/status of 500/] })
  await startSession(page, app.url, admin.email)
  const rename = (from: string, to: string) => app.services.database.fork().execute(`alter table ${from} rename to ${to}`)
  await rename(table, 'away')
  await page.goto(path.replace('{admin}', admin.id))
  const failure = page.getByRole('main').getByRole('alert').filter({ hasText: 'InternalError' })
  await failure.waitFor()
  await settled(page)
  expect(await page.getByText('NotFound').count()).toBe(0)
  await rename('away', table)
  await failure.getByRole('button', { name: 'Retry' }).click()
  await page.getByRole('heading', { name: title, level: 1 }).waitFor()
  await failure.waitFor({ state: 'detached' })
})
