import { expect, it } from 'vitest'
import { openPage, settled } from '../support/browser.ts'
import { consoleApp, publishTo, startSession } from '../support/console.ts'

it('suggests similar names for a missing package, and offers administrators to restore a deleted one', async () => {
  await using app = await consoleApp()
  const [admin, member] = [await app.admin({ displayName: 'Adam Admin' }), await app.member()]
  await publishTo(app.url, admin.secret ?? '', { name: 'acme_client', version: '1.0.0' }, { name: 'acme_gone', version: '1.0.0' })
  expect((await admin.delete('/api/admin/packages/acme_gone')).status).toBe(200)
  const tolerate = [/status of 404 .*\/packages\/acme_(cleint|gone)/]
  const page = await openPage(app.url, { tolerate })
  await startSession(page, app.url, admin.email)
  await page.goto('/packages/acme_gone')
  await page.getByText(/acme_gone was deleted .* by Adam Admin\./).waitFor()
  app.clock.now = new Date(Date.now() + 8 * 86_400_000)
  await startSession(page, app.url, admin.email)
  await page.goto('/packages/acme_gone')
  await page.getByText(/The package was deleted .* by Adam Admin, and\s+its name is reserved\./).waitFor()
  await page.goto('/packages/acme_cleint')
  await page.getByText('Package acme_cleint does not exist on this server.').waitFor()
  await page.getByRole('main').getByRole('link', { name: 'acme_client' }).click()
  await page.getByRole('heading', { name: 'acme_client 1.0.0' }).waitFor()

  const other = await openPage(app.url, { tolerate })
  await startSession(other, app.url, member.email)
  await other.goto('/packages/acme_gone')
  await other.getByText('Package acme_gone does not exist on this server.').waitFor()
  await settled(other)
  expect(await other.getByText('reserved').count()).toBe(0)
})
