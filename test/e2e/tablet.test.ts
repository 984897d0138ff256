import { expect, it } from 'vitest'
import { expectAccessible, openPage, screenshot, settled } from '../support/browser.ts'
import { consoleApp, overflow, publishTo, startSession } from '../support/console.ts'
import { consoleRoutes } from '../support/console-routes.ts'

/** Script that lists the scroll containers whose table overflows: their names and the overflow in pixels. */
const cut = `Array.from(document.querySelectorAll('main [role=region]'))
  .filter((box) => box.querySelector('table') && box.scrollWidth > box.clientWidth)
  .map((box) => box.ariaLabel + ': ' + (box.scrollWidth - box.clientWidth))`

it('shows all tables of the administration without overflow on a tablet', async () => {
  await using app = await consoleApp()
  const owner = await app.owner()
  const email = 'alexandra.wintersteiger@engineering.example.com'
  const { id, secret = '' } = await app.member({ displayName: 'Alexandra Wintersteiger-Montgomery', email })
  const names = ['acme', 'a_package_with_a_rather_long_name_that_wraps']
  await publishTo(app.url, secret, ...names.map((name) => ({ name, version: '10.11.12-dev.20261124' })))
  await owner.post('/api/publishers', { id: 'company', displayName: 'Company of Harbors' })
  const page = await openPage(app.url)
  await startSession(page, app.url, email)
  await startSession(page, app.url, owner.email)
  const routes = consoleRoutes().filter((route) => route.startsWith('/admin'))
  expect(routes.length).toBeGreaterThan(10)
  for (const path of new Set(routes.map((route) => route.replace(':id', id)))) {
    for (const width of [768, 1024]) {
      await page.setViewportSize({ width, height: 1024 })
      await page.goto(path)
      await page.getByRole('heading', { level: 1 }).waitFor()
      await settled(page)
      expect(await page.evaluate(cut), `${path} at ${width}`).toEqual([])
      expect(await overflow(page), `${path} at ${width}`).toBeLessThanOrEqual(0)
    }
    await expectAccessible(page)
    await screenshot(page, `tablet${path.replaceAll('/', '-')}`)
  }
}, 180_000)
