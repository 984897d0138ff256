import { expect, it } from 'vitest'
import type { Page } from 'playwright-core'
import { openPage, settled } from '../support/browser.ts'
import { consoleApp, publishTo, startSession } from '../support/console.ts'
import { expectSound } from '../support/looks.ts'

/** Returns the approximate accessible name of the focused element. */
const focused = (page: Page) =>
  page.evaluate<string>(
    '(e => e.getAttribute("aria-label") || e.labels?.[0]?.textContent.trim() || e.textContent.trim() || e.tagName)(document.activeElement)',
  )

/** Returns the tag and text of the focused element, which distinguishes a heading from a link with the same text. */
const focusedHeading = (page: Page) => page.evaluate<string>('document.activeElement.tagName + document.activeElement.textContent.trim()')

/** Presses Tab until the element with the given name has the focus. */
async function tabTo(page: Page, name: string) {
  for (let presses = 0; presses < 30; presses++) {
    await page.keyboard.press('Tab')
    if ((await focused(page)) === name) return
  }
  throw new Error(`Tab does not reach ${name}.`)
}

it('signs in, creates a token and revokes it without a mouse', async () => {
  await using app = await consoleApp()
  const { email } = await app.member()
  const page = await openPage(app.url)
  await page.goto('/settings/tokens')
  await page.getByLabel('E-mail address').waitFor()
  await expect.poll(() => focused(page)).toBe('E-mail address')
  await page.keyboard.type(email)
  await tabTo(page, 'Password')
  await page.keyboard.type('correct horse')
  await page.keyboard.press('Enter')

  await page.getByRole('row', { name: /test/ }).waitFor()
  await expect.poll(() => focused(page)).toBe('Access tokens') // the heading of the page
  await tabTo(page, 'New token')
  await page.keyboard.press('Enter')
  await expect.poll(() => focused(page)).toMatch(/^Use on my machine/)
  await page.keyboard.press('ArrowDown')
  await expect.poll(() => focused(page)).toMatch(/^Publish from CI/)
  await tabTo(page, 'Name')
  await page.keyboard.type('laptop')
  await tabTo(page, 'Create token')
  await page.keyboard.press('Enter')

  await page.getByRole('dialog', { name: 'Save your token now' }).waitFor()
  await page.keyboard.press('Escape') // must not lose the secret
  await tabTo(page, 'Copy token')
  await page.keyboard.press('Enter')
  await page.getByText('Copied token.').waitFor({ state: 'attached' })
  await tabTo(page, 'Done')
  await page.keyboard.press('Enter')
  await page.getByRole('row', { name: /laptop/ }).waitFor()
  await expect.poll(() => focused(page)).toBe('Access tokens')

  await tabTo(page, 'Revoke laptop')
  await page.keyboard.press('Enter')
  await expect.poll(() => focused(page)).toBe('Cancel')
  await tabTo(page, 'Revoke token')
  await page.keyboard.press('Enter')
  await page.getByRole('alertdialog').waitFor({ state: 'hidden' }) // the dialog hides the rows behind it
  await page.getByRole('row', { name: /test/ }).waitFor()
  await page.getByRole('row', { name: /laptop/ }).waitFor({ state: 'hidden' })
  await expect.poll(() => focused(page)).toBe('Access tokens')
  await page.getByText('Revoked the token laptop.').waitFor({ state: 'attached' })
})

it('does not steal the focus when the user types while the next page loads', async () => {
  await using app = await consoleApp()
  const admin = await app.admin()
  const page = await openPage(app.url)
  await startSession(page, app.url, admin.email)
  await page.goto('/admin/names')
  await page.getByLabel('Search packages').waitFor()
  const { promise: arrives, resolve: arrive } = Promise.withResolvers<void>()
  await page.route(/jobs-page.*\.js/, async (route) => {
    await arrives
    await route.continue()
  })
  await page.getByRole('link', { name: 'Jobs', exact: true }).click()
  await page.keyboard.press('/')
  await page.keyboard.type('ret')
  arrive()
  await page.getByRole('heading', { name: 'Jobs' }).waitFor()
  await settled(page)
  await page.keyboard.type('ry')
  await expect.poll(() => page.getByLabel('Search packages').inputValue()).toBe('retry')

  await page.getByRole('link', { name: 'Names', exact: true }).click()
  await page.getByRole('heading', { name: 'Names', level: 1 }).waitFor()
  await expect.poll(() => focusedHeading(page)).toBe('H1Names')
})

it('restores the focus to a button that was disabled during its request, also in a dialog', async () => {
  await using app = await consoleApp()
  const admin = await app.admin()
  await publishTo(app.url, admin.secret ?? '', { name: 'paint', version: '1.0.0' })
  const page = await openPage(app.url, { tolerate: [/status of 400/] })
  await startSession(page, app.url, admin.email)
  await page.goto('/packages/paint')
  await page.getByRole('button', { name: 'Like paint' }).press('Enter')
  await page.getByRole('button', { name: 'Like paint', pressed: true }).waitFor()
  await expect.poll(() => focused(page)).toMatch(/^Like paint:/)

  await page.goto('/settings/profile')
  await page.getByLabel('Name').fill('Ada')
  await page.getByRole('button', { name: 'Save' }).press('Enter')
  await page.getByText('Saved', { exact: true }).waitFor()
  await expect.poll(() => page.evaluate('document.activeElement.tagName')).toBe('FORM') // the button stays disabled without unsaved changes
  await tabTo(page, 'Name')

  await page.goto('/admin/publishers?new=1')
  const dialog = page.getByRole('dialog')
  await dialog.getByLabel('Name').fill('Acme')
  await dialog.getByLabel('Identifier').fill('acme.dev')
  const { promise: arrives, resolve: arrive } = Promise.withResolvers<void>()
  await page.route('**/graphql', async (route) => {
    await arrives
    await route.continue()
  })
  await dialog.getByRole('button', { name: 'Create publisher' }).press('Enter')
  await expect.poll(() => page.evaluate('document.activeElement.role')).toBe('dialog')
  arrive()
  await expect.poll(() => focused(page)).toBe('Identifier') // the server rejects this field
  await page.unrouteAll({ behavior: 'wait' })
})

it('opens a menu of the header with the first key or click, also while it is loading, and returns the focus', async () => {
  await using app = await consoleApp()
  const { email } = await app.member()
  const page = await openPage(app.url)
  await startSession(page, app.url, email)
  const { promise: arrives, resolve: arrive } = Promise.withResolvers<void>()
  await page.route(/\/assets\/menus-[^/]+\.js$/, async (route) => {
    await arrives
    await route.continue()
  })
  await page.goto('/settings/tokens')
  const account = page.getByRole('button', { name: /^Account/, includeHidden: true }) // an open menu hides the page
  await account.press('Enter')
  expect(await account.getAttribute('aria-expanded')).toBe('false')
  arrive()
  await page.getByRole('menu').waitFor()
  expect(await account.getAttribute('aria-expanded')).toBe('true')
  expect(await page.getByRole('menu').getAttribute('aria-labelledby')).toBe(await account.getAttribute('id'))
  await expect.poll(() => focused(page)).toBe('My packages')
  await page.keyboard.press('Escape')
  await page.getByRole('menu').waitFor({ state: 'hidden' })
  await expect.poll(() => focused(page)).toMatch(/^Account/)

  await page.reload()
  const theme = page.getByRole('button', { name: 'Theme' })
  await theme.click()
  await page.getByRole('menuitemcheckbox', { name: 'Dark' }).click()
  await page.locator('html.dark').waitFor()
  await theme.press('ArrowDown')
  await expect.poll(() => focused(page)).toBe('Light')
})

it('has a skip link, and shortcuts that can be disabled', async () => {
  await using app = await consoleApp()
  const { email } = await app.member()
  const page = await openPage(app.url)
  await page.goto('/login?redirect=/settings/tokens')
  await page.getByLabel('E-mail address').fill(email)
  await page.getByRole('textbox', { name: 'Password' }).fill('correct horse')
  await page.keyboard.press('Enter')
  await page.getByRole('row', { name: /test/ }).waitFor()
  await page.reload()
  await page.getByRole('row', { name: /test/ }).waitFor()
  await page.keyboard.press('Tab')
  await expect.poll(() => focused(page)).toBe('Skip to content')
  await expect.poll(() => page.evaluate('getComputedStyle(document.activeElement).padding')).toBe('8px 12px')
  await page.keyboard.press('Enter')
  await expect.poll(() => page.evaluate('document.activeElement.tagName')).toBe('MAIN')

  await page.keyboard.press('?')
  await page.getByRole('dialog', { name: 'Keyboard shortcuts' }).waitFor()
  await page.getByRole('switch', { name: 'Single-key shortcuts' }).press('Space')
  await page.keyboard.press('Escape')
  await page.getByRole('dialog').waitFor({ state: 'hidden' })
  await settled(page) // the dialog has restored the focus
  await page.keyboard.press('/')
  await settled(page)
  expect(await focused(page)).not.toBe('Search packages')
  await page.keyboard.press('Control+k')
  await page.getByRole('dialog', { name: 'Command palette' }).waitFor()
})

it('starts at the skip link on pages with a navigation, also if its current entry is out of view', async () => {
  await using app = await consoleApp()
  const admin = await app.admin()
  const page = await openPage(app.url, { viewport: { width: 1440, height: 400 } })
  await startSession(page, app.url, admin.email)
  await page.goto('/admin/settings/registry')
  await page.getByLabel('Description').waitFor()
  await settled(page)
  const entry = page.getByRole('navigation', { name: 'Administration' }).getByRole('link', { name: 'Registry' })
  expect(await entry.evaluate((link) => link.getBoundingClientRect().bottom)).toBeLessThanOrEqual(400)
  await page.keyboard.press('Tab')
  expect(await focused(page)).toBe('Skip to content')

  // A link that disappears with an empty list leaves the focus on the heading.
  await page.goto('/admin/jobs?state=FAILED')
  await page.getByRole('link', { name: 'Show all jobs' }).press('Enter')
  await page.getByText('No jobs found').waitFor({ state: 'hidden' })
  await expect.poll(() => focusedHeading(page)).toBe('H1Jobs')
})

it('reports a save for a moment, and undoes it', async () => {
  await using app = await consoleApp()
  const alice = await app.member()
  await publishTo(app.url, alice.secret ?? '', { name: 'acme', version: '1.0.0' })
  const page = await openPage(app.url)
  await startSession(page, app.url, alice.email)
  await page.goto('/packages/acme/admin')
  await page.getByRole('switch', { name: 'Unlisted' }).click()
  await page.getByRole('button', { name: 'Save options' }).click()
  await page.getByText('Saved the options of acme.').first().waitFor()
  await page.getByRole('button', { name: 'Undo' }).focus() // keeps the message
  await expectSound(page, 'toast')
  const isUnlisted = async () => (await alice.get('/api/packages/acme/options')).body.isUnlisted as boolean
  expect(await isUnlisted()).toBe(true)
  await page.getByRole('button', { name: 'Undo' }).click()
  await expect.poll(isUnlisted).toBe(false)
  await expect.poll(() => page.getByRole('switch', { name: 'Unlisted' }).isChecked()).toBe(false)
})

it('shows every page in the administration navigation without horizontal scrolling, collapsed on mobile', async () => {
  await using app = await consoleApp()
  const page = await openPage(app.url)
  await startSession(page, app.url, (await app.owner()).email)
  await page.goto('/admin/jobs')
  const pages = page.getByRole('navigation', { name: 'Administration' })
  const current = () => pages.locator('[aria-current]').allTextContents()
  await pages.getByRole('link', { name: 'Ownership' }).waitFor()
  expect(await pages.getByRole('link').count()).toBe(20)
  expect(await pages.evaluate((nav) => nav.scrollWidth - nav.clientWidth)).toBe(0)
  expect(await current()).toEqual(['Jobs'])

  await page.setViewportSize({ width: 390, height: 844 })
  await page.reload()
  await page.getByRole('heading', { name: 'Jobs' }).waitFor()
  expect(await pages.getByRole('link').count()).toBe(0)
  await tabTo(page, 'Administration')
  await page.keyboard.press('Enter')
  await tabTo(page, 'SDKs')
  await page.keyboard.press('Escape')
  await expect.poll(() => focused(page)).toBe('Administration')
  await expect.poll(() => pages.getByRole('link').count()).toBe(0)
  await page.keyboard.press('Enter')
  await tabTo(page, 'SDKs')
  await page.keyboard.press('Enter')
  await expect.poll(() => focusedHeading(page)).toBe('H1SDKs')
  await expect.poll(() => pages.getByRole('link').count()).toBe(0)
})
