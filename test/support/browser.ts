import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { AxeBuilder } from '@axe-core/playwright'
import { chromium, type Browser, type BrowserContext, type BrowserContextOptions, type Page } from 'playwright-core'
import { expect, onTestFinished } from 'vitest'

interface PageOptions extends BrowserContextOptions {
  /** Console errors that the test provokes, like `/status of 401/`. */
  tolerate?: RegExp[]
}

let browser: Promise<Browser> | undefined
const opened: { origin: string; context: BrowserContext }[] = []

/** Closes the pages of a server that is about to end. */
export async function closePages(origin: string): Promise<void> {
  await Promise.all(opened.filter((page) => page.origin === origin).map(({ context }) => context.close()))
}

/**
 * Opens a page with cookies and storage of its own; paths are relative to `origin`. The test fails in the end if the page
 * asked another origin for anything, threw, or logged an error.
 */
export async function openPage(origin: string, { tolerate = [], ...options }: PageOptions = {}): Promise<Page> {
  const endpoint = process.env.TEST_BROWSER
  if (!endpoint) throw new Error('No browser was started: this test belongs to the project e2e.')
  browser ??= chromium.connect(endpoint)
  // Without motion, pictures and contrast do not depend on the moment.
  const context = await (
    await browser
  ).newContext({ baseURL: origin, locale: 'en-US', timezoneId: 'UTC', reducedMotion: 'reduce', ...options })
  const page = await context.newPage()
  const faults = faultsOf(page, origin)
  opened.push({ origin, context })
  onTestFinished(async () => {
    await context.close()
    expect(
      faults.filter((fault) => !tolerate.some((pattern) => pattern.test(fault))),
      'faults of the page',
    ).toEqual([])
  })
  return page
}

/** A list that grows with what goes wrong in a page. */
function faultsOf(page: Page, origin: string) {
  const faults: string[] = []
  const visit = (address: string) => {
    const url = new URL(address)
    if (/^(http|ws)s?:$/.test(url.protocol) && url.host !== new URL(origin).host) faults.push(`request to another origin: ${address}`)
  }
  page.on('request', (request) => visit(request.url()))
  page.on('websocket', (socket) => visit(socket.url()))
  page.on('pageerror', (error) => faults.push(`uncaught: ${error.message}`))
  page.on('console', (message) => {
    if (message.type() === 'error') faults.push(`console: ${message.text()} (${message.location().url})`)
  })
  return faults
}

/** Fails on faults that axe calls serious or critical, naming the rule and the elements. */
export async function expectAccessible(page: Page) {
  const { violations } = await new AxeBuilder({ page }).analyze()
  const grave = violations.filter(({ impact }) => impact === 'serious' || impact === 'critical')
  expect(
    grave.map(({ id, help, nodes }) => `${id}: ${help}\n${nodes.map(({ html }) => `  ${html}`).join('\n')}`),
    `accessibility of ${page.url()}`,
  ).toEqual([])
}

/** Keeps a picture of the whole page as `name.png` in the folder that SCREENSHOTS names, if any. */
export async function screenshot(page: Page, name: string) {
  const folder = process.env.SCREENSHOTS
  if (!folder) return
  await mkdir(folder, { recursive: true })
  await page.screenshot({ path: join(folder, `${name}.png`), fullPage: true })
}
