import type { Page } from 'playwright-core'
import { expect, it } from 'vitest'
import { expectAccessible, openPage, screenshot, settled } from '../support/browser.ts'
import { publishTo, sharedConsole, startSession } from '../support/console.ts'

const consoleOf = sharedConsole()

async function openPackage(name: string): Promise<Page> {
  const app = await consoleOf()
  const { email, secret = '' } = await app.member()
  await publishTo(app.url, secret, { name, version: '1.0.0', files: { 'CHANGELOG.md': '## 1.0.0\n\n- First.\n' } })
  const page = await openPage(app.url)
  await startSession(page, app.url, email)
  await page.goto(`/packages/${name}`)
  await page.getByText('Made for a test.').first().waitFor()
  await settled(page)
  return page
}

const tab = (page: Page, name: string) => page.getByRole('navigation', { name: /sections$/ }).getByRole('link', { name, exact: true })
const line = (page: Page) => page.getByRole('progressbar', { name: 'Loading' })

/** Holds all requests whose URL or body matches, until the returned function is called. */
async function hold(page: Page, pattern: RegExp): Promise<() => void> {
  const gate = Promise.withResolvers<void>()
  await page.route('**/*', async (route) => {
    if (pattern.test(route.request().url()) || pattern.test(route.request().postData() ?? '')) await gate.promise
    await route.continue().catch(() => undefined) // the page may have been closed
  })
  return () => gate.resolve()
}

it.each([
  ['script', /\/assets\/changelog-page-/],
  ['data', /"VersionDocument"/],
])('shows a line and selects the tab while the %s of a page is loading', async (what, pattern) => {
  const page = await openPackage(`acme_${what}`)
  const release = await hold(page, pattern)
  await tab(page, 'Changelog').click()
  await line(page).waitFor()
  await expect.poll(() => tab(page, 'Changelog').getAttribute('aria-current')).toBe('page')
  expect(await tab(page, 'Readme').getAttribute('aria-current')).toBeNull()
  await screenshot(page, `opening-${what}`)
  await expectAccessible(page)
  release()
  await page.getByText('First.').waitFor()
  await line(page).waitFor({ state: 'detached' })
})

it.each(['hover', 'focus'] as const)('loads the script and the data of a page on %s', async (how) => {
  const page = await openPackage(`acme_${how}`)
  const data = page.waitForResponse((response) => response.request().postData()?.includes('"VersionDocument"') ?? false)
  await tab(page, 'Changelog')[how]()
  await data
  await settled(page)
  await page.route('**/*', () => undefined) // the server no longer answers
  await tab(page, 'Changelog').click()
  await expect.poll(() => page.getByText('First.').isVisible()).toBe(true)
})

it('loads nothing for links that the pointer only crosses', async () => {
  const page = await openPackage('acme_crossed')
  const asked: string[] = []
  page.on('request', (request) => asked.push(request.url()))
  await page.clock.install()
  await page.clock.pauseAt(Date.now() + 60_000)
  await tab(page, 'Changelog').hover()
  await page.clock.runFor(40) // less than a pointer must rest
  await page.mouse.move(5, 5)
  await tab(page, 'Install').hover()
  await Promise.all([page.waitForRequest(/install-page/), page.clock.runFor(1000)])
  await page.clock.resume()
  await settled(page)
  expect(asked.filter((url) => url.includes('changelog-page'))).toEqual([])
})
