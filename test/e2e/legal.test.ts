import type { Page } from 'playwright-core'
import { expect, it } from 'vitest'
import { announceSetupCode } from '../../server/accounts/setup/service.ts'
import { openPage, screenshot } from '../support/browser.ts'
import { consoleApp, startSession } from '../support/console.ts'
import { expectSound } from '../support/looks.ts'

const editor = (page: Page) => page.getByRole('textbox', { name: /in Markdown/ })

it('shows the legal pages without signing in, before and after the setup', async () => {
  await using fresh = await consoleApp({ setUp: false })
  await announceSetupCode(fresh.services)
  const page = await openPage(fresh.url, { tolerate: [/status of 403/] })
  await page.goto('/privacy')
  await page.getByRole('heading', { name: 'What is stored' }).waitFor()
  await page.getByRole('link', { name: 'Terms', exact: true }).click()
  await page.getByRole('heading', { name: 'No warranty' }).waitFor()
  expect(new URL(page.url()).pathname).toBe('/terms')

  await using app = await consoleApp()
  await (await app.owner()).put('/api/admin/legal/terms', { markdown: '# Server rules\n\nBe kind.' })
  const guest = await openPage(app.url)
  await guest.goto('/terms')
  await guest.getByRole('heading', { name: 'Server rules' }).waitFor()
  await guest.getByText(/Last changed/).waitFor()
  expect(await guest.getByRole('heading', { level: 1 }).allTextContents()).toEqual(['Server rules'])
  await guest.goto('/privacy')
  await guest.getByRole('heading', { name: 'Cookies' }).waitFor()
  expect(await guest.getByRole('heading', { level: 1 }).allTextContents()).toEqual(['Privacy policy'])
  await expectSound(guest, 'privacy')
  // A text without a leading heading gets the default title.
  await (await app.owner()).put('/api/admin/legal/terms', { markdown: 'Be kind.\n\n## To whom' })
  await guest.goto('/terms')
  await guest.getByRole('heading', { name: 'To whom' }).waitFor()
  expect(await guest.getByRole('heading', { level: 1 }).allTextContents()).toEqual(['Terms of use'])
})

it('shows the title of the page when its text cannot be loaded, and retries', async () => {
  await using app = await consoleApp()
  const page = await openPage(app.url, { tolerate: [/Failed to load resource/] })
  await page.route('**/graphql', (route) => route.abort())
  await page.goto('/privacy')
  await page.getByRole('heading', { name: 'Privacy policy' }).waitFor()
  await page.getByRole('alert').getByText('The server did not respond').waitFor()
  await screenshot(page, 'privacy-unreachable')
  expect(await page.getByRole('heading', { level: 1 }).count()).toBe(1)
  await page.unroute('**/graphql')
  await page.getByRole('button', { name: 'Retry' }).click()
  await page.getByRole('heading', { name: 'What is stored' }).waitFor()
})

it('allows the owner to edit, preview, compare and restore the text', async () => {
  await using app = await consoleApp()
  const owner = await app.owner()
  const page = await openPage(app.url, { tolerate: [/status of 400/] })
  await startSession(page, app.url, owner.email)
  await page.goto('/admin/settings/legal')
  await editor(page).waitFor()
  await page.getByText('The built-in text', { exact: true }).waitFor()
  expect(await page.getByRole('button', { name: 'Save' }).isDisabled()).toBe(true)

  const text = await editor(page).inputValue()
  await editor(page).fill(text.replace('**Who is responsible:**', '**Acme Ltd** runs this server.\n\n**Who is responsible:**'))
  await page.getByRole('button', { name: 'Preview' }).click()
  await page.getByRole('article').getByText('Acme Ltd').waitFor()
  await page.getByRole('button', { name: 'Compared with the built-in text' }).click()
  await page.getByRole('insertion').getByText('**Acme Ltd** runs this server.').waitFor()
  await expectSound(page, 'legal-changes')

  // Leaving the page with unsaved changes requires a confirmation.
  await page.getByRole('link', { name: 'Terms of use' }).click()
  const leaving = page.getByRole('alertdialog', { name: 'Leave without saving?' })
  await leaving.getByRole('button', { name: 'Cancel' }).click()
  await leaving.waitFor({ state: 'hidden' })
  expect(new URL(page.url()).pathname).toBe('/admin/settings/legal')
  await page.getByRole('button', { name: 'Save' }).click()
  await page.getByText(/Custom text, changed/).waitFor()
  expect((await app.anonymous.get('/api/legal/privacy')).body).toMatchObject({
    isCustom: true,
    markdown: expect.stringContaining('Acme Ltd'),
  })

  await page.getByRole('button', { name: 'Edit' }).click()
  await editor(page).fill('é'.repeat(131_073))
  await page.getByText('262,146 of 262,144 bytes: too long to save').waitFor()
  expect(await page.getByRole('button', { name: 'Save' }).isDisabled()).toBe(true)
  await page.getByRole('button', { name: 'Discard changes' }).click()
  await expectSound(page, 'legal-edit')

  await page.getByRole('button', { name: 'Restore the built-in text' }).click()
  await page.getByRole('alertdialog').getByRole('button', { name: 'Restore' }).click()
  await page.getByText('The built-in text', { exact: true }).waitFor()
  expect((await app.anonymous.get('/api/legal/privacy')).body.isCustom).toBe(false)
  await expect.poll(() => editor(page).inputValue()).toBe(text)
})

it('allows the owner to discard unsaved changes, and shows other administrators the text read-only', async () => {
  await using app = await consoleApp()
  const [owner, admin] = [await app.owner(), await app.admin()]
  const page = await openPage(app.url)
  await startSession(page, app.url, owner.email)
  await page.goto('/admin/settings/legal')
  await editor(page).fill('Half a sentence')
  await page.getByRole('link', { name: 'People' }).click()
  await page.getByRole('alertdialog').getByRole('button', { name: 'Leave' }).click()
  await page.getByRole('heading', { name: 'People' }).waitFor()

  const other = await openPage(app.url)
  await startSession(other, app.url, admin.email)
  await other.goto('/admin/settings/legal/terms')
  await other.getByText('Only the owner of this server can change the legal pages').waitFor()
  expect(await editor(other).getAttribute('readonly')).not.toBeNull()
  expect(await other.getByRole('button', { name: 'Save' }).count()).toBe(0)
  await other.getByRole('button', { name: 'Preview' }).click()
  await other.getByRole('heading', { name: 'No warranty' }).waitFor()
  await expectSound(other, 'legal-read-only')
})
