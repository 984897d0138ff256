import axe, { type AxeResults } from 'axe-core'
import type { Page } from 'playwright-core'
import { expect, it } from 'vitest'
import { openPage, settled } from '../support/browser.ts'
import { consoleApp, publishTo, startSession } from '../support/console.ts'
import { consoleRoutes } from '../support/console-routes.ts'
import { reportOf, storeReport } from '../support/reports.ts'

/** Routes that are skipped: they redirect a signed-in owner, or are layouts of other pages. */
const skippedRoutes = new Set(['/setup', '/welcome', '/invite/:token', '/oauth/consent', '/me', '/settings'])

const readme = '# Acme\n\n## Usage\n\n#### Details\n\n# Second part\n'

/** Returns the violations of all axe rules, whatever their severity. */
async function violationsIn(page: Page): Promise<string[]> {
  await page.evaluate(axe.source)
  const { violations } = await page.evaluate<AxeResults>('axe.run({ resultTypes: ["violations"], preload: false })')
  return violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(' ')}`)
}

it('has a unique title, one main heading, one main landmark and no axe violations on every page', async () => {
  await using app = await consoleApp({ env: { SIGNUP_ENABLED: 'true' } })
  const owner = await app.owner()
  for (const version of ['1.0.0', '1.1.0']) {
    await publishTo(app.url, owner.secret ?? '', { name: 'acme', version, files: { 'README.md': readme } })
    await storeReport(app, 'acme', reportOf(1, 2), version)
  }
  await owner.post('/api/publishers', { id: 'company', displayName: 'Company' })
  const page = await openPage(app.url)
  await startSession(page, app.url, owner.email)
  const parameters = { ':name': 'acme', ':version': '1.0.0', ':slug': 'company', ':id': owner.id, ':page': 'publishing' }
  const titles = new Map<string, string[]>()
  for (const route of new Set(consoleRoutes())) {
    if (skippedRoutes.has(route)) continue
    const path = route.replace(/:\w+/g, (parameter) => parameters[parameter as keyof typeof parameters])
    await page.goto(path)
    await page.getByRole('heading', { level: 1 }).first().waitFor()
    await settled(page)
    titles.set(await page.title(), [...(titles.get(await page.title()) ?? []), path])
    expect(await page.getByRole('main').count(), path).toBe(1)
    expect(await page.locator('h1:not([aria-level])').count(), path).toBe(1)
    expect(await violationsIn(page), path).toEqual([])
  }
  // Titles list the most specific part first and end with the section of the console and the name.
  expect([...titles.keys()].filter((title) => !/^([^·–]+ · ){0,3}Snug$/.test(title))).toEqual([])
  const outside = [...titles].filter(([title, [path]]) => title.includes(' · Administration · ') !== path?.startsWith('/admin'))
  expect(outside).toEqual([])
  expect(titles.has('Changelog · acme · Snug') && titles.has('Members · Company · Snug')).toBe(true)
  expect([...titles].filter(([, paths]) => paths.length > 1)).toEqual([])
  expect(titles.size).toBeGreaterThan(50)
}, 240_000)
