import type { Page } from 'playwright-core'
import { describe, expect, it } from 'vitest'
import { openPage, settled } from '../support/browser.ts'
import { consoleApp, publishTo, startSession } from '../support/console.ts'

/** What the address says of a filter. */
const inAddress = (page: Page, name: string) => new URL(page.url()).searchParams.get(name)
const hasFocus = (element: Element) => element === document.activeElement

describe('filters that are typed', () => {
  it.each([
    ['/admin/users', 'Filter by name or e-mail address', 'q', 'mona', 'Mona Member'],
    ['/admin/packages', 'Filter by name', 'q', 'http', 'acme_http'],
    ['/admin/audit', 'Package', 'package', 'acme_http', 'acme_http 1.0.0'],
    ['/admin/scoring', 'Filter by package', 'package', 'acme_http', ''],
    ['/packages/acme_http/versions', 'Filter', 'filter', '1.0', '1.0.0'],
  ])('apply on %s when typing stops, and keep the focus and what is typed', async (path, label, name, words, found) => {
    await using app = await consoleApp()
    const admin = await app.admin({ displayName: 'Adam Admin' })
    await app.member({ displayName: 'Mona Member', email: 'mona@example.com' })
    await publishTo(app.url, admin.secret ?? '', ...['acme_http', 'acme_ui'].map((pkg) => ({ name: pkg, version: '1.0.0' })))
    const page = await openPage(app.url)
    await startSession(page, app.url, admin.email)
    await page.goto(path)
    const field = page.getByRole('main').getByLabel(label, { exact: true })
    await field.pressSequentially(`${words} `)
    await expect.poll(() => inAddress(page, name)).toBe(words)
    await settled(page)
    expect(await field.inputValue()).toBe(`${words} `)
    expect(await field.evaluate(hasFocus)).toBe(true)
    if (found) await page.getByRole('main').getByText(found).first().waitFor()
    // What is typed while an answer is under way is kept, too.
    await page.keyboard.press('Backspace')
    await field.pressSequentially('zz')
    await expect.poll(() => inAddress(page, name)).toBe(`${words}zz`)
    await field.pressSequentially('y')
    await settled(page)
    await expect.poll(() => inAddress(page, name)).toBe(`${words}zzy`)
    expect(await field.inputValue()).toBe(`${words}zzy`)
  })

  it('apply on Enter at once, with one step back to the page before, and are emptied from elsewhere', async () => {
    await using app = await consoleApp()
    const admin = await app.admin()
    const page = await openPage(app.url)
    await startSession(page, app.url, admin.email)
    await page.clock.install()
    await page.goto('/admin/jobs')
    await page.getByRole('link', { name: 'Audit log' }).click()
    const field = page.getByLabel('Actor')
    await field.waitFor()
    await page.clock.pauseAt(Date.now() + 60_000)
    await field.fill(admin.email)
    await page.clock.fastForward(200)
    expect(inAddress(page, 'actor')).toBeNull()
    await field.press('Enter')
    await expect.poll(() => inAddress(page, 'actor')).toBe(admin.email)
    await page.clock.resume()
    await page.goBack()
    await page.getByRole('heading', { name: 'Jobs' }).waitFor()
    await page.goForward()
    await expect.poll(() => field.inputValue()).toBe(admin.email)
    await page.getByRole('link', { name: 'Clear filters' }).click()
    await expect.poll(() => field.inputValue()).toBe('')
    expect(inAddress(page, 'actor')).toBeNull()

    // What was not applied yet does not keep one on the page, nor change where one goes.
    await page.getByRole('link', { name: 'Jobs' }).click()
    await page.getByRole('heading', { name: 'Jobs' }).waitFor()
    await page.goBack()
    await field.waitFor()
    await page.clock.pauseAt(Date.now() + 600_000)
    await field.fill('nobody')
    await page.evaluate('history.forward()')
    await expect.poll(() => new URL(page.url()).pathname).toBe('/admin/jobs')
    await page.clock.fastForward(1000)
    await page.getByRole('heading', { name: 'Jobs' }).waitFor()
    expect(new URL(page.url()).search).toBe('')
  })

  it('wait for the end of a word that an input method composes', async () => {
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
    expect(inAddress(page, 'q')).toBeNull()
    await field.dispatchEvent('compositionend')
    await page.clock.fastForward(1000)
    await expect.poll(() => inAddress(page, 'q')).toBe('ゆ')
  })
})
