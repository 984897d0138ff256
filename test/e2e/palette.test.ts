import type { Page } from 'playwright-core'
import { expect, it } from 'vitest'
import { openPage, settled } from '../support/browser.ts'
import { consoleApp, publishTo, startSession } from '../support/console.ts'
import { expectSound } from '../support/looks.ts'

function paletteOf(page: Page) {
  const palette = page.getByRole('dialog', { name: 'Command palette' })
  const type = async (text: string) => {
    await page.keyboard.press('Control+k')
    await palette.locator('input:focus').waitFor()
    await page.keyboard.type(text)
  }
  const highlighted = (text: string) => palette.locator('[role=option][data-highlighted]', { hasText: text })
  return { palette, type, highlighted }
}

it('finds packages, people, pages and actions in the command palette', async () => {
  await using app = await consoleApp()
  const [owner, alice] = [await app.owner(), await app.member({ displayName: 'Alice Anders', email: 'alice@example.com' })]
  await publishTo(app.url, alice.secret ?? '', { name: 'acme_http', version: '1.0.0' })
  const page = await openPage(app.url)
  await startSession(page, app.url, owner.email)
  await page.goto('/help')
  await page.getByRole('heading', { level: 1 }).waitFor() // before the page knows the account, it has nothing to find
  await settled(page)
  const { palette, type, highlighted } = paletteOf(page)
  await type('acme')
  await palette.getByRole('option', { name: 'acme_http', exact: true }).waitFor()
  await expectSound(page, 'command-palette')
  await highlighted('acme_http').waitFor()
  await page.keyboard.press('Enter')
  await page.waitForURL('**/packages/acme_http')
  await type('alice')
  await palette.getByRole('option', { name: /^Alice Anders/ }).click()
  await page.waitForURL(`**/admin/users/${alice.id}`)
  await type('audit')
  await palette.getByRole('option', { name: /^Audit log/ }).click()
  await page.waitForURL('**/admin/audit')
  await type('dark theme')
  await highlighted('dark theme').waitFor()
  await page.keyboard.press('Enter')
  await page.locator('html.dark').waitFor()
  await type('sign out')
  await highlighted('Sign out').waitFor()
  await page.keyboard.press('Enter')
  await page.waitForURL('**/login')
  await page.keyboard.press('Control+k')
  await settled(page)
  expect(await palette.count()).toBe(0) // nothing to find without signing in
})

it('can be opened again while it closes, without former results', async () => {
  await using app = await consoleApp()
  const { email, secret } = await app.member()
  await publishTo(app.url, secret ?? '', { name: 'acme_http', version: '1.0.0' })
  const page = await openPage(app.url, { reducedMotion: 'no-preference' })
  await startSession(page, app.url, email)
  await page.goto('/help')
  await settled(page)
  const { palette, type, highlighted } = paletteOf(page)
  await type('acme')
  await highlighted('acme_http').waitFor()
  await page.evaluate(`{
    const slow = new CSSStyleSheet()
    slow.replaceSync('[role=dialog][data-state=closed] { animation-duration: 600s !important }')
    document.adoptedStyleSheets.push(slow)
  }`)
  await page.keyboard.press('Enter')
  await page.waitForURL('**/packages/acme_http')
  await page.locator('h1:focus').waitFor()
  expect(await page.locator('[role=dialog][data-state=closed]').count()).toBe(1)
  await page.keyboard.press('Control+k')
  await palette.locator('input:focus').waitFor()
  await palette.getByRole('option', { name: 'My packages' }).waitFor()
  expect(await palette.getByRole('option', { name: 'acme_http' }).count()).toBe(0)
  await page.keyboard.type('liked')
  await highlighted('Liked packages').waitFor()
  await page.keyboard.press('Enter')
  await page.waitForURL('**/me/liked')
})
