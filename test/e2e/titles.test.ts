import { expect, it } from 'vitest'
import { openPage, settled } from '../support/browser.ts'
import { consoleApp, publishTo, startSession } from '../support/console.ts'
import { consoleRoutes } from '../support/console-routes.ts'

/** Of pages that a signed-in owner is led away from, and of layouts around pages. */
const elsewhere = new Set(['/setup', '/welcome', '/invite/:token', '/oauth/consent', '/me', '/settings'])

it('every page has a title of its own and one main part', async () => {
  await using app = await consoleApp({ env: { SIGNUP_ENABLED: 'true' } })
  const owner = await app.owner()
  await publishTo(app.url, owner.secret ?? '', { name: 'acme', version: '1.0.0' })
  await owner.post('/api/publishers', { id: 'company', displayName: 'Company' })
  const page = await openPage(app.url)
  await startSession(page, app.url, owner.email)
  const parameters = { ':name': 'acme', ':version': '1.0.0', ':slug': 'company', ':id': owner.id }
  const titles = new Map<string, string[]>()
  for (const route of new Set(consoleRoutes())) {
    if (elsewhere.has(route)) continue
    const path = route.replace(/:\w+/g, (parameter) => parameters[parameter as keyof typeof parameters])
    await page.goto(path)
    await page.getByRole('heading', { level: 1 }).first().waitFor()
    await settled(page)
    titles.set(await page.title(), [...(titles.get(await page.title()) ?? []), path])
    expect(await page.getByRole('main').count(), path).toBe(1)
  }
  expect([...titles].filter(([, paths]) => paths.length > 1)).toEqual([])
  expect(titles.size).toBeGreaterThan(50)
}, 240_000)
