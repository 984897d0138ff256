import type { Page } from 'playwright-core'
import { expect, it } from 'vitest'
import { openPage, settled } from '../support/browser.ts'
import { consoleApp, publishTo, startSession } from '../support/console.ts'
import { expectSound } from '../support/looks.ts'

const files = { 'example/example.md': '# How to\n' }

/** Opens the menu with the keyboard and waits for the first versions. */
async function openMenu(page: Page) {
  await settled(page)
  await page.getByRole('button', { name: /switch version$/ }).press('Enter')
  await page.getByRole('option').first().waitFor()
  await settled(page)
}

it('lists all versions page by page and finds them, and marks the latest, pre-releases and retracted ones', async () => {
  await using app = await consoleApp()
  const alice = await app.member()
  const numbers = ['0.1.0', ...Array.from({ length: 60 }, (_, index) => `1.${index}.0`), '2.0.0-dev.1']
  await publishTo(app.url, alice.secret ?? '', ...numbers.map((version) => ({ name: 'acme', version })))
  await alice.put('/api/packages/acme/versions/1.58.0/options', { isRetracted: true })
  const page = await openPage(app.url)
  await startSession(page, app.url, alice.email)
  await page.goto('/packages/acme')
  await openMenu(page)
  await page.getByRole('option', { name: /^2\.0\.0-dev\.1 *Pre-release/ }).waitFor()
  await page.getByRole('option', { name: /^1\.59\.0 *Latest/, selected: true }).waitFor()
  await page.getByRole('option', { name: /^1\.58\.0 *Retracted/ }).waitFor()
  const options = page.getByRole('option')
  expect(await options.count()).toBe(50)
  await options.last().scrollIntoViewIfNeeded()
  await expect.poll(() => options.count()).toBe(62)
  await page.keyboard.type('9.9')
  await page.getByText('No version matches “9.9”.').waitFor()
  for (let key = 0; key < 3; key++) await page.keyboard.press('Backspace')
  await page.keyboard.type('0.1')
  await expect.poll(() => options.allInnerTexts()).toEqual([expect.stringMatching(/^1\.0\.1|^0\.1\.0/)])
  await page.keyboard.press('Enter')
  await page.waitForURL('**/packages/acme/versions/0.1.0')
  await page.getByRole('heading', { level: 1, name: 'acme 0.1.0' }).waitFor()
})

it('keeps the tab if the other version has it, and otherwise shows its readme', async () => {
  await using app = await consoleApp()
  const alice = await app.member()
  const versions = ['1.0.0', '1.1.0', '1.2.0'].map((version) => ({ name: 'acme', version, files }))
  await publishTo(app.url, alice.secret ?? '', { name: 'acme', version: '0.1.0' }, ...versions)
  const page = await openPage(app.url)
  await startSession(page, app.url, alice.email)
  await page.goto('/packages/acme/example')
  await openMenu(page)
  await expectSound(page, 'version-menu')
  await page.getByRole('option', { name: '1.0.0' }).click()
  await page.waitForURL('**/packages/acme/versions/1.0.0/example')
  await page.getByRole('heading', { name: 'How to' }).waitFor()
  await openMenu(page)
  await page.getByRole('option', { name: '1.2.0' }).click()
  await page.waitForURL('**/packages/acme/example')
  await openMenu(page)
  await page.getByRole('option', { name: '0.1.0' }).click()
  await page.waitForURL('**/packages/acme/versions/0.1.0')
})

it('shows the message of the server when the versions cannot be listed, and retries', async () => {
  await using app = await consoleApp()
  const alice = await app.member()
  await publishTo(app.url, alice.secret ?? '', { name: 'acme', version: '1.0.0' })
  const page = await openPage(app.url, { tolerate: [/status of 503|ERR_FAILED/] })
  await startSession(page, app.url, alice.email)
  await page.goto('/packages/acme')
  await page.route('**/graphql', (route) => (/VersionMenu/.test(route.request().postData() ?? '') ? route.abort() : route.continue()))
  await page.getByRole('button', { name: /switch version$/ }).click()
  await page.getByText('The server did not respond.').waitFor()
  await page.unroute('**/graphql')
  await page.getByRole('button', { name: 'Retry' }).click()
  await page.getByRole('option', { name: '1.0.0' }).waitFor()
  expect(await page.getByRole('alert').count()).toBe(0)
})
