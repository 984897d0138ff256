import { expect, it } from 'vitest'
import { openPage, screenshot } from '../support/browser.ts'
import { consoleApp, publishTo, startSession } from '../support/console.ts'
import { expectSound } from '../support/looks.ts'
import { storeSurface, surfaceOf } from '../support/surfaces.ts'

const long = (type: string) =>
  `Future<Map<String, ${type}>> three(Map<String, ${type}> first, {required void Function(Object error, StackTrace trace) onError})`

it('compares the APIs of two selected versions', async () => {
  await using app = await consoleApp()
  const { email, secret = '' } = await app.member()
  await publishTo(app.url, secret, ...['1.0.0', '1.1.0', '1.2.0', '1.3.0'].map((version) => ({ name: 'acme', version })))
  await storeSurface(app, '1.0.0', surfaceOf({ one: 'void one()', two: 'void two()', three: long('int') }))
  await storeSurface(app, '1.1.0', surfaceOf({ one: 'void one(int times)', three: long('String'), four: 'void four()' }))
  await storeSurface(app, '1.2.0', surfaceOf({ one: 'void one(int times)', three: long('String'), four: 'void four()' }))
  const page = await openPage(app.url)
  await startSession(page, app.url, email)
  await page.goto('/packages/acme/versions')
  await page.getByRole('link', { name: 'Changes in 1.1.0' }).click()
  await page.getByText('1 removal and 2 breaking changes in a minor release').waitFor()
  await page.getByText('semantic versioning requires a higher version number than 1.1.0.').waitFor()
  const removed = page.getByRole('region', { name: /^Removed/ })
  expect(await removed.getByRole('listitem').allTextContents()).toEqual([expect.stringContaining('two')])
  expect(await page.getByRole('navigation', { name: 'acme: sections' }).locator('[aria-current]').textContent()).toContain('Versions')
  await expectSound(page, 'api-changes')

  await page
    .getByRole('combobox', { name: 'To' })
    .or(page.getByRole('button', { name: 'To' }))
    .click()
  await page.getByPlaceholder('Part of a version').fill('1.2')
  await page.getByRole('option', { name: '1.2.0', exact: true }).click()
  await page.getByText('The public API of 1.2.0 is the same as that of 1.1.0.').waitFor()
  expect(new URL(page.url()).search).toBe('?to=1.2.0')
  await page.goto('/packages/acme/changes?from=1.0.0&to=1.2.0')
  await page.getByText('1 removal and 2 breaking changes in a minor release').waitFor()
  // The latest version was not analyzed.
  await page.goto('/packages/acme/changes')
  await page.getByText('Choose under “From” which version to compare with 1.3.0.').waitFor()
  await page.goto('/packages/acme/changes?from=1.0.0')
  await page.getByText('These versions cannot be compared').waitFor()
  await screenshot(page, 'api-changes-none')
})

it('shows an error when the versions cannot be listed, and retries', async () => {
  await using app = await consoleApp()
  const { email, secret = '' } = await app.member()
  await publishTo(app.url, secret, { name: 'acme', version: '1.0.0' })
  const page = await openPage(app.url, { tolerate: [/status of 500/] })
  await startSession(page, app.url, email)
  const isList = (body: string | null) => body?.includes('VersionNumbers') === true
  await page.route('**/graphql', (route) => (isList(route.request().postData()) ? route.fulfill({ status: 500 }) : route.fallback()))
  await page.goto('/packages/acme/changes')
  const retry = page.getByRole('alert').getByRole('button', { name: 'Retry' })
  await retry.waitFor()
  await expectSound(page, 'api-changes-failure')
  await page.unrouteAll()
  await retry.press('Enter')
  await expect.poll(() => page.getByRole('alert').count()).toBe(0)
  await expect.poll(() => page.evaluate('document.activeElement.tagName')).toBe('H1') // the button was removed
  await page
    .getByRole('combobox', { name: 'From' })
    .or(page.getByRole('button', { name: 'From' }))
    .click()
  await page.getByRole('option', { name: '1.0.0' }).waitFor()
})
