import { expect, it } from 'vitest'
import { openPage } from '../support/browser.ts'
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
  let asked = 0
  await page.route(part, (route) => ((asked += 1), route.fulfill(gone)))
  await page.getByRole('link', { name: 'Publishers' }).click()
  await page.getByText('A part of this page could not be loaded.').waitFor()
  await expectSound(page, 'missing-part')
  expect(asked).toBe(2)
  await page.getByRole('link', { name: 'Browse packages' }).click()
  await page.getByRole('heading', { name: 'Packages', level: 1 }).waitFor()
  expect(await page.getByText('A part of this page').count()).toBe(0)
})
