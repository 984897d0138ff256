import type { Locator, Page } from 'playwright-core'
import { expect, it } from 'vitest'
import { openPage, screenshot, settled } from '../support/browser.ts'
import { consoleApp, openTab, publishTo, startSession } from '../support/console.ts'
import { expectSound } from '../support/looks.ts'

const sizes = [
  [390, 844],
  [768, 1024],
  [1280, 800],
] as const
const manifest = `name: acme
version: 1.0.0
description: Reads the tides of all harbors and lists when to leave yours, with forecasts.
environment:
  sdk: ^3.0.0
`

async function openSample(app: Awaited<ReturnType<typeof consoleApp>>): Promise<Page> {
  const admin = await app.admin({ displayName: 'Adam Admin' })
  const files = { 'README.md': `# Acme\n\n${'Words.\n\n'.repeat(60)}`, 'CHANGELOG.md': '## 1.0.0\n\n- First.\n' }
  await publishTo(app.url, admin.secret ?? '', { name: 'acme', version: '1.0.0', manifest, files })
  const publisher = { id: 'harbor', displayName: 'Harbor', description: 'Packages about the sea.', websiteUrl: 'https://harbor.example' }
  await admin.post('/api/publishers', { ...publisher, contactEmail: 'sea@harbor.example' })
  const page = await openPage(app.url)
  await startSession(page, app.url, admin.email)
  return page
}

/**
 * Clicks an element where it is. Playwright's own click first scrolls elements out of the page's scroll padding, where the tabs of a scrolled page are,
 * and the compact header would become the full one under the pointer.
 */
async function clickInPlace(page: Page, element: Locator): Promise<void> {
  const box = await element.boundingBox()
  if (!box) throw new Error('The element is not visible.')
  await page.mouse.click(box.x + box.width / 2, box.y + box.height / 2)
}

const headerOf = (page: Page) => page.locator('main header').boundingBox()

it.each([
  ['package', '/packages/acme', 'acme: sections'],
  ['publisher', '/publishers/harbor', 'Harbor: sections'],
])('keeps the height of the header of a %s when its data arrives', async (name, path, tabs) => {
  await using app = await consoleApp()
  const page = await openSample(app)
  // Without the answers that the server embeds in the page, the page loads its data afterwards.
  await page.route(`**${path}`, async (route) => {
    const answer = await route.fetch()
    await route.fulfill({ response: answer, body: (await answer.text()).replace('id="first-answers"', '') })
  })
  for (const [width, height] of sizes) {
    await page.setViewportSize({ width, height })
    const gate = Promise.withResolvers<void>()
    await page.route('**/graphql', async (route) => {
      const isAsked = /"operationName":"(Package|Publisher)"/.test(route.request().postData() ?? '')
      if (isAsked) await gate.promise
      await route.continue()
    })
    await page.goto(path)
    await page.getByRole('status').filter({ hasText: 'Loading' }).waitFor()
    const before = await headerOf(page)
    await screenshot(page, `steady-${name}-${width}-before`)
    gate.resolve()
    await page.getByRole('navigation', { name: tabs }).waitFor()
    await settled(page)
    await screenshot(page, `steady-${name}-${width}-after`)
    expect(await headerOf(page), `${width}`).toEqual(before)
    await page.unroute('**/graphql')
  }
})

it.each([['/publishers/harbor', 'Harbor: sections', ['Members', 'Activity', 'Settings', 'Packages']]])(
  'keeps the position of the tabs of %s when another tab is selected',
  async (path, label, names) => {
    await using app = await consoleApp()
    const page = await openSample(app)
    const tabs = page.getByRole('navigation', { name: label })
    for (const [width, height] of sizes) {
      await page.setViewportSize({ width, height })
      await page.goto(path)
      await tabs.waitFor()
      await settled(page)
      await page.evaluate('scrollTo(0, 120)')
      await expect.poll(() => page.evaluate('scrollY')).toBe(120)
      const before = (await tabs.boundingBox())?.y
      for (const name of names) {
        await openTab(page, label, name)
        await page.getByRole('navigation', { name: label }).locator('[aria-current]:visible', { hasText: name }).waitFor()
        await settled(page)
        expect((await tabs.boundingBox())?.y, `${name} at ${width}`).toBe(before)
      }
    }
  },
)

it('keeps the tabs of a package in view below a compact header', async () => {
  await using app = await consoleApp()
  const page = await openSample(app)
  const tabs = page.getByRole('navigation', { name: 'acme: sections' })
  const header = async () => {
    await settled(page)
    const { y = 0, height = 0 } = (await headerOf(page)) ?? {}
    return { bottom: y + height, tabs: (await tabs.boundingBox())?.y }
  }
  const commands = page.getByText('dart pub add', { exact: false })
  for (const [width, height] of sizes) {
    await page.setViewportSize({ width, height })
    await page.goto('/packages/acme')
    await tabs.waitFor()
    await settled(page)
    expect(await commands.count()).toBe(1)
    const text = page.getByText('Words.').nth(40)
    const place = async () => (await text.boundingBox())?.y ?? 0
    const before = await place()
    await page.evaluate('scrollTo(0, 600)')
    await page.getByTitle('Back to the top').waitFor()
    const scrolled = await header()
    expect(scrolled.bottom, `scrolled at ${width}`).toBeLessThanOrEqual(60 + 120)
    expect(before - (await place()), 'the content moved by the scrolled distance').toBe(600)
    await screenshot(page, `package-scrolled-${width}`)
    for (const [index, name] of ['Changelog', 'Install', 'License'].entries()) {
      await (index === 0 ? clickInPlace(page, tabs.getByRole('link', { name })) : openTab(page, 'acme: sections', name))
      await tabs.locator('[aria-current]:visible', { hasText: name }).waitFor()
      const { bottom, tabs: y } = await header()
      expect(bottom, `${name} at ${width}`).toBeLessThanOrEqual(60 + 120)
      expect(Math.abs((y ?? 0) - (scrolled.tabs ?? 0)), `${name} at ${width}`).toBeLessThanOrEqual(8)
      expect(await page.evaluate('scrollY')).toBe(0)
    }
  }
  await expectSound(page, 'package-compact')
})
