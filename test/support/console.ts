import type { Page } from 'playwright-core'
import { testApp, type TestApp, type TestOptions } from '../app.ts'
import { closePages } from './browser.ts'
import { packageArchive, type ArchiveOptions } from './archive.ts'
import { freePort } from './free-port.ts'
import { PubClient } from './pub-client.ts'

/** A server with its console on a port of its own, known to itself by the address that the browser uses. `path` is a prefix such as `/registry`. */
export async function consoleApp(options: ConsoleOptions = {}): Promise<ConsoleApp> {
  for (;;) {
    const app = await startOn(await freePort(), options)
    if (app) return app
  }
}

type ConsoleOptions = TestOptions & { path?: string }
type ConsoleApp = TestApp & { url: string }

/** Null when somebody else has taken the port: a server must know its address before it listens there. */
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
      await closePages(url) // a page that still asks for something would find nobody there
      await stop()
    },
  })
}

/** Signs in as the console does, without a page: for tests whose next step is to open one. */
export async function startSession(page: Page, url: string, email: string): Promise<void> {
  const answer = await page.request.post(`${url}/api/auth/login`, { data: { email, password: 'correct horse' } })
  if (answer.status() !== 200) throw new Error(`Cannot sign in: ${await answer.text()}`)
}

/** Signs in by the form, as somebody who was made with the usual password; returns on the page that this leads to. */
export async function signIn(page: Page, url: string, email: string): Promise<void> {
  await page.goto(`${url}/login`)
  await page.getByLabel('E-mail address').fill(email)
  await page.getByRole('textbox', { name: 'Password' }).fill('correct horse')
  await page.getByRole('button', { name: 'Sign in' }).click()
  await page.waitForURL((address) => !address.pathname.endsWith('/login')) // which shows the account menu already while the next page loads
  await page.getByRole('button', { name: /^Account/ }).waitFor()
}

/** Publishes as the package client does. */
export async function publishTo(url: string, token: string, ...packages: ArchiveOptions[]): Promise<void> {
  const { origin, pathname } = new URL(url)
  const client = new PubClient({
    hostedUrl: url,
    address: `${origin.replace('localhost', '127.0.0.1')}${pathname.replace(/\/$/, '')}`,
    token,
  })
  for (const options of packages) await client.publish(await packageArchive(options))
}

/** Picks an option of a select box. */
export async function choose(page: Page, name: string, option: string): Promise<void> {
  const choice = page.getByRole('option', { name: option, exact: true })
  await page.getByRole('combobox', { name }).click()
  await choice.click()
  await choice.waitFor({ state: 'hidden' }) // the list takes the focus along as it closes
}

/** How far the page is wider than its window. */
export const overflow = (page: Page): Promise<number> =>
  page.evaluate('document.documentElement.scrollWidth - document.documentElement.clientWidth')
