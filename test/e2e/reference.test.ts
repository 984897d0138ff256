import { expect, it } from 'vitest'
import { routesOf } from '../../server/routes.ts'
import { expectAccessible, openPage, screenshot } from '../support/browser.ts'
import { consoleApp, overflow, sharedConsole, startSession } from '../support/console.ts'
import { showAs } from '../support/looks.ts'

const startShared = sharedConsole()

it('shows all endpoints as text in the console, also to visitors and below a path', async () => {
  await using app = await consoleApp({ path: '/registry' })
  const page = await openPage(app.url)
  await page.goto(`${app.url}/login`)
  await page.getByRole('contentinfo').getByRole('link', { name: 'REST API' }).click()
  await page.getByText(`${routesOf({}).length} endpoints`).waitFor()
  expect(await page.title()).toBe('REST API · Snug')
  expect(await page.getByRole('article').count()).toBe(routesOf({}).length)
  await page.getByRole('banner').waitFor()
  const create = page.getByRole('article', { name: 'POST /api/auth/keys', exact: true })
  expect(await create.textContent()).toContain(`curl -sS -X POST "${app.url}/api/auth/keys"`)
  expect(await create.textContent()).toContain('InsufficientPermissions, CsrfMismatch')
  expect((await page.request.get(`${app.url}/api/docs/openapi.json`)).status()).toBe(200)
})

it('filters endpoints with the keyboard, keeps the filter in the URL, and links to endpoints', async () => {
  const app = await startShared()
  const page = await openPage(app.url)
  await startSession(page, app.url, (await app.member()).email)
  await page.goto('/api/docs')
  await page.getByRole('searchbox', { name: 'Filter endpoints' }).fill('create token secret')
  await page.getByText(/^\d+ of \d+ endpoints$/).waitFor()
  const article = page.getByRole('article', { name: 'POST /api/auth/keys', exact: true })
  await article.getByRole('link').press('Enter')
  await expect.poll(() => new URL(page.url()).hash).toBe('#postApiAuthKeys')
  await page.reload()
  await expect.poll(() => article.evaluate((element) => element.getBoundingClientRect().top)).toBeLessThan(400)
  expect(await page.getByRole('searchbox', { name: 'Filter endpoints' }).inputValue()).toBe('create token secret')
  await page.getByRole('searchbox', { name: 'Filter endpoints' }).fill('zebra')
  await page.getByRole('button', { name: 'Clear the filter' }).click()
  await page.getByText(`${routesOf({}).length} endpoints`).waitFor()
  await page.goto('/api/docs#getApiSearch')
  await expect.poll(() => page.locator('#getApiSearch').evaluate((element) => element.getBoundingClientRect().top)).toBeLessThan(200)
})

it.each([
  ['desk', 'light'],
  ['telephone', 'dark'],
] as const)('is accessible and fits: %s, %s', async (size, scheme) => {
  const app = await startShared()
  const page = await openPage(app.url)
  await startSession(page, app.url, (await app.member()).email)
  await page.goto('/api/docs?q=publishers members')
  await page.getByText(/^\d+ of \d+ endpoints$/).waitFor()
  await showAs(page, size, scheme)
  await expectAccessible(page)
  expect(await overflow(page)).toBeLessThanOrEqual(0)
  await screenshot(page, `reference-${size}-${scheme}`)
})

it('offers to retry when the document cannot be loaded', async () => {
  const app = await startShared()
  const page = await openPage(app.url, { tolerate: [/status of 503/] })
  await page.route('**/api/docs/openapi.json', (route) => route.fulfill({ status: 503 }))
  await page.goto('/api/docs')
  await page.getByRole('alert').getByText('status 503').waitFor()
  await expectAccessible(page)
  await page.unroute('**/api/docs/openapi.json')
  await page.getByRole('button', { name: 'Retry' }).click()
  await page.getByText(`${routesOf({}).length} endpoints`).waitFor()
})
