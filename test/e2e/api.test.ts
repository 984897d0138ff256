import { expect, it } from 'vitest'
import { readApi } from '../../server/analysis/dart/read-api.ts'
import { shapes } from '../support/api.ts'
import { openPage, settled } from '../support/browser.ts'
import { consoleApp, publishTo, sharedConsole, startSession } from '../support/console.ts'
import { documentVersion } from '../support/docs.ts'
import { expectSound } from '../support/looks.ts'
import { makePublic, setSwitch } from '../support/public-packages.ts'

const start = sharedConsole()
const source = `/// Shapes.
library;

/// Something to draw.
abstract class Shape {
  /// In square pixels.
  double get area;
}

/// A round [Shape].
class Circle extends Shape {
  /// A circle around [other], with a [margin].
  Circle.around(Shape other, {double margin = 1.5});

  @override
  double get area => 1;
}
`

/** Publishes and documents versions of a package with its sources, and opens a page as its author. */
async function openDocs(name: string, path: string, sources: Record<string, string>) {
  const app = await start()
  const author = await app.member()
  for (const [version, text] of Object.entries(sources)) {
    await publishTo(app.url, author.secret ?? '', { name, version, files: { 'lib/shapes.dart': text } })
    await documentVersion(app, name, version, await readApi(new Map([['lib/shapes.dart', text]]), name))
  }
  const page = await openPage(app.url)
  await startSession(page, app.url, author.email)
  await page.goto(path)
  return page
}

it('shows libraries, types and members, and where they are declared', async () => {
  const page = await openDocs('round', '/packages/round', { '1.2.0': source })
  await page.getByRole('link', { name: 'API', exact: true }).click()
  const text = page.getByRole('article')
  await text.getByRole('link', { name: 'shapes' }).click()
  await page.waitForURL('**/packages/round/api/shapes')
  await expectSound(page, 'api-library')
  const list = page.getByRole('navigation', { name: 'Libraries and declarations' })
  await list.getByRole('searchbox').fill('circ')
  await expect.poll(() => list.getByRole('link', { name: 'Shape', exact: true }).count()).toBe(0)
  await list.getByRole('link', { name: 'Circle' }).press('Enter')
  await text.getByRole('heading', { name: 'Circle class' }).waitFor()
  await page.waitForURL('**/packages/round/api/shapes/Circle')
  expect(await page.title()).toMatch(/^Circle · round/)
  await expectSound(page, 'api-type')
  const crumbs = page.getByRole('navigation', { name: 'Breadcrumb' })
  expect(await crumbs.getByRole('listitem').allInnerTexts()).toEqual(['API\n/', 'shapes\n/', 'Circle'])
  await page.getByRole('navigation', { name: 'On this page' }).getByRole('link', { name: 'Circle.around' }).click()
  await page.waitForURL('**/api/shapes/Circle#Circle.around')
  await page.locator('.marked').getByRole('heading', { name: 'Circle.around' }).waitFor()
  await text.getByRole('link', { name: 'lib/shapes.dart:13' }).click()
  await page.waitForURL('**/packages/round/versions/1.2.0/files/lib/shapes.dart#L13')
  await page.locator('#L13.marked').getByText('Circle.around(').waitFor()
  await expectSound(page, 'api-source')
  await page.getByRole('link', { name: 'Documentation of Circle.around' }).press('Enter')
  await page.waitForURL('**/packages/round/versions/1.2.0/api/shapes/Circle#Circle.around')
  await page.locator('.marked').getByRole('heading', { name: 'Circle.around' }).waitFor()
  await page.goBack()
  await page.goBack()
  await page.getByRole('heading', { name: 'Circle class' }).waitFor()
  await crumbs.getByRole('link', { name: 'shapes' }).click()
  await page.waitForURL('**/packages/round/api/shapes')
})

it('links names in the code of the README to their documentation', async () => {
  const app = await start()
  const author = await app.member()
  const readme =
    '# Linked\n\nUse `Circle`, `Circle.around()`, `Square` or [`Shape`](https://example.com).\n\n```dart\n// A Circle.\nfinal Circle one = Circle.around(Circle());\n```\n'
  await publishTo(app.url, author.secret ?? '', {
    name: 'linked',
    version: '1.0.0',
    files: { 'lib/shapes.dart': source, 'README.md': readme },
  })
  await documentVersion(app, 'linked', '1.0.0', await readApi(new Map([['lib/shapes.dart', source]]), 'linked'))
  const page = await openPage(app.url)
  await startSession(page, app.url, author.email)
  await page.goto('/packages/linked')
  const links = page.getByRole('article').locator('a.name-link')
  await expect.poll(() => links.allTextContents()).toEqual(['Circle', 'Circle.around()', 'Circle'])
  await expectSound(page, 'readme-names')
  expect(await page.locator('.code-block pre').textContent()).toContain('final Circle one = Circle.around(Circle());')
  await links.last().press('Enter')
  await page.waitForURL('**/packages/linked/api/shapes/Circle')
  await page.getByRole('heading', { name: 'Circle class' }).waitFor()
})

it('stays on the member when the version changes, and shows what is near where it does not exist', async () => {
  const page = await openDocs('square', '/packages/square/api/shapes/Circle#Circle.around', {
    '1.0.0': source.replace('Circle.around', 'Circle.near'),
    '1.1.0': source.replaceAll('Circle', 'Round'),
    '2.0.0': source,
  })
  const choose = async (version: string) => {
    await page.getByRole('button', { name: /switch version/ }).click()
    await page.getByRole('option', { name: version }).click()
  }
  await page.locator('.marked').getByRole('heading', { name: 'Circle.around' }).waitFor()
  await choose('1.0.0')
  await page.waitForURL('**/packages/square/versions/1.0.0/api/shapes/Circle#Circle.around')
  await page.getByText('Circle has no member Circle.around in 1.0.0.').waitFor()
  await expectSound(page, 'api-without-member')
  await choose('1.1.0')
  await page.getByText('Circle is not in the API of 1.1.0. This is the nearest page.').waitFor()
  await page.getByRole('article').getByRole('link', { name: 'Round', exact: true }).click()
  await page.waitForURL('**/packages/square/versions/1.1.0/api/shapes/Round')
  await choose('2.0.0')
  await page.waitForURL('**/packages/square/api/shapes/Round')
  await page.getByRole('link', { name: 'Overview' }).click()
  await page.waitForURL('**/packages/square/api')
})

it('leads anonymous visitors of public packages on from old addresses', async () => {
  await using app = await consoleApp({ env: { PUBLIC_PACKAGES_ENABLED: 'true' } })
  const author = await app.member()
  await publishTo(app.url, author.secret ?? '', { name: 'shapes', version: '1.2.0' })
  await documentVersion(app, 'shapes', '1.2.0', shapes)
  await setSwitch(app, true)
  await makePublic(app, 'shapes')
  const page = await openPage(app.url)
  await page.goto(`${app.url}/documentation/shapes/latest/shapes/Circle.html#Circle.around`)
  await page.waitForURL(`${app.url}/packages/shapes/api/shapes/Circle#Circle.around`)
  await page.locator('.marked').getByRole('heading', { name: 'Circle.around' }).waitFor()
  await page.getByRole('article').getByRole('link', { name: 'Shape', exact: true }).first().click()
  await page.waitForURL(`${app.url}/packages/shapes/api/shapes/Shape`)
  await page.getByRole('heading', { name: 'Shape class' }).waitFor()
  expect(await page.title()).toMatch(/^Shape · shapes/)
})

it('shows the state of documentation that is not generated yet', async () => {
  const app = await start()
  const author = await app.member()
  await publishTo(app.url, author.secret ?? '', { name: 'waiting', version: '1.0.0' })
  const page = await openPage(app.url)
  await startSession(page, app.url, author.email)
  await page.goto('/packages/waiting/api')
  await page.getByText('No API documentation').waitFor()
  await settled(page)
  expect(await page.getByRole('link', { name: 'API', exact: true }).getAttribute('aria-current')).toBe('page')
  await expectSound(page, 'api-waiting')
})
