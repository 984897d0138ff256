import type { AxeResults, Result } from 'axe-core'
import { readFileSync } from 'node:fs'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { chromium, type Browser, type BrowserContext, type BrowserContextOptions, type Page, type Request } from 'playwright-core'
import { expect, onTestFinished } from 'vitest'
import { browserBinary } from './browser-binary.ts'

interface PageOptions extends BrowserContextOptions {
  /** Console errors that the test expects, such as `/status of 401/`. */
  tolerate?: RegExp[]
}

// The registry must work without internet access, so the browser resolves no host names except this machine's.
const onlyThisMachine = '--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost'

// Pages are open too briefly for optimized code and frequent garbage collections to pay off.
const forShortPages = '--js-flags=--no-opt --no-maglev --min-semi-space-size=16 --semi-space-growth-factor=4'

let browser: Promise<Browser> | undefined
const pending = new WeakMap<Page, Set<Request>>()
const opened: { origin: string; context: BrowserContext }[] = []

/**
 * Starts the browser that all tests of this process share. It is controlled through a pipe, so it also exits when the process is killed.
 * Every page gets its own profile.
 */
async function launch(): Promise<Browser> {
  const { executablePath, env } = await browserBinary()
  const launched = await chromium.launch({
    executablePath,
    env: { ...process.env, ...env },
    args: ['--no-sandbox', '--disable-gpu', onlyThisMachine, forShortPages], // the sandbox refuses root and most containers
    handleSIGTERM: false,
  })
  process.once('SIGTERM', (signal) => void launched.close().then(() => process.kill(process.pid, signal)))
  return launched
}

/** Closes the pages of a server that is about to stop. */
export async function closePages(origin: string): Promise<void> {
  await Promise.all(opened.filter((page) => page.origin === origin).map(({ context }) => context.close()))
}

/**
 * Opens a page with its own cookies and storage. Paths are relative to `origin`.
 * The test fails at its end if the page sent requests to another origin, threw an error or logged one.
 */
export async function openPage(origin: string, { tolerate = [], ...options }: PageOptions = {}): Promise<Page> {
  browser ??= launch()
  // Without animations, screenshots and contrast do not depend on timing.
  const context = await (
    await browser
  ).newContext({ baseURL: origin, locale: 'en-US', timezoneId: 'UTC', reducedMotion: 'reduce', ...options })
  context.setDefaultTimeout(hangMs)
  const page = await context.newPage()
  const faults = faultsOf(page, origin)
  pending.set(page, requestsOf(page))
  opened.push({ origin, context })
  onTestFinished(async () => {
    await context.close()
    const unexpected = faults.filter((fault) => !tolerate.some((pattern) => pattern.test(fault)))
    expect(unexpected, `faults of the page: ${unexpected.join('; ')}`).toEqual([])
  })
  return page
}

/** Collects the errors of a page and its requests to other origins. */
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

/** Tracks the unanswered requests of a page. Event streams are excluded, because they end with the page. */
function requestsOf(page: Page) {
  const requests = new Set<Request>()
  const isAwaited = (request: Request) => request.url().startsWith('http') && !request.headers().accept?.startsWith('text/event-stream')
  page.on('request', (request) => isAwaited(request) && requests.add(request))
  page.on('requestfinished', (request) => requests.delete(request))
  page.on('requestfailed', (request) => requests.delete(request))
  return requests
}

/** After this time in milliseconds, a page hangs. On a busy machine, pages take many times as long as usual. */
const hangMs = 180_000

/** Waits until the page has no pending requests and is idle, twice in a row. @throws Error with the pending requests after a timeout. */
export async function settled(page: Page): Promise<void> {
  const deadline = performance.now() + hangMs
  for (let quiet = 0; quiet < 2; await wait(30)) {
    await page.evaluate('new Promise((idle) => requestIdleCallback(idle, { timeout: 5000 }))')
    const requests = Array.from(pending.get(page) ?? [], (request) => `${request.method()} ${request.url()}`)
    quiet = requests.length > 0 ? 0 : quiet + 1
    if (performance.now() > deadline) throw new Error(`${page.url()} still waits for ${requests.join(', ') || 'a moment without work'}`)
  }
}

/** Two frames, because pages react to their size at the end of the first one, and then the running animations. */
const drawing = `(async () => {
  await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))
  const ends = (animation) => animation.playState === 'running' && Number.isFinite(animation.effect.getComputedTiming().endTime)
  await Promise.allSettled(document.getAnimations().filter(ends).map(({ finished }) => finished))
})()`

/** Waits until the page is drawn after a change of its size or colors. */
export const drawn = (page: Page): Promise<unknown> => page.evaluate(drawing)

/** The minified axe, because every document must receive and parse it. It has less than half the size of the other one. */
const axeSource = readFileSync(fileURLToPath(import.meta.resolve('axe-core/axe.min.js')), 'utf8')

/** Returns the violations of all axe rules, whatever their severity. Loads axe once per document. */
export async function violationsIn(page: Page): Promise<Result[]> {
  if (!(await page.evaluate('"axe" in window'))) await page.evaluate(axeSource)
  // Media and style sheets of other origins are only needed for rules with a lower impact.
  const { violations } = await page.evaluate<AxeResults>('axe.run({ resultTypes: ["violations"], preload: false })')
  return violations
}

/** Fails if axe reports serious or critical violations, with their rules and elements. */
export async function expectAccessible(page: Page) {
  await drawn(page)
  const grave = (await violationsIn(page)).filter(({ impact }) => impact === 'serious' || impact === 'critical')
  expect(
    grave.map(({ id, help, nodes }) => `${id}: ${help}\n${nodes.map(({ html }) => `  ${html}`).join('\n')}`),
    `accessibility of ${page.url()}`,
  ).toEqual([])
}

/** Saves a screenshot of the whole page as `name.png` to the folder in the SCREENSHOTS environment variable, if set. */
export async function screenshot(page: Page, name: string) {
  const folder = process.env.SCREENSHOTS
  if (!folder) return
  await mkdir(folder, { recursive: true })
  await page.screenshot({ path: join(folder, `${name}.png`), fullPage: true })
}
