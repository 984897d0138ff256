import type { Page } from 'playwright-core'
import { describe, expect, it } from 'vitest'
import { openPage, settled } from '../support/browser.ts'
import { consoleApp, publishTo, startSession } from '../support/console.ts'

/** Returns the value of a filter in the URL. */
const filterInUrl = (page: Page, name: string) => new URL(page.url()).searchParams.get(name)
const hasFocus = (element: Element) => element === document.activeElement

describe('text filters', () => {
  it.each([
    ['/admin/users', 'Filter by name or e-mail address', 'q', 'mona', 'Mona Member'],
    ['/admin/packages', 'Filter by name', 'q', 'http', 'acme_http'],
    ['/admin/scoring', 'Filter by package', 'package', 'acme_http', ''],
    ['/packages/acme_http/versions', 'Filter', 'filter', '1.0', '1.0.0'],
  ])('applies on %s when typing stops, and keeps the focus and the input', async (path, label, name, words, found) => {
    await using app = await consoleApp()
    const admin = await app.admin({ displayName: 'Adam Admin' })
    await app.member({ displayName: 'Mona Member', email: 'mona@example.com' })
    await publishTo(app.url, admin.secret ?? '', ...['acme_http', 'acme_ui'].map((pkg) => ({ name: pkg, version: '1.0.0' })))
    const page = await openPage(app.url)
    await startSession(page, app.url, admin.email)
    await page.goto(path)
    const field = page.getByRole('main').getByLabel(label, { exact: true })
    await field.pressSequentially(`${words} `)
    await expect.poll(() => filterInUrl(page, name)).toBe(words)
    await settled(page)
    expect(await field.inputValue()).toBe(`${words} `)
    expect(await field.evaluate(hasFocus)).toBe(true)
    if (found) await page.getByRole('main').getByText(found).first().waitFor()
    // Input typed while a request is in flight is kept as well.
    await page.keyboard.press('Backspace')
    await field.pressSequentially('zz')
    await expect.poll(() => filterInUrl(page, name)).toBe(`${words}zz`)
    await field.pressSequentially('y')
    await settled(page)
    await expect.poll(() => filterInUrl(page, name)).toBe(`${words}zzy`)
    expect(await field.inputValue()).toBe(`${words}zzy`)
  })

  it('applies at once on Enter with a single history entry, and is cleared by “Show everyone”', async () => {
    await using app = await consoleApp()
    const page = await openPage(app.url)
    await startSession(page, app.url, (await app.admin()).email)
    await page.clock.install()
    await page.goto('/admin/jobs')
    await page.getByRole('link', { name: 'People' }).click()
    const field = page.getByLabel('Filter by name or e-mail address')
    await field.waitFor()
    await page.clock.pauseAt(Date.now() + 60_000)
    await field.fill('unknown')
    await page.clock.fastForward(200)
    expect(filterInUrl(page, 'q')).toBeNull()
    await field.press('Enter')
    await expect.poll(() => filterInUrl(page, 'q')).toBe('unknown')
    await page.clock.resume()
    await page.goBack()
    await page.getByRole('heading', { name: 'Jobs' }).waitFor()
    await page.goForward()
    await expect.poll(() => field.inputValue()).toBe('unknown')
    await page.getByRole('link', { name: 'Show everyone' }).click()
    await expect.poll(() => field.inputValue()).toBe('')
    expect(filterInUrl(page, 'q')).toBeNull()
    expect(await page.evaluate('document.activeElement.tagName')).toBe('H1') // the link is gone

    // A pending filter neither prevents a navigation nor changes its target.
    await page.getByRole('link', { name: 'Jobs' }).click()
    await page.getByRole('heading', { name: 'Jobs' }).waitFor()
    await page.goBack()
    await field.waitFor()
    await page.clock.pauseAt(Date.now() + 600_000)
    await field.fill('unknown')
    await page.evaluate('history.forward()')
    await expect.poll(() => new URL(page.url()).pathname).toBe('/admin/jobs')
    await page.clock.fastForward(1000)
    await page.getByRole('heading', { name: 'Jobs' }).waitFor()
    expect(new URL(page.url()).search).toBe('')
  })

  it('waits until an input method editor completes a word', async () => {
    await using app = await consoleApp()
    const page = await openPage(app.url)
    await startSession(page, app.url, (await app.admin()).email)
    await page.clock.install()
    await page.goto('/admin/users')
    const field = page.getByRole('main').getByLabel('Filter by name or e-mail address', { exact: true })
    await field.waitFor()
    await settled(page)
    await page.clock.pauseAt(Date.now() + 60_000)
    await field.dispatchEvent('compositionstart')
    await field.fill('ゆ')
    await page.clock.fastForward(1000)
    await field.dispatchEvent('keydown', { key: 'Enter', isComposing: true })
    expect(filterInUrl(page, 'q')).toBeNull()
    await field.dispatchEvent('compositionend')
    await page.clock.fastForward(1000)
    await expect.poll(() => filterInUrl(page, 'q')).toBe('ゆ')
  })
})
