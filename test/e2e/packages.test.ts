import type { Locator } from 'playwright-core'
import { expect, it } from 'vitest'
import { expectAccessible, openPage, screenshot, settled } from '../support/browser.ts'
import { consoleApp, overflow, publishTo, startSession } from '../support/console.ts'

const readme =
  '# acme_http\n\nTalks **HTTP**. See [usage](#usage).\n\n' +
  `## Usage\n\n| Option | Default |\n| --- | --- |\n| \`retries\` | 3 |\n\n- [x] Retries\n\n\`\`\`dart\nvoid main() {}\n\`\`\`\n\n<script>alert(1)</script>\n${'\nWords.\n'.repeat(60)}`
const more = 'repository: https://github.com/acme/http\ntopics: [network]\nplatforms:\n  linux:\nexecutables:\n  acme:'
const files = { 'README.md': readme, 'CHANGELOG.md': '## 1.2.0\n\n- Faster.\n', 'example/example.md': '# How to\n' }
const versions = ['1.0.0', '1.2.0', '2.0.0-dev.1'].map((version) => ({ name: 'acme_http', version, pubspec: more, files }))

it('creates a token, and shows a package that was published with it', async () => {
  await using app = await consoleApp()
  const { email } = await app.member({ displayName: 'Grace Hopper' })
  const page = await openPage(app.url)
  await startSession(page, app.url, email)
  await page.goto('/')
  await page.getByRole('heading', { name: 'Publish the first package' }).waitFor()
  await page.getByRole('link', { name: 'Create a token' }).click()
  await page.getByLabel('Name').fill('laptop')
  await page.getByRole('button', { name: 'Create token' }).click()
  const secret = (await page.locator('[data-secret]').textContent()) ?? ''
  expect(secret).toMatch(/^svc_pat_\w{38}$/)
  await screenshot(page, 'token-secret')
  await page.getByLabel('I have saved it').click()
  await page.getByRole('button', { name: 'Done' }).click()
  await page.getByRole('row', { name: /laptop.*Read and publish.*Never.*in 3 months/ }).waitFor()
  await expect.poll(() => page.content()).not.toContain(secret)

  await publishTo(app.url, secret, ...versions)
  await page.getByRole('link', { name: 'Snug, home' }).click()
  await page.getByRole('heading', { name: 'acme_http' }).getByRole('link').click()
  await page.getByRole('heading', { name: 'acme_http 1.2.0' }).waitFor()
  const about = page.getByRole('complementary')
  await about.getByText('Grace Hopper').waitFor()
  expect(await about.getByRole('link', { name: 'Repository' }).getAttribute('href')).toBe('https://github.com/acme/http')
  await page.getByRole('article').getByRole('heading', { name: 'Usage' }).waitFor()
  expect(await page.locator('article script').count()).toBe(0)
  await expectAccessible(page)
  await screenshot(page, 'package')
})

it('shows every tab of a package at its own URL', async () => {
  await using app = await consoleApp()
  const { email, secret = '' } = await app.member()
  await publishTo(app.url, secret, ...versions)
  const page = await openPage(app.url, { tolerate: [/status of 404 .*\/9\.9\.9/] })
  await startSession(page, app.url, email)
  await page.goto('/packages/acme_http')
  await page.getByRole('link', { name: 'usage', exact: true }).click()
  await expect.poll(() => page.evaluate('scrollY')).toBeGreaterThan(0)
  await expect.poll(() => page.url()).toBe(`${app.url}/packages/acme_http#doc-usage`)

  const tabs = page.getByRole('navigation', { name: 'acme_http: sections' })
  await tabs.getByRole('link', { name: 'Changelog' }).click()
  await page.getByText('Faster.').waitFor()
  await expect.poll(() => page.title()).toBe('Changelog · acme_http · Snug')
  await tabs.getByRole('link', { name: 'Install' }).click()
  await page.getByRole('region', { name: 'token command' }).getByText(`dart pub token add ${app.url}`).waitFor()
  await page.getByText('dart pub global activate').waitFor()
  await page.getByRole('radio', { name: 'Flutter' }).press('Space')
  await page.getByRole('region', { name: 'add command' }).getByText('flutter pub add').waitFor()
  await expect.poll(() => page.url()).toBe(`${app.url}/packages/acme_http/install?tool=flutter`)

  await tabs.getByRole('link', { name: 'Versions 3' }).click()
  const order = () => page.getByRole('rowheader').allTextContents()
  await page.getByRole('button', { name: /^2\.x/ }).click()
  await expect.poll(order).toEqual(['2.0.0-dev.1Pre-release', '1.2.0LatestFaster.', '1.0.0'])
  const ones = page.getByRole('table', { name: 'Versions of acme_http, 1.x' })
  expect(await ones.getByRole('columnheader', { name: 'Version' }).getAttribute('aria-sort')).toBe('descending')
  await ones.getByRole('button', { name: 'Version', exact: true }).click()
  await expect.poll(order).toEqual(['1.0.0', '1.2.0LatestFaster.', '2.0.0-dev.1Pre-release'])
  await page.getByRole('button', { name: 'Actions for 1.0.0' }).click()
  const archive = page.getByRole('menuitem', { name: /^Download archive/ })
  const [download] = await Promise.all([page.waitForEvent('download'), archive.click()])
  expect(download.suggestedFilename()).toBe('acme_http-1.0.0.tar.gz')

  await page.getByRole('link', { name: '1.0.0', exact: true }).click()
  await page.getByText('This is version 1.0.0, not the latest.').waitFor()
  await page.getByRole('link', { name: 'Go to 1.2.0' }).click()
  await page.waitForURL(`${app.url}/packages/acme_http`)

  await page.goto('/packages/acme_http/versions/9.9.9')
  await page.getByText('acme_http has no version 9.9.9.').waitFor()
  await page.getByRole('link', { name: 'All versions' }).click()
  await expect.poll(order).toEqual(['1.2.0LatestFaster.', '1.0.0'])
})

it('marks empty documents, and wraps the longest names and versions within the viewport', async () => {
  await using app = await consoleApp()
  const { id, email, secret = '' } = await app.member({ displayName: 'a'.repeat(100) })
  const name = 'a'.repeat(64)
  await publishTo(app.url, secret, {
    name,
    version: '10.20.30-a.very.long.prerelease.identifier.1',
    files: { 'README.md': '', 'CHANGELOG.md': '\n' },
  })
  const page = await openPage(app.url, { viewport: { width: 360, height: 740 } })
  await startSession(page, app.url, email)
  await page.goto(`/packages/${name}`)
  await page.getByText('No README').waitFor()
  const box = async (one: Locator) => (await one.boundingBox()) ?? { x: 0, width: Infinity }
  for (const part of [page.getByRole('heading', { level: 1 }), page.getByRole('button', { name: /switch version$/ })]) {
    const { x, width } = await box(part)
    expect(x + width).toBeLessThanOrEqual(360)
  }
  await page.goto(`/packages/${name}/changelog`)
  await page.getByText('No changelog').waitFor()
  await page.goto('/')
  const mine = page.getByRole('region', { name: /^Yours/ }).getByRole('listitem')
  await mine.waitFor()
  expect((await box(mine.getByRole('link'))).width).toBeGreaterThan((await box(mine.locator('span').first())).width)
  await startSession(page, app.url, (await app.admin()).email)
  await page.goto(`/admin/users/${id}`)
  await page.getByRole('region', { name: 'Packages', exact: true }).getByRole('link').waitFor()
  await settled(page)
  expect(await overflow(page)).toBeLessThanOrEqual(0)
  await page.goto(`/packages/${name}/changelog`)
  await page.getByText('No changelog').waitFor()
  await page.setViewportSize({ width: 1280, height: 800 }) // at this width, the uploaders are in a narrow column
  await settled(page)
  expect(await overflow(page)).toBeLessThanOrEqual(0)
})

it('renders right-to-left text in that direction, and wraps long lines of code in print', async () => {
  await using app = await consoleApp()
  const { email, secret = '' } = await app.member()
  const manifest = 'name: acme\nversion: 1.0.0\ndescription: חבילה לבדיקות של השרת.\nenvironment:\n  sdk: ^3.0.0\n'
  const text = `# שלום עולם!\n\nחבילה לבדיקות.\n\nOne more.\n\n\`\`\`dart\nfinal ${'long'.repeat(60)} = 1;\n\`\`\`\n`
  await publishTo(app.url, secret, { name: 'acme', version: '1.0.0', manifest, files: { 'README.md': text } })
  const page = await openPage(app.url)
  await startSession(page, app.url, email)
  await page.goto('/packages/acme')
  /** Returns on which side of the first character the last one is rendered. */
  const endOf = (words: string) =>
    page.getByText(words, { exact: true }).evaluate((element) => {
      const node = element.firstChild as Text
      const at = (index: number) => {
        const range = document.createRange()
        range.setStart(node, index)
        range.setEnd(node, index + 1)
        return range.getBoundingClientRect().left
      }
      return at(node.length - 1) < at(0) ? 'left' : 'right'
    })
  for (const words of ['חבילה לבדיקות של השרת.', 'שלום עולם!', 'חבילה לבדיקות.']) expect(await endOf(words), words).toBe('left')
  expect(await endOf('One more.')).toBe('right')
  const code = page.locator('pre', { hasText: 'final' })
  const isCut = () => code.evaluate(({ scrollWidth, clientWidth }) => scrollWidth > clientWidth)
  expect(await isCut()).toBe(true)
  await page.emulateMedia({ media: 'print' })
  await expect.poll(isCut).toBe(false)
})

it('finds packages, and keeps sort and page in the URL', async () => {
  await using app = await consoleApp()
  const { email, secret = '' } = await app.member()
  const names = Array.from({ length: 23 }, (_, index) => `service_${String.fromCharCode(97 + index)}`)
  await publishTo(app.url, secret, ...names.map((name) => ({ name, version: '1.0.0' })), { name: 'other', version: '1.0.0' })
  const page = await openPage(app.url)
  await startSession(page, app.url, email)
  await page.goto('/')
  await page.getByRole('button', { name: /^Account/ }).waitFor()
  await settled(page) // a page that has just loaded takes the focus
  await page.keyboard.press('/')
  await page.locator('input:focus').waitFor()
  await page.keyboard.type('service')
  await page.keyboard.press('Enter')
  await page.getByText('23 packages for “service”').waitFor()
  await page.getByRole('combobox', { name: 'Sort by' }).click()
  await page.getByRole('option', { name: 'Name' }).click()
  await expect.poll(() => new URL(page.url()).searchParams.get('sort')).toBe('name')
  await page.getByRole('link', { name: 'service_a', exact: true }).waitFor()
  await page.getByRole('navigation', { name: 'Pages' }).getByRole('link', { name: 'Page 2', exact: true }).click()
  await expect.poll(() => new URL(page.url()).search).toBe('?q=service&sort=name&page=2')
  await page.getByRole('link', { name: 'service_w', exact: true }).waitFor()
  await page.reload()
  await page.getByRole('link', { name: 'service_w', exact: true }).waitFor()
  await page.getByRole('main').getByRole('combobox', { name: 'Search packages' }).fill('nothing like it')
  await page.keyboard.press('Enter')
  await page.getByText('Nothing found for “nothing like it”').waitFor()
  await page.getByRole('link', { name: 'Show all packages' }).click()
  await page.getByRole('status').filter({ hasText: '24 packages' }).waitFor()
})

it('links to the packages and publishers from the account menu on mobile', async () => {
  await using app = await consoleApp()
  const page = await openPage(app.url, { viewport: { width: 360, height: 740 } })
  await startSession(page, app.url, (await app.member()).email)
  await page.goto('/settings/profile')
  for (const name of ['Publishers', 'Packages']) {
    await page.getByRole('button', { name: /^Account/ }).click()
    await screenshot(page, `account-menu-telephone-${name.toLowerCase()}`)
    await page.getByRole('menuitem', { name, exact: true }).click()
    await page.getByRole('heading', { name, level: 1 }).waitFor()
    expect(new URL(page.url()).pathname).toBe(`/${name.toLowerCase()}`)
  }
})
