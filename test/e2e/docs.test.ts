import type { Page } from 'playwright-core'
import { expect, it } from 'vitest'
import { expectAccessible, openPage, screenshot, settled } from '../support/browser.ts'
import { consoleApp, overflow, publishTo, startSession } from '../support/console.ts'
import { dartdocFolder } from '../support/dartdoc.ts'
import { importDocs } from '../support/docs.ts'

/** Evaluates an expression on the page. Returns its result, or the name of the error. */
const evaluateOrError = (page: Page, script: string): Promise<string> =>
  page.evaluate(`(async () => { try { return String(await (${script})) } catch (error) { return error.name } })()`)

/** Starts a server with the output of dartdoc for versions of shapes. */
async function dartdocApp(path: string, ...versions: string[]) {
  const app = await consoleApp({ path })
  await using folder = await dartdocFolder()
  const alice = await app.member()
  for (const version of versions) {
    await publishTo(app.url, alice.secret ?? '', { name: 'shapes', version })
    await importDocs(app, 'shapes', version, folder.path)
  }
  return { app, alice }
}

it.each(['', '/registry'])('shows and searches pages of dartdoc without access to storage or cookies, at base path %o', async (path) => {
  const { app, alice } = await dartdocApp(path, '1.2.0')
  await using _app = app
  const page = await openPage(app.url, { tolerate: [/Content Security Policy/, /status of 401/] })
  await page.goto(`${app.url}/documentation/shapes/latest/?from=mail`)
  await page.getByRole('link', { name: 'Sign in' }).click()
  await page.waitForURL(`${app.url}/login?redirect=*`)
  await page.getByLabel('E-mail address').fill(alice.email)
  await page.getByRole('textbox', { name: 'Password' }).fill('correct horse')
  await page.getByRole('button', { name: 'Sign in', exact: true }).click()
  await page.waitForURL(`${app.url}/documentation/shapes/latest/?from=mail`)

  expect(await evaluateOrError(page, 'document.cookie')).toBe('SecurityError')
  expect(await evaluateOrError(page, 'localStorage.length')).toBe('SecurityError')
  expect(await evaluateOrError(page, `fetch('${app.url}/api/auth/me', { credentials: 'include' })`)).toBe('TypeError')
  expect(await page.evaluate('origin')).toBe('null')

  await page.getByRole('searchbox').fill('circle')
  await page.keyboard.press('Enter')
  await page
    .getByRole('status')
    .getByText(/symbols?$/)
    .waitFor()
  await page.getByRole('button', { name: 'Dark mode' }).click()
  await page.getByRole('link', { name: 'Circle', exact: true }).first().click()
  await page.getByRole('heading', { name: 'Circle class' }).waitFor()
  await expect.poll(() => page.locator('html').getAttribute('data-theme')).toBe('dark')
  await page.getByRole('button', { name: 'Light mode' }).waitFor()
  for (const next of ['Light mode', 'Dark mode']) {
    for (const width of [1280, 360]) {
      await page.setViewportSize({ width, height: 800 })
      await expectAccessible(page)
      expect(await overflow(page)).toBeLessThanOrEqual(0)
      await screenshot(page, `docs-${width}-${next === 'Light mode' ? 'dark' : 'light'}`)
    }
    await page.getByRole('button', { name: next }).click()
  }

  // The links of the bar lead back to the package. A new tab is not sandboxed, so the user is signed in there.
  const opened = page.context().waitForEvent('page')
  // Delays the document until Playwright has reported the tab. Otherwise, Playwright would miss its load.
  await page.context().route('**/packages/shapes/versions/*', async (route) => {
    await opened
    await route.continue()
  })
  await page.getByRole('link', { name: 'shapes 1.2.0 on' }).click({ modifiers: ['Control'] })
  const tab = await opened
  await tab.getByRole('button', { name: /^Account/ }).waitFor()
  expect(await tab.evaluate('origin')).toBe(new URL(app.url).origin)
})

it('opens pages of dartdoc from the console', async () => {
  const { app, alice } = await dartdocApp('', '1.2.0')
  await using _app = app
  const page = await openPage(app.url)
  await startSession(page, app.url, alice.email)
  await page.goto('/packages/shapes')
  await page.getByRole('link', { name: 'API', exact: true }).click()
  await page.waitForURL('**/documentation/shapes/1.2.0/index.html')
  await page.goto('/packages/shapes/versions/1.2.0/api/shapes/Circle')
  await page.waitForURL('**/documentation/shapes/1.2.0/shapes/Circle-class.html')
  await page.getByRole('heading', { name: 'Circle class' }).waitFor()
  expect(await page.evaluate('origin')).toBe('null')
})

it('works without JavaScript', async () => {
  const { app, alice } = await dartdocApp('', '1.1.0', '1.2.0')
  await using _app = app
  const { cookies } = await alice.session()
  const page = await openPage(app.url, { javaScriptEnabled: false })
  await page.context().addCookies(Object.entries(cookies).map(([name, value]) => ({ name, value, url: app.url })))
  await page.goto('/documentation/shapes/1.2.0/')
  await page.getByRole('link', { name: 'shapes.dart' }).click()
  await page.getByRole('link', { name: 'Circle', exact: true }).click()
  await page.getByRole('navigation', { name: 'On this page' }).getByRole('link', { name: 'Constructors' }).click()
  await expect.poll(() => page.url()).toMatch(/Circle-class\.html#constructors$/)
  expect(await page.getByRole('button').count()).toBe(0)
  await page.getByText('Version 1.2.0', { exact: true }).click()
  await page.getByRole('link', { name: '1.1.0', exact: true }).click()
  await page.waitForURL('**/documentation/shapes/1.1.0/shapes/Circle-class.html')
  await page.getByRole('navigation', { name: 'Package' }).getByRole('link', { name: 'shapes' }).click()
  await page.waitForURL('**/packages/shapes/versions/1.1.0')
})

it('closes the list of versions with Escape and a click elsewhere', async () => {
  const { app, alice } = await dartdocApp('', '1.2.0')
  await using _app = app
  const page = await openPage(app.url)
  await startSession(page, app.url, alice.email)
  await page.goto('/documentation/shapes/latest/?theme=dark')
  const [toggle, all] = [page.getByText('Version 1.2.0', { exact: true }), page.getByRole('link', { name: 'All versions' })]
  for (const close of [() => page.keyboard.press('Escape'), () => page.getByRole('heading', { name: 'API documentation' }).click()]) {
    await toggle.click()
    await all.waitFor()
    await expectAccessible(page)
    await close()
    await all.waitFor({ state: 'hidden' })
  }
  await toggle.click()
  await screenshot(page, 'docs-versions')
})

it('neutralizes hostile content in the output of dartdoc', async () => {
  await using app = await consoleApp()
  await using folder = await dartdocFolder()
  const alice = await app.member()
  await publishTo(app.url, alice.secret ?? '', { name: 'shapes', version: '1.2.0' })
  await importDocs(app, 'shapes', '1.2.0', folder.path)
  // Requests to other servers, uncaught errors and console messages fail the test.
  const page = await openPage(app.url)
  await startSession(page, app.url, alice.email)
  await page.goto('/documentation/shapes/latest/')
  await page.getByRole('link', { name: 'shapes.dart' }).click()
  await page.getByRole('link', { name: 'Circle' }).click()
  await page.getByRole('heading', { name: 'Circle class' }).waitFor()
  await expectAccessible(page)
  await screenshot(page, 'dartdoc-light')
  await page.getByRole('link', { name: 'Shape', exact: true }).click()
  await page.getByText('after all of it').waitFor()
  for (const text of ['click me', 'or me', 'or this', 'away', 'over everything']) await page.getByText(text).click()
  await settled(page)
  expect(await page.getByRole('textbox').count()).toBe(0)
  expect(await page.title()).toBe('Shape class')
  expect(page.url()).toBe(`${app.url}/documentation/shapes/latest/shapes/Shape-class.html`)
  await page.goto('/documentation/shapes/latest/search.html#q=script')
  await page.getByText('1 symbol').waitFor()
  expect(await page.title()).toBe('All symbols - shapes 1.2.0')
})
