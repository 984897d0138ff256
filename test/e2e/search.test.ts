import { setTimeout as wait } from 'node:timers/promises'
import type { Locator, Response } from 'playwright-core'
import { expect, it } from 'vitest'
import type { TestApp } from '../app.ts'
import { openPage, settled } from '../support/browser.ts'
import { choose, consoleApp, overflow, publishTo, startSession } from '../support/console.ts'
import { writeDownloads } from '../support/downloads.ts'
import { expectSound } from '../support/looks.ts'

const mit =
  'MIT License\n\nPermission is hereby granted, free of charge, to any person.\n\nThe above copyright notice and this permission notice shall be included in all copies.'
const flutter = 'dependencies:\n  flutter:\n    sdk: flutter\n'

async function publishSamples(app: TestApp & { url: string }) {
  const alice = await app.member({ displayName: 'Grace Hopper' })
  await publishTo(
    app.url,
    alice.secret ?? '',
    { name: 'http_kit', version: '1.0.0', pubspec: 'topics: [network]\n', files: { LICENSE: mit } },
    { name: 'camera_view', version: '0.3.0', pubspec: `${flutter}platforms:\n  android:\n  ios:\n`, files: { LICENSE: mit } },
    { name: 'charts', version: '2.1.0', pubspec: flutter, files: {} },
  )
  return alice
}

it('narrows a search with filters that are part of the URL', async () => {
  await using app = await consoleApp()
  const { email } = await publishSamples(app)
  const page = await openPage(app.url)
  await startSession(page, app.url, email)
  await page.goto('/packages')
  const results = page
    .getByRole('main')
    .getByRole('heading', { level: 2 })
    .filter({ has: page.getByRole('link') })
  await page.getByRole('status').filter({ hasText: '3 packages' }).waitFor()
  const filters = page.getByRole('navigation', { name: 'Filters', exact: true })
  expect(await filters.getByRole('checkbox', { name: /Private/ }).count(), 'a filter that all packages match').toBe(0)
  const license = filters.getByRole('checkbox', { name: 'MIT 2 packages' })
  for (const [text, isOn] of [
    ['2 packages', true],
    ['3 packages', false],
    ['2 packages', true],
  ] as const) {
    await license.press('Space')
    await page.getByRole('status').filter({ hasText: text }).waitFor()
    await filters.getByRole('checkbox', { name: 'MIT 2 packages', checked: isOn }).waitFor()
    await expect.poll(() => license.evaluate((one) => one.matches(':focus'))).toBe(true)
  }
  await filters.getByRole('checkbox', { name: 'Android 1 package', exact: true }).click()
  await page.waitForURL(/q=license:mit\+platform:android|q=license%3Amit\+platform%3Aandroid/)
  await page.getByRole('status').filter({ hasText: '1 package' }).waitFor()
  expect(await results.allTextContents()).toEqual([expect.stringContaining('camera_view')])
  await expectSound(page, 'packages-filtered')
  const remove = page.getByRole('link', { name: 'Remove the filter License: MIT' })
  await remove.click()
  await remove.waitFor({ state: 'hidden' })
  await page.goBack()
  await page.getByRole('link', { name: 'Clear filters' }).click()
  await page.getByRole('status').filter({ hasText: '3 packages' }).waitFor()
  await choose(page, 'Sort by', 'Name')
  await expect.poll(() => results.first().textContent()).toContain('camera_view')
  await expectSound(page, 'packages')
})

it('scrolls to the number of results when a filter further down is selected', async () => {
  await using app = await consoleApp()
  const { email, secret = '' } = await publishSamples(app)
  const topics = (at: number) => `topics: [${['a', 'b', 'c'].map((name) => `${name}-topic-${at}`).join(', ')}]\n`
  for (let at = 0; at < 12; at++) await publishTo(app.url, secret, { name: `kit_${at}`, version: '1.0.0', pubspec: topics(at) })
  const page = await openPage(app.url, { viewport: { width: 1280, height: 500 } })
  await startSession(page, app.url, email)
  const found = (text: string) => page.getByRole('status').filter({ hasText: text })
  const top = async (one: Locator) => (await one.boundingBox())?.y
  const inWindow = expect.toSatisfy((y?: number) => y !== undefined && y > 0 && y < 500)
  for (const width of [1280, 390]) {
    await page.setViewportSize({ width, height: 500 })
    await page.goto('/packages')
    await found('15 packages').waitFor()
    const opener = page.getByRole('button', { name: 'Filters' })
    if (width === 390) {
      await opener.click()
      await expect.poll(() => top(page.getByRole('button', { name: 'Show 15 packages' }))).toEqual(inWindow)
    }
    await page.getByRole('navigation', { name: 'Filters', exact: true }).getByRole('checkbox', { name: 'MIT 2 packages' }).click()
    await found('2 packages').waitFor()
    if (width === 390) await page.getByRole('button', { name: 'Show 2 packages' }).click()
    await expect.poll(() => top(found('2 packages'))).toEqual(inWindow)
  }
  await page.getByRole('navigation', { name: 'Filters', exact: true }).waitFor({ state: 'detached' })
})

it('completes input, corrects typos, and suggests other searches', async () => {
  await using app = await consoleApp()
  const { email } = await publishSamples(app)
  const page = await openPage(app.url)
  await startSession(page, app.url, email)
  await page.goto('/packages')
  const box = page.getByRole('main').getByRole('combobox', { name: 'Search packages' })
  await box.click()
  const isAnswer = (response: Response) => response.request().postData()?.includes('"query":"lic"') === true
  await Promise.all([page.waitForResponse(isAnswer), box.pressSequentially('lic')])
  await settled(page) // later completions would reset the selection in the list
  await page.getByRole('option', { name: 'license:' }).waitFor()
  await page.keyboard.press('ArrowDown')
  await page.keyboard.press('Enter')
  await expect.poll(() => box.inputValue()).toBe('license:')
  await box.pressSequentially('m')
  await page.getByRole('option', { name: /license:mit 2/ }).click()
  await page.getByRole('status').filter({ hasText: '2 packages' }).waitFor()
  await box.fill('camera')
  await page.getByRole('option', { name: 'camera_view' }).waitFor()
  expect(await page.getByRole('main').getByText('/', { exact: true }).count()).toBe(0)
  await page.keyboard.press('Escape')
  await page.getByRole('option').first().waitFor({ state: 'hidden' })
  expect(await box.inputValue()).toBe('camera')
  await page.keyboard.press('Escape')
  await expect.poll(() => box.inputValue()).toBe('')
  await box.fill('camera')
  const option = page.getByRole('option', { name: 'camera_view' })
  await option.hover()
  await box.pressSequentially('_')
  await page.mouse.down() // before the completions are queried again
  await wait(300)
  await page.mouse.up()
  await page.getByRole('heading', { name: 'camera_view 0.3.0' }).waitFor()
  await page.goto('/packages?q=camera_veiw')
  await page.getByText('1 package for “camera_view” instead of “camera_veiw”').waitFor()
  await page.getByRole('link', { name: 'camera_view', exact: true }).waitFor()
  await page.goto('/packages?q=camera_view+has:example')
  await page.getByText('1 package for “camera_view” instead of “camera_view has:example”').waitFor()
  await page.goto('/packages?q=license:mit+updated:2w')
  await page.getByText('2 packages, ignoring “updated:2w”').waitFor()
  await page.goto('/packages?q=camrea_veiw')
  await page.getByText('Nothing found for “camrea_veiw”').waitFor()
  await expectSound(page, 'packages-none')
  await page.getByRole('link', { name: 'camera_view', exact: true }).click()
  await page.getByText('1 package for “camera_view”').waitFor()
  await page.getByRole('main').getByRole('combobox', { name: 'Search packages' }).fill('http kit')
  await page.keyboard.press('Enter')
  await page.getByText('1 package for “http kit”').waitFor()
  await page.getByRole('link', { name: 'http_kit', exact: true }).waitFor()
  await page.goto(`/packages?q=${'long'.repeat(60)}`)
  await page.getByText('Nothing found for').waitFor()
  expect(await overflow(page)).toBeLessThanOrEqual(0)
})

it('shows the downloads of a package, and adds and removes a like', async () => {
  await using app = await consoleApp()
  const alice = await publishSamples(app)
  const now = Date.now()
  for (let week = 40; week >= 0; week--) {
    app.clock.now = new Date(now - week * 7 * 86_400_000)
    for (let count = 0; count < (week % 7) + 1; count++) await alice.get('/api/archives/http_kit-1.0.0.tar.gz')
  }
  app.clock.now = null
  await writeDownloads(app)
  await app.services.database.fork().execute("update package_search_documents set downloads = 16 where name = 'http_kit'")
  const page = await openPage(app.url)
  await startSession(page, app.url, alice.email)
  await page.goto('/')
  await page.getByRole('region', { name: 'Most downloads in 30 days' }).getByRole('link', { name: 'http_kit' }).waitFor()
  await expectSound(page, 'home')
  await page.getByRole('region', { name: 'Yours (3)' }).getByRole('link', { name: 'http_kit' }).click()
  const about = page.getByRole('complementary')
  const figures = page.getByRole('list', { name: 'Popularity and score' }).getByRole('listitem')
  await figures.filter({ hasText: /^16 *30-day downloads$/ }).waitFor()
  await about.getByRole('img', { name: /^Downloads by week: \d+ in the last 52 weeks; the best week/ }).waitFor()
  await page.getByRole('button', { name: 'Like http_kit', pressed: false }).click()
  await figures.filter({ hasText: /1 *like$/ }).waitFor()
  const liked = await app.services.database.reads.all('select user_id from package_likes')
  expect(liked).toHaveLength(1)
  await expectSound(page, 'package-popularity')
  await page.reload()
  await page.getByRole('button', { name: 'Like http_kit', pressed: true }).click()
  await figures.filter({ hasText: /0 *likes$/ }).waitFor()
  await page.getByRole('list', { name: 'SDKs' }).getByRole('link', { name: 'Dart', exact: true }).click()
  await page.waitForURL(/q=sdk(:|%3A)dart/)
  await page.getByRole('status').filter({ hasText: '1 package' }).waitFor()
})

it('searches before the completions are loaded, and completes what was typed until then', async () => {
  await using app = await consoleApp()
  const { email } = await publishSamples(app)
  const page = await openPage(app.url)
  await startSession(page, app.url, email)
  const { promise: arrives, resolve: arrive } = Promise.withResolvers<void>()
  await page.route(/\/assets\/menus-[^/]+\.js$/, async (route) => {
    await arrives
    await route.continue()
  })
  await page.goto('/packages/http_kit')
  const box = page.getByRole('banner').getByRole('combobox', { name: 'Search packages' })
  await box.waitFor()
  await page.keyboard.press('/')
  await page.keyboard.type('camera_vew')
  await page.keyboard.press('ArrowLeft')
  await page.keyboard.press('ArrowLeft')
  arrive()
  await page.locator('[role=combobox][aria-controls]').waitFor()
  await page.keyboard.type('i') // at the place where the user was
  await page.getByRole('option', { name: 'camera_view' }).waitFor()
  expect(await box.inputValue()).toBe('camera_view')
  await page.keyboard.press('Enter')
  await page.waitForURL('**/packages?q=camera_view')
})

it('keeps the search field in the header usable at any viewport width', async () => {
  await using app = await consoleApp()
  const { email } = await publishSamples(app)
  const page = await openPage(app.url)
  await startSession(page, app.url, email)
  await page.goto('/packages/http_kit')
  const box = page.getByRole('banner').getByRole('combobox', { name: 'Search packages' })
  await box.waitFor()
  await settled(page)
  for (const width of [360, 640, 768, 1024, 1280]) {
    await page.setViewportSize({ width, height: 740 })
    await expect.poll(() => page.evaluate('innerWidth')).toBe(width)
    const bounds = async () => ({ width, box: (await box.boundingBox())?.width })
    await expect.poll(bounds).toMatchObject({ width, box: expect.toSatisfy((box: number) => box >= 160) })
  }
})
