import { expect, it } from 'vitest'
import { openPage, screenshot, settled } from '../support/browser.ts'
import { choose, consoleApp, publishTo, startSession } from '../support/console.ts'
import { advisory, importMutation } from '../support/advisories.ts'
import { expectSound } from '../support/looks.ts'
import { makePublic } from '../support/public-packages.ts'

it('sorts by the time that it shows, marks packages with badges and scores, and explains matches', async () => {
  await using app = await consoleApp({ env: { PUBLIC_PACKAGES_ENABLED: 'true' } })
  const alice = await app.member()
  const readme = '# Charts\n\nDraws charts, and retries **downloads** with backoff.\n'
  await publishTo(app.url, alice.secret ?? '', { name: 'aaa_charts', version: '1.0.0', files: { 'README.md': readme } })
  await publishTo(app.url, alice.secret ?? '', { name: 'bbb_forms', version: '1.0.0' })
  await publishTo(app.url, alice.secret ?? '', { name: 'ccc_hidden', version: '1.0.0' })
  await alice.put('/api/packages/aaa_charts/options', { isDiscontinued: true })
  await alice.put('/api/packages/ccc_hidden/options', { isUnlisted: true })
  await makePublic(app, 'bbb_forms')
  const osv = JSON.stringify(advisory('GHSA-0000-0000-0000', 'bbb_forms', { versions: ['1.0.0'] }))
  await (await app.admin()).graphql(importMutation, { osv })
  const page = await openPage(app.url)
  await startSession(page, app.url, alice.email)
  await page.goto('/packages')
  const results = page
    .getByRole('main')
    .getByRole('heading', { level: 2 })
    .filter({ has: page.getByRole('link') })
  await expect.poll(() => results.allTextContents()).toEqual(['bbb_forms', 'aaa_charts'])
  const entry = (name: string) =>
    page
      .getByRole('main')
      .getByRole('listitem')
      .filter({ has: page.getByRole('link', { name, exact: true }) })
  await entry('aaa_charts').getByText('Discontinued').waitFor()
  await entry('bbb_forms').getByText('Public', { exact: true }).waitFor()
  await entry('bbb_forms').getByText('Security advisory').waitFor()
  await choose(page, 'Sort by', 'Recently changed')
  await expect.poll(() => new URL(page.url()).search).toBe('?sort=changed')
  await expect.poll(() => results.allTextContents()).toEqual(['aaa_charts', 'bbb_forms'])

  await page.goto('/packages?q=backoff')
  await entry('aaa_charts').getByText('Draws charts, and retries downloads with backoff.').waitFor()
  expect(await entry('aaa_charts').locator('mark').allTextContents()).toEqual(['backoff'])
  await expectSound(page, 'search-excerpt')

  await page.goto('/me/packages')
  await page.getByText('3 packages').waitFor()
  await entry('ccc_hidden').getByText('Unlisted').waitFor()
  await page.goto('/')
  await page.getByRole('heading', { name: 'Yours (3)' }).waitFor()
  await settled(page)
  await screenshot(page, 'home-badges')
})

it('shows how to get started until the user hides it or publishes', async () => {
  await using app = await consoleApp()
  const [alice, bob] = [await app.member(), await app.member()]
  await publishTo(app.url, alice.secret ?? '', { name: 'acme', version: '1.0.0' })
  const page = await openPage(app.url)
  const guide = page.getByRole('heading', { name: 'Use this registry' })
  const recent = page.getByRole('region', { name: 'Recently updated' })
  await startSession(page, app.url, alice.email)
  await page.goto('/')
  await recent.getByRole('link', { name: 'acme' }).waitFor()
  expect(await guide.count()).toBe(0)
  await startSession(page, app.url, bob.email)
  await page.goto('/')
  await guide.waitFor()
  await expectSound(page, 'home-start')
  await page.getByRole('button', { name: 'Hide “Use this registry”' }).click()
  await guide.waitFor({ state: 'detached' })
  await page.reload()
  await recent.getByRole('link', { name: 'acme' }).waitFor()
  expect(await guide.count()).toBe(0)
})
