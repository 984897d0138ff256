import type { Page } from 'playwright-core'
import { expect, it } from 'vitest'
import { openPage } from '../support/browser.ts'
import { consoleApp, startSession } from '../support/console.ts'

const withoutApi = "Object.defineProperty(Navigator.prototype, 'clipboard', { value: undefined })"
const denied = "Clipboard.prototype.writeText = () => Promise.reject(new DOMException('Denied', 'NotAllowedError'))"

/** Creates a token. Returns its secret from the dialog that shows it. */
async function newToken(page: Page) {
  await page.goto('/settings/tokens?new=1')
  await page.getByLabel('Name', { exact: true }).fill('laptop')
  await page.getByRole('button', { name: 'Create token' }).click()
  return page.locator('[data-secret]').textContent()
}

/** Adds a text field to the dialog and pastes the clipboard into it. Returns the field. */
async function pasteIntoDialog(page: Page) {
  await page.evaluate(`(() => {
    const dialog = document.querySelector('[data-secret]').closest('[role=dialog]') // the previous dialog may still be closing
    const field = dialog.appendChild(document.createElement('textarea'))
    field.dataset.pasted = ''
    field.focus()
  })()`)
  await page.keyboard.press('Control+V')
  return page.locator('[data-pasted]')
}

it.each([
  ['over plain http, where browsers have no clipboard API', withoutApi],
  ['when the browser does not permit it', denied],
])('copies a token from its dialog %s', async (_, script) => {
  await using app = await consoleApp()
  const { email } = await app.member()
  const page = await openPage(app.url)
  await page.addInitScript(script)
  await startSession(page, app.url, email)
  const secret = await newToken(page)
  const button = page.getByRole('button', { name: 'Copy token' })
  await button.press('Enter')
  await page.getByRole('status').getByText('Copied token.').waitFor()
  await expect.poll(() => button.evaluate((element) => element === document.activeElement)).toBe(true)
  const field = await pasteIntoDialog(page)
  await expect.poll(() => field.inputValue()).toBe(secret)
})

it('reports that copying failed', async () => {
  await using app = await consoleApp()
  const { email } = await app.member()
  const page = await openPage(app.url)
  await page.addInitScript(`${withoutApi}; Document.prototype.execCommand = () => false`)
  await startSession(page, app.url, email)
  await newToken(page)
  const button = page.getByRole('button', { name: 'Copy token' })
  await Promise.all([button.getByText('Not copied').waitFor(), button.click()]) // the text is shown for two seconds
  await page.getByText('The browser did not copy token. Select it and copy it with the keyboard.').waitFor()
  expect(await button.textContent()).not.toContain('Copied')
})
