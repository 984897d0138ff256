import type { Page } from 'playwright-core'
import { expect, it } from 'vitest'
import { openPage } from '../support/browser.ts'
import { consoleApp, startSession } from '../support/console.ts'
import { expectSound } from '../support/looks.ts'

it('asks for the password if it was entered too long ago, then continues with the change', async () => {
  await using app = await consoleApp()
  const admin = await app.admin()
  const page = await openPage(app.url, { tolerate: [/status of 40[03]/] })
  await startSession(page, app.url, admin.email)
  app.clock.now = new Date(Date.now() + 11 * 60_000)
  const dialog = await askForToken(page)
  await dialog.waitFor()
  await expectSound(page, 'password-proof')
  await dialog.getByRole('textbox', { name: 'Your password' }).fill('a wrong one')
  await page.keyboard.press('Enter')
  await dialog.getByText('The password is wrong.').waitFor()
  await dialog.getByRole('textbox', { name: 'Your password' }).fill('correct horse')
  await dialog.getByRole('button', { name: 'Confirm' }).click()
  await page.getByText(/^svc_pat_\w{38}$/).waitFor() // the full secret, because existing tokens show only a prefix
  await dialog.waitFor({ state: 'hidden' })
  expect((await admin.get('/api/auth/keys')).body.keys).toHaveLength(2)
})

it('changes nothing when the password is not entered', async () => {
  await using app = await consoleApp()
  const admin = await app.admin()
  const page = await openPage(app.url, { tolerate: [/status of 403/] })
  await startSession(page, app.url, admin.email)
  app.clock.now = new Date(Date.now() + 11 * 60_000)
  const dialog = await askForToken(page)
  await dialog.getByRole('button', { name: 'Cancel' }).click()
  await page.getByRole('alert').getByText('Nothing was changed', { exact: false }).waitFor()
  expect((await admin.get('/api/auth/keys')).body.keys).toHaveLength(1)
})

it('returns the focus to the button that needed the password, also in a dialog', async () => {
  await using app = await consoleApp({ env: { PUBLIC_PACKAGES_ENABLED: 'true' } })
  const admin = await app.admin()
  const page = await openPage(app.url, { tolerate: [/status of 403/] })
  await startSession(page, app.url, admin.email)
  app.clock.now = new Date(Date.now() + 11 * 60_000)
  await page.goto('/admin/public-packages')
  await page.getByRole('button', { name: 'Switch on…' }).click()
  const question = page.getByRole('alertdialog', { name: 'Switch on public packages?' })
  await question.getByRole('button', { name: 'Switch on' }).press('Enter')
  await page.getByRole('dialog', { name: 'Confirm your password' }).waitFor()
  await page.keyboard.press('Escape')
  await question.getByText('Nothing was changed', { exact: false }).waitFor()
  const focused = () => page.evaluate(() => document.activeElement?.textContent.trim())
  await expect.poll(focused).toBe('Switch on')
  await page.keyboard.press('Enter')
  await page.getByRole('textbox', { name: 'Your password' }).fill('correct horse')
  await page.keyboard.press('Enter')
  await expect.poll(focused).toBe('Switch off…')
  expect((await admin.get('/api/admin/public-packages')).body.enabled).toBe(true)
})

/** Requests a token that needs the password first; returns the dialog that asks for it. */
async function askForToken(page: Page) {
  await page.goto('/settings/tokens?new=1')
  await page.getByLabel('Name', { exact: true }).fill('deploy')
  await page.getByRole('radio', { name: 'Administer' }).click()
  await page.getByRole('button', { name: 'Create token' }).click()
  return page.getByRole('dialog', { name: 'Confirm your password' })
}
