import { expect, it } from 'vitest'
import { openPage } from '../support/browser.ts'
import { consoleApp, publishTo, startSession } from '../support/console.ts'
import { expectSound } from '../support/looks.ts'

it('shows reserved and confusable names to administrators, who can free and approve them', async () => {
  await using app = await consoleApp()
  const [alice, admin] = [await app.member(), await app.admin()]
  const archives = ['http_kit', 'http_kits', 'legacy_tools'].map((name) => ({ name, version: '1.0.0' }))
  await publishTo(app.url, alice.secret ?? '', ...archives)
  await admin.delete('/api/admin/packages/legacy_tools')
  const page = await openPage(app.url)
  await startSession(page, app.url, admin.email)
  await page.goto('/packages/http_kits')
  await page.getByText(/name of this package could be confused with http_kit\b/).waitFor()
  await page.getByText('This warning is shown until an administrator of the server approves the name.').waitFor()
  await expectSound(page, 'confusable-name')
  await page.goto('/admin/names')
  await page.getByRole('row', { name: /legacy_tools/ }).waitFor()
  await page.getByRole('row', { name: /http_kits http_kit/ }).waitFor()
  await expectSound(page, 'admin-names')

  await page.getByRole('button', { name: 'Free the name legacy_tools' }).click()
  const dialog = page.getByRole('alertdialog', { name: 'Free the name legacy_tools?' })
  await dialog.getByRole('button', { name: 'Free the name' }).click()
  await page.getByText('No reserved names').waitFor()
  // The button was removed along with its row, so the heading gets the focus.
  const focused = () => page.evaluate(() => document.activeElement?.tagName)
  await expect.poll(focused).toBe('H1')
  await page.getByRole('button', { name: 'Approve http_kits' }).click()
  await page.getByText('No confusable names').waitFor()
  await expect.poll(focused).toBe('H1')
  expect((await admin.get('/api/admin/reserved-names')).body.totalCount).toBe(0)
  await page.goto('/packages/http_kits')
  await page.getByRole('heading', { name: 'http_kits 1.0.0' }).waitFor()
  expect(await page.getByText('could be confused').count()).toBe(0)
})

it('warns readers about a confusable package name, without the part for administrators', async () => {
  await using app = await consoleApp()
  const [alice, bob, admin] = [await app.member(), await app.member(), await app.admin()]
  await publishTo(app.url, alice.secret ?? '', { name: 'http_kit', version: '1.0.0' }, { name: 'http_kit2', version: '1.0.0' })
  await admin.delete('/api/admin/packages/http_kit2')
  await publishTo(app.url, alice.secret ?? '', { name: 'httpkit', version: '1.0.0' })
  const page = await openPage(app.url)
  await startSession(page, app.url, bob.email)
  await page.goto('/packages/httpkit')
  await page.getByText(/could be confused with http_kit, http_kit2 \(deleted\)\. Make sure that it is the package you want\./).waitFor()
  expect(await page.getByText('approves the name').count()).toBe(0)
  await page.getByRole('link', { name: 'http_kit', exact: true }).click()
  await page.getByRole('heading', { name: 'http_kit 1.0.0' }).waitFor()
  expect(await page.getByText('could be confused').count()).toBe(0)
})

it('lists confusable names awaiting approval, and rejects them', async () => {
  await using app = await consoleApp({ env: { CONFUSABLE_NAMES: 'review' } })
  const [alice, admin] = [await app.member(), await app.admin()]
  await publishTo(app.url, alice.secret ?? '', { name: 'http_kit', version: '1.0.0' })
  await expect(publishTo(app.url, alice.secret ?? '', { name: 'http_kits', version: '1.0.0' })).rejects.toThrow(/http_kits/)
  const page = await openPage(app.url)
  await startSession(page, app.url, admin.email)
  await page.goto('/admin/names')
  await page.getByRole('row', { name: /http_kits Awaiting approval http_kit/ }).waitFor()
  await page.getByRole('button', { name: 'Reject http_kits' }).click()
  await page.getByText('No confusable names').waitFor()
  expect((await admin.get('/api/admin/confusable-names')).body.totalCount).toBe(0)
})
