import { expect, it } from 'vitest'
import { openPage } from '../support/browser.ts'
import { consoleApp, publishTo, signIn } from '../support/console.ts'
import { expectSound } from '../support/looks.ts'

it('shows administrators reserved and confusable names, and lets them decide', async () => {
  await using app = await consoleApp()
  const [alice, admin] = [await app.member(), await app.admin()]
  const archives = ['http_kit', 'http_kits', 'legacy_tools'].map((name) => ({ name, version: '1.0.0' }))
  await publishTo(app.url, alice.secret ?? '', ...archives)
  await admin.delete('/api/admin/packages/legacy_tools')
  const page = await openPage(app.url)
  await signIn(page, app.url, admin.email)
  await page.goto('/packages/http_kits')
  await page.getByText(/name of this package could be confused with http_kit\b/).waitFor()
  await page.goto('/admin/names')
  await page.getByRole('row', { name: /legacy_tools/ }).waitFor()
  await page.getByRole('row', { name: /http_kits http_kit/ }).waitFor()
  await expectSound(page, 'admin-names')

  await page.getByRole('button', { name: 'Free the name legacy_tools' }).click()
  const dialog = page.getByRole('alertdialog', { name: 'Free the name legacy_tools?' })
  await dialog.getByRole('button', { name: 'Free the name' }).click()
  await page.getByText('No name is reserved').waitFor()
  // The button is gone with its row, so the heading has the focus.
  const focused = () => page.evaluate(() => document.activeElement?.tagName)
  await expect.poll(focused).toBe('H1')
  await page.getByRole('button', { name: 'Approve http_kits' }).click()
  await page.getByText('No name is in doubt').waitFor()
  await expect.poll(focused).toBe('H1')
  expect((await admin.get('/api/admin/reserved-names')).body.totalCount).toBe(0)
  await page.goto('/packages/http_kits')
  await page.getByRole('heading', { name: 'http_kits 1.0.0' }).waitFor()
  expect(await page.getByText('could be confused').count()).toBe(0)
})
