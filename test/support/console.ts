import type { Page } from 'playwright-core'
import { afterAll } from 'vitest'
import { testApp, type TestApp, type TestOptions } from '../app.ts'
import { closePages } from './browser.ts'
import { packageArchive, type ArchiveOptions } from './archive.ts'
import { freePort } from './free-port.ts'
import { PubClient } from './pub-client.ts'

/** Starts a server and its console on a free port. SERVER_URL is the address that the browser uses. `path` is a prefix such as `/registry`. */
export async function consoleApp(options: ConsoleOptions = {}): Promise<ConsoleApp> {
  for (;;) {
    const app = await startOn(await freePort(), options)
    if (app) return app
  }
}

/**
 * Returns a function that starts a server with the first call and returns it again later, for tests of a file that create users and packages of their
 * own. All pages have the same address, so the sign-in limit does not apply. Stops the server after the last test of the file.
 */
export function sharedConsole({ env, ...options }: ConsoleOptions = {}): () => Promise<ConsoleApp> {
  let app: Promise<ConsoleApp> | undefined
  afterAll(async () => (await app)?.[Symbol.asyncDispose]())
  return () => (app ??= consoleApp({ ...options, env: { SIGN_IN_LIMIT: '1000', ...env } }))
}

type ConsoleOptions = TestOptions & { path?: string }
type ConsoleApp = TestApp & { url: string }

/** Returns null if the port is in use. The server must know its address before it listens. */
async function startOn(port: number, { path = '', ...options }: ConsoleOptions): Promise<ConsoleApp | null> {
  const url = `http://localhost:${port}${path}`
  const app = await testApp({ ...options, env: { SERVER_URL: url, TRUST_PROXY: 'false', ...options.env } })
  const stop = app[Symbol.asyncDispose].bind(app)
  try {
    await app.http.listen({ host: '127.0.0.1', port })
  } catch (error) {
    await stop()
    if (error instanceof Error && 'code' in error && error.code === 'EADDRINUSE') return null
    throw error
  }
  return Object.assign(app, {
    url,
    async [Symbol.asyncDispose]() {
      await closePages(url) // pages with pending requests would report connection errors
      await stop()
    },
  })
}

/** Signs in with the console's request but without its page, for tests that open another page next. */
export async function startSession(page: Page, url: string, email: string): Promise<void> {
  const answer = await page.request.post(`${url}/api/auth/login`, { data: { email, password: 'correct horse' } })
  if (answer.status() !== 200) throw new Error(`Cannot sign in: ${await answer.text()}`)
}

/** Signs in with the form and the default password of the factories. Resolves when the next page has loaded. */
export async function signIn(page: Page, url: string, email: string): Promise<void> {
  await page.goto(`${url}/login`)
  await page.getByLabel('E-mail address').fill(email)
  await page.getByRole('textbox', { name: 'Password' }).fill('correct horse')
  await page.getByRole('button', { name: 'Sign in', exact: true }).click()
  await page.waitForURL((address) => !address.pathname.endsWith('/login')) // the login page already shows the account menu while the next page loads
  await page.getByRole('button', { name: /^Account/ }).waitFor()
}

/** Publishes packages with the protocol of `dart pub`. */
export async function publishTo(url: string, token: string, ...packages: ArchiveOptions[]): Promise<void> {
  const { origin, pathname } = new URL(url)
  const client = new PubClient({
    hostedUrl: url,
    address: `${origin.replace('localhost', '127.0.0.1')}${pathname.replace(/\/$/, '')}`,
    token,
  })
  for (const options of packages) await client.publish(await packageArchive(options))
}

/** Selects an option of a combobox. */
export async function choose(page: Page, name: string, option: string): Promise<void> {
  const choice = page.getByRole('option', { name: option, exact: true })
  await page.getByRole('combobox', { name }).click()
  await choice.click()
  await choice.waitFor({ state: 'hidden' }) // the list moves the focus when it closes
}

/** Opens a tab, which is in the row or, if it does not fit, in the menu at its end. `label` names the navigation. */
export async function openTab(page: Page, label: string, name: string): Promise<void> {
  const tabs = page.getByRole('navigation', { name: label })
  await tabs.waitFor()
  await page.evaluate('new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))') // hides tabs that do not fit
  const link = tabs.getByRole('link', { name })
  if (await link.isVisible()) return link.click()
  await tabs.getByRole('button', { name: /^More/ }).or(tabs.locator('button[aria-current]')).click()
  await page.getByRole('menuitem', { name }).click()
}

/** Returns by how many pixels the page is wider than its window. */
export const overflow = (page: Page): Promise<number> =>
  page.evaluate('document.documentElement.scrollWidth - document.documentElement.clientWidth')

/** Reads the secret from the dialog that shows it, and closes the dialog. */
export async function takeSecret(page: Page, title: string): Promise<string> {
  const sheet = page.getByRole('dialog', { name: title })
  const secret = (await sheet.locator('[data-secret]').textContent()) ?? ''
  await sheet.getByLabel('I have saved it').click()
  await sheet.getByRole('button', { name: 'Done' }).click()
  await sheet.waitFor({ state: 'hidden' })
  return secret.trim()
}
