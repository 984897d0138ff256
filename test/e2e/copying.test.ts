import type { Page } from 'playwright-core'
import { expect, it } from 'vitest'
import { openPage } from '../support/browser.ts'
import { consoleApp, startSession } from '../support/console.ts'

const withoutApi = "Object.defineProperty(Navigator.prototype, 'clipboard', { value: undefined })"
const denied = "Clipboard.prototype.writeText = () => Promise.reject(new DOMException('Denied', 'NotAllowedError'))"

/** Creates a token, whose secret is shown once, in a dialog. */
async function newToken(page: Page) {
  await page.goto('/settings/tokens?new=1')
  await page.getByLabel('Name', { exact: true }).fill('laptop')
  await page.getByRole('button', { name: 'Create token' }).click()
  return page.locator('[data-secret]').textContent()
}

/** What is pasted into a field of the dialog. */
async function pasted(page: Page) {
  await page.evaluate(`(() => {
    const field = document.querySelector('[role=dialog]').appendChild(document.createElement('textarea'))
    field.dataset.pasted = ''
    field.focus()
  })()`)
  await page.keyboard.press('Control+V')
  return page.locator('[data-pasted]').inputValue()
}

it.each([
  ['over plain http, where browsers have no clipboard API', withoutApi],
  ['when the browser does not permit it', denied],
])('a token is copied from its dialog %s', async (_, script) => {
  await using app = await consoleApp()
  const { email } = await app.member()
  const page = await openPage(app.url)
  await page.addInitScript(script)
  await startSession(page, app.url, email)
  const secret = await newToken(page)
  await page.getByRole('button', { name: 'Copy token' }).press('Enter')
  await page.getByRole('status').getByText('Copied token.').waitFor()
  expect(await page.getByRole('button', { name: 'Copy token' }).evaluate((button) => button === document.activeElement)).toBe(true)
  expect(await pasted(page)).toBe(secret)
})

it('says when nothing could be copied', async () => {
  await using app = await consoleApp()
  const { email } = await app.member()
  const page = await openPage(app.url)
  await page.addInitScript(`${withoutApi}; Document.prototype.execCommand = () => false`)
  await startSession(page, app.url, email)
  await newToken(page)
  const button = page.getByRole('button', { name: 'Copy token' })
  await button.click()
  await button.getByText('Not copied').waitFor()
  await page.getByText('The browser did not copy token. Select it and copy it with the keyboard.').waitFor()
  expect(await button.textContent()).not.toContain('Copied')
})
