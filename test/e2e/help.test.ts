import { globSync } from 'node:fs'
import { basename } from 'node:path'
import type { Page } from 'playwright-core'
import { expect, it } from 'vitest'
import { announceSetupCode } from '../../server/accounts/setup/service.ts'
import { openPage, screenshot } from '../support/browser.ts'
import { consoleApp, sharedConsole } from '../support/console.ts'
import { expectSound } from '../support/looks.ts'
import { root } from '../support/sources.ts'

const startShared = sharedConsole()
const names = globSync('web/help/*.md', { cwd: root }).map((file) => basename(file, '.md'))
const heading = (page: Page, name: string, level: number) => page.getByRole('heading', { name, level, exact: true })
const pathOf = (page: Page) => `${new URL(page.url()).pathname}${new URL(page.url()).hash}`
/** Returns whether an element is in the viewport and not covered by the sticky header. */
const isVisible = (element: Element) => {
  const { top, bottom } = element.getBoundingClientRect()
  const covered = document.querySelector('header')?.getBoundingClientRect().bottom ?? 0
  return top >= covered && bottom <= innerHeight
}

it('shows the help pages to users who are not signed in, below a base path', async () => {
  await using app = await consoleApp({ path: '/registry' })
  const page = await openPage(app.url)
  await page.goto(`${app.url}/login`)
  await page.getByRole('contentinfo').getByRole('link', { name: 'Help' }).click()
  await heading(page, 'Help', 1).waitFor()
  expect(await page.title()).toBe('Help · Snug')
  await expectSound(page, 'help')

  await page.getByRole('navigation', { name: 'Help pages' }).getByRole('link', { name: 'Publish and manage packages' }).click()
  await heading(page, 'Publish and manage packages', 1).waitFor()
  expect(await page.title()).toBe('Publish and manage packages · Help · Snug')
  expect(pathOf(page)).toBe('/registry/help/publishing')
  const current = page.getByRole('navigation', { name: 'Help pages' }).locator('[aria-current=page]')
  expect(await current.allTextContents()).toEqual(['Publish and manage packages'])
  await expectSound(page, 'help-page')

  await page.getByRole('article').getByRole('link', { name: 'Configuration' }).click()
  await heading(page, 'Configuration', 1).waitFor()
  expect(pathOf(page)).toBe('/registry/help/configuration#all-settings')
  await expect.poll(() => heading(page, 'All settings', 2).evaluate(isVisible)).toBe(true)
  await expectSound(page, 'help-tables')
  await page.goBack()
  await heading(page, 'Publish and manage packages', 1).waitFor()
})

it.each(['sign-in', 'passkeys', 'trusted-publishing', 'service-accounts'])('is accessible and fits on the page %s', async (name) => {
  const app = await startShared()
  const page = await openPage(app.url)
  await page.goto(`/help/${name}`)
  await page.getByRole('article').getByRole('table').first().waitFor()
  await expectSound(page, `help-${name}`)
})

it('collapses the navigation on narrow screens', async () => {
  const app = await startShared()
  const page = await openPage(app.url, { viewport: { width: 360, height: 740 } })
  await page.goto('/help/publishing')
  const toggle = page.getByRole('button', { name: 'Help pages' })
  const link = page.getByRole('link', { name: 'Kubernetes' })
  await toggle.waitFor()
  expect(await link.isVisible()).toBe(false)
  await toggle.press('Enter')
  await screenshot(page, 'help-navigation-telephone')
  await link.click()
  await heading(page, 'Kubernetes', 1).waitFor()
  expect(await link.isVisible()).toBe(false)
})

it('finds headings and texts of all pages with the keyboard, and keeps the search in the URL', async () => {
  const app = await startShared()
  const page = await openPage(app.url)
  await page.goto('/help/publishing')
  await heading(page, 'Publish and manage packages', 1).waitFor()
  await page.keyboard.press('/')
  await page.keyboard.type('retract a version')
  await heading(page, 'Results for “retract a version”', 1).waitFor()
  const field = page.getByRole('searchbox', { name: 'Search the help pages' })
  expect(await field.evaluate((element) => element === document.activeElement)).toBe(true)
  expect(new URL(page.url()).searchParams.get('q')).toBe('retract a version')
  await page
    .getByRole('status')
    .getByText(/^\d+ results/)
    .waitFor()
  await expectSound(page, 'help-results')

  const first = page.getByRole('main').getByRole('listitem').getByRole('heading').getByRole('link').first()
  expect(await first.textContent()).toBe('Retract a version')
  await first.press('Enter')
  await heading(page, 'Publish and manage packages', 1).waitFor()
  expect(pathOf(page)).toBe('/help/publishing#retract-a-version')
  await expect.poll(() => heading(page, 'Retract a version', 3).evaluate(isVisible)).toBe(true)
  expect(await field.inputValue()).toBe('')

  await page.goto('/help?q=MAX_UPLOAD_BYTES')
  await page.getByRole('listitem').getByRole('link', { name: 'What the server checks' }).waitFor()
  await field.fill('xyzzy')
  await page.getByText('No help page found').waitFor()
  await field.fill('')
  await heading(page, 'Help', 1).waitFor()
})

it('shows an error when the search index cannot be loaded, and retries', async () => {
  const app = await startShared()
  const page = await openPage(app.url, { tolerate: [/Failed to load resource/] })
  await page.goto('/help')
  await heading(page, 'Help', 1).waitFor()
  await page.route('**/assets/README-*.js', (route) => route.abort())
  await page.getByRole('searchbox', { name: 'Search the help pages' }).fill('kubernetes')
  await page.getByRole('alert').getByText('The search index could not be loaded.').waitFor()
  expect(await page.locator('h1').count()).toBe(1)
  await page.unroute('**/assets/README-*.js')
  await page.getByRole('button', { name: 'Retry' }).click()
  await page.getByRole('listitem').getByRole('link', { name: 'Kubernetes' }).last().waitFor()
})

it('shows that a help page does not exist', async () => {
  const app = await startShared()
  const page = await openPage(app.url)
  await page.goto('/help/nope')
  await heading(page, 'Not found', 1).waitFor()
  await page.getByText('The help page “nope” does not exist.').waitFor()
  await expectSound(page, 'help-missing')
  await page.getByRole('main').getByRole('link', { name: 'All help pages' }).last().click()
  await heading(page, 'Help', 1).waitFor()
})

it('shows help pages before the setup', async () => {
  await using app = await consoleApp({ setUp: false })
  await announceSetupCode(app.services)
  const page = await openPage(app.url)
  await page.goto('/help/getting-started')
  await heading(page, 'Getting started', 1).waitFor()
  expect(pathOf(page)).toBe('/help/getting-started')
})

it('has only links to pages and headings that exist, and copies code', async () => {
  const app = await startShared()
  const page = await openPage(app.url, { permissions: ['clipboard-read', 'clipboard-write'] })
  const links = new Map<string, string[]>()
  const ids = new Set(['help'])
  for (const name of names) {
    const path = name === 'README' ? 'help' : `help/${name}`
    await page.goto(`/${path}`)
    await page.getByRole('article').waitFor()
    const found = await page
      .getByRole('main')
      .locator('a[href]')
      .evaluateAll((all) => all.map((link) => link.getAttribute('href') ?? ''))
    links.set(path, found)
    ids.add(path)
    for (const id of await page.locator('article [id]').evaluateAll((all) => all.map((one) => one.id))) ids.add(`${path}#${id}`)
    expect(await page.locator('h1').count(), path).toBe(1)
  }
  expect(ids.size).toBeGreaterThan(100)
  const broken = [...links].flatMap(([path, targets]) =>
    targets
      .filter((target) => !/^(https?|mailto):/.test(target))
      .map((target) => (target.startsWith('#') ? `${path}${target}` : target.replace(/^\//, '')))
      .filter((target) => !ids.has(target)),
  )
  expect(broken).toEqual([])

  await page.goto('/help/getting-started')
  const block = page.locator('.code-block').first()
  await block.getByRole('button', { name: 'Copy code' }).click()
  await page.getByText('Copied code.').waitFor()
  const copied = await page.evaluate<string>('navigator.clipboard.readText()')
  expect(copied).toBe((await block.locator('code').textContent())?.trimEnd())
})

it('shows the help pages without JavaScript, and a sentence on other pages', async () => {
  await using app = await consoleApp({ path: '/registry' })
  const page = await openPage(app.url, { javaScriptEnabled: false })
  await page.goto(`${app.url}/login`)
  // Locators by role and text skip what is in `noscript`.
  const shown = page.locator('noscript')
  await shown.locator('p', { has: page.locator('a[href=help]') }).waitFor()
  await screenshot(page, 'without-javascript')
  await shown.locator('a[href=help]').click()
  await expect.poll(() => shown.locator('h1').textContent()).toBe('Snug help')
  await shown.locator('a[href="help/publishing"]').first().click()
  await expect.poll(() => shown.locator('h1').textContent()).toBe('Publish and manage packages')
  expect(pathOf(page)).toBe('/registry/help/publishing')
  await screenshot(page, 'help-without-javascript')
})
