import type { Page } from 'playwright-core'
import { expect, it } from 'vitest'
import type { TestApp } from '../app.ts'
import { drawn, openPage, screenshot, settled, violationsIn } from '../support/browser.ts'
import { consoleApp, overflow, publishTo, startSession } from '../support/console.ts'
import { consoleRoutes } from '../support/console-routes.ts'
import { expectSound, showAs, sizes } from '../support/looks.ts'
import { reportOf, storeReport } from '../support/reports.ts'
import { Upstream } from '../support/upstream.ts'

/** Routes that are skipped: they redirect a signed-in owner or to another page, or are layouts of other pages. */
const skippedRoutes = new Set(['/packages/:name/changes', '/setup', '/welcome', '/invite/:token', '/oauth/consent', '/me', '/settings'])

const table = '| a | b | c | d | e | f |\n| - | - | - | - | - | - |\n| 1 | 2 | 3 | 4 | 5 | 6 |\n'
const code = `\`\`\`dart\nfinal ${'long'.repeat(60)} = 1;\n\`\`\`\n`
const readme = `# Acme\n\n- [x] done\n\n> quoted\n\n${table}\n## Usage\n\n${code}\n#### Details\n\n# Second part\n`
const files = { 'README.md': readme, 'example/main.dart': 'void main() {}\n' }

/** States of pages that no route shows by itself. */
const states = {
  'no-hit': '/packages?q=zzzz',
  'missing-package': '/packages/nope',
  'not-found': '/no/such/page',
  'new-token': '/settings/tokens?new=1',
  'new-person': '/admin/users?new=1',
  'no-people': '/admin/users?email=zzz',
  audit: '/admin/audit?from=2020-01-01',
}

/** Widths of tablets in pixels, from large to small. Tables of the administration may not need a scroll bar there. */
const tabletWidths = [1024, 768]

/** Script that lists the scroll containers whose table overflows: their names and the overflow in pixels. */
const cut = `Array.from(document.querySelectorAll('main [role=region]'))
  .filter((box) => box.querySelector('table') && box.scrollWidth > box.clientWidth)
  .map((box) => box.ariaLabel + ': ' + (box.scrollWidth - box.clientWidth))`

/** Fills the server with long names, every kind of account, and a package with documents and scores. Returns the id of the member. */
async function fill(app: TestApp & { url: string }): Promise<string> {
  const owner = await app.owner()
  const {
    id,
    secret = '',
    email,
  } = await app.member({
    displayName: 'Alexandra Wintersteiger-Montgomery',
    email: 'alexandra.wintersteiger@engineering.example.com',
  })
  await app.admin({ displayName: 'Adam Admin' })
  await app.viewer({ displayName: 'Vera Viewer', isActive: false })
  await owner.post('/api/admin/users', { email: 'ivy@example.com', displayName: 'Ivy Invited', mode: 'invite' })
  for (const version of ['1.0.0', '1.1.0']) {
    await publishTo(app.url, secret, { name: 'acme', version, files })
    await storeReport(app, 'acme', reportOf(1, 2), version)
  }
  await publishTo(app.url, secret, { name: 'a_package_with_a_rather_long_name_that_wraps', version: '10.11.12-dev.20261124' })
  await owner.post('/api/publishers', { id: 'company', displayName: 'Company of Harbors' })
  await startSession(await openPage(app.url), app.url, email)
  return id
}

/** Fails if any axe rule is violated, whatever its severity. */
async function expectNoViolations(page: Page, name: string): Promise<void> {
  const violations = await violationsIn(page)
  expect(
    violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(' ')}`),
    name,
  ).toEqual([])
}

/** Fails if the page, or a table of the administration, overflows at the width of a tablet. */
async function expectFitsTablets(page: Page, path: string): Promise<void> {
  const isAdministration = path.startsWith('/admin')
  for (const width of isAdministration ? tabletWidths : tabletWidths.slice(-1)) {
    await page.setViewportSize({ width, height: 1024 })
    await settled(page)
    if (isAdministration) expect(await page.evaluate(cut), `${path} at ${width}`).toEqual([])
    expect(await overflow(page), `${path} at ${width}`).toBeLessThanOrEqual(0)
  }
  await screenshot(page, `tablet${path.replaceAll('/', '-')}`)
}

it('has a unique title, one main heading, no axe violations and no overflow on every page, in both color schemes and at four widths', async () => {
  const upstream = await Upstream.start()
  upstream.publish('colors', '1.0.0', { files: { 'README.md': readme } })
  await using app = await consoleApp({ env: { SIGNUP_ENABLED: 'true', UPSTREAM_URL: upstream.url } })
  const id = await fill(app)
  const page = await openPage(app.url)
  await startSession(page, app.url, (await app.owner()).email)
  const parameters = { ':name': 'acme', ':version': '1.0.0', ':slug': 'company', ':id': id, ':page': 'publishing' }
  const titles = new Map<string, string[]>()
  for (const route of new Set(consoleRoutes())) {
    if (skippedRoutes.has(route)) continue
    const known = route.replace('/mirror/packages/:name', '/mirror/packages/colors').replace('/**', '/lib/acme.dart')
    const path = known.replace(/:\w+/g, (parameter) => parameters[parameter as keyof typeof parameters])
    await page.goto(path)
    await page.getByRole('heading', { level: 1 }).first().waitFor()
    await settled(page)
    titles.set(await page.title(), [...(titles.get(await page.title()) ?? []), path])
    expect(await page.getByRole('main').count(), path).toBe(1)
    expect(await page.locator('h1:not([aria-level])').count(), path).toBe(1)
    await expectNoViolations(page, path)
    await expectFitsTablets(page, path)
    await showAs(page, 'telephone', 'dark')
    await drawn(page)
    await expectNoViolations(page, `${path} on a phone`)
    expect(await overflow(page), `${path} on a phone`).toBeLessThanOrEqual(0)
    await page.goto('about:blank') // has nothing to draw again when the colors and the size change
    await page.setViewportSize(sizes.desk)
    await page.emulateMedia({ colorScheme: 'light' })
  }
  // Titles list the most specific part first and end with the section of the console and the name.
  expect([...titles.keys()].filter((title) => !/^([^·–]+ · ){0,3}Snug$/.test(title))).toEqual([])
  const outside = [...titles].filter(([title, [path]]) => title.includes(' · Administration · ') !== path?.startsWith('/admin'))
  expect(outside).toEqual([])
  expect(titles.has('Changelog · acme · Snug') && titles.has('Members · Company of Harbors · Snug')).toBe(true)
  expect([...titles].filter(([, paths]) => paths.length > 1)).toEqual([])
  expect(titles.size).toBeGreaterThan(50)
}, 1_200_000)

it('has no accessibility violations or overflow in dialogs, without results and on missing pages', async () => {
  await using app = await consoleApp()
  await fill(app)
  // The browser logs the 404 responses of pages about something that does not exist.
  const page = await openPage(app.url, { tolerate: [/status of 404 .*\/(no\/such\/page|packages\/nope)/] })
  const owner = await app.owner()
  await startSession(page, app.url, owner.email)
  for (const [name, address] of Object.entries({ ...states, owner: `/admin/users/${owner.id}` })) {
    await page.goto(address)
    await page
      .getByRole(name.startsWith('new-') ? 'dialog' : 'heading')
      .first()
      .waitFor()
    await expectSound(page, name)
  }
}, 600_000)
