import { expect, it } from 'vitest'
import { openPage, settled } from '../support/browser.ts'
import { consoleApp, startSession } from '../support/console.ts'
import { expectSound } from '../support/looks.ts'

const part = /\/assets\/publishers-page-[^/]+\.js$/
const gone = { status: 404, body: '' }

it('reloads an open tab when a link needs a script that an upgrade removed', async () => {
  await using app = await consoleApp()
  const page = await openPage(app.url, { tolerate: [/status of 404/] })
  await startSession(page, app.url, (await app.member()).email)
  await page.goto('/')
  await page.getByRole('heading', { name: 'Packages', level: 1 }).waitFor()
  // Keeps the route in place: removing it may lose a request that is in flight.
  let asked = 0
  await page.route(part, (route) => (asked++ === 0 ? route.fulfill(gone) : route.continue()))
  await page.getByRole('link', { name: 'Publishers' }).click()
  await page.getByRole('heading', { name: 'Publishers', level: 1 }).waitFor()
  expect(new URL(page.url()).pathname).toBe('/publishers')
})

it('reports a script that is still missing after the reload, and keeps other pages working', async () => {
  await using app = await consoleApp()
  const page = await openPage(app.url, { tolerate: [/status of 404/] })
  await startSession(page, app.url, (await app.member()).email)
  await page.goto('/')
  await page.getByRole('heading', { name: 'Packages', level: 1 }).waitFor()
  await page.route(part, (route) => route.fulfill(gone))
  let loads = 0
  page.on('request', (request) => (loads += Number(request.isNavigationRequest())))
  await page.getByRole('link', { name: 'Publishers' }).click()
  await page.getByText('A part of this page could not be loaded.').waitFor()
  await expectSound(page, 'missing-part')
  expect(loads).toBe(1)
  await page.getByRole('link', { name: 'Browse packages' }).click()
  await page.getByRole('heading', { name: 'Packages', level: 1 }).waitFor()
  expect(await page.getByText('A part of this page').count()).toBe(0)
})

it('shows its own failure page for a link that is opened offline, and keeps unsaved input', async () => {
  await using app = await consoleApp()
  const page = await openPage(app.url, { tolerate: [/ERR_INTERNET_DISCONNECTED/] })
  await startSession(page, app.url, (await app.member()).email)
  await page.goto('/settings/profile')
  const name = page.getByLabel('Name', { exact: true })
  await name.fill('Half a na')
  await settled(page)
  await page.context().setOffline(true)
  await page.getByRole('link', { name: 'Publishers', exact: true }).first().click()
  await page.getByRole('button', { name: 'Leave' }).click()
  await page.getByRole('heading', { name: 'The server did not respond' }).waitFor()
  expect(new URL(page.url()).pathname).toBe('/settings/profile')
  await expectSound(page, 'offline')
  await page.getByRole('button', { name: 'Back' }).press('Enter')
  await page
    .getByRole('heading', { level: 1, name: 'Settings' })
    .or(page.getByRole('heading', { level: 1, name: 'Profile' }))
    .waitFor()
  expect(await name.inputValue()).toBe('Half a na')
  expect(await page.title()).toContain('Profile')
})

it('opens the page with Retry when the connection is back, and stays on the failure page until then', async () => {
  await using app = await consoleApp()
  const page = await openPage(app.url, { tolerate: [/ERR_INTERNET_DISCONNECTED/] })
  await startSession(page, app.url, (await app.member()).email)
  await page.goto('/')
  await page.getByRole('heading', { name: 'Packages', level: 1 }).waitFor()
  await settled(page)
  await page.context().setOffline(true)
  await page.getByRole('link', { name: 'Publishers' }).click()
  const retry = page.getByRole('button', { name: 'Retry' })
  await retry.click()
  await expect.poll(() => retry.isEnabled()).toBe(true)
  await page.getByRole('heading', { name: 'The server did not respond' }).waitFor()
  await page.context().setOffline(false)
  await retry.click()
  await page.getByRole('heading', { name: 'Publishers', level: 1 }).waitFor()
  expect(new URL(page.url()).pathname).toBe('/publishers')
})

it('reports a menu that is missing after an upgrade once it is opened, and keeps unsaved input', async () => {
  await using app = await consoleApp()
  const page = await openPage(app.url, { tolerate: [/status of 404/] })
  await startSession(page, app.url, (await app.member()).email)
  await page.goto('/settings/profile')
  const name = page.getByLabel('Name', { exact: true })
  await name.fill('Half a na')
  await page.route(/\/assets\/menus-[^/]+\.js$/, (route) => route.fulfill(gone))
  const account = page.getByRole('button', { name: /^Account/ })
  await account.hover()
  await settled(page)
  expect(await page.getByText('A part of this page').count()).toBe(0)
  await account.click()
  await page.getByText('A part of this page could not be loaded.').waitFor()
  await page.getByRole('button', { name: 'Back' }).click()
  expect(await name.inputValue()).toBe('Half a na')
})
