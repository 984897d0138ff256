import { gzipSync } from 'node:zlib'
import { expect, it } from 'vitest'
import { readApi } from '../../server/analysis/dart/read-api.ts'
import { surfaceOf } from '../../server/analysis/dart/surface.ts'
import { openPage } from '../support/browser.ts'
import { consoleApp, publishTo, startSession } from '../support/console.ts'
import { documentVersion } from '../support/docs.ts'
import { expectSound } from '../support/looks.ts'
import { begin, reportOf, store, versionId } from '../support/reports.ts'

const source = `/// Waits longer after each failure.
class RetryPolicy {
  /// How often to try.
  int attempts = 3;
}

/// Tries again.
Future<void> retryAll() async {}
`

it('finds classes, functions and members of all packages, and opens their documentation', async () => {
  await using app = await consoleApp()
  const author = await app.member()
  await publishTo(app.url, author.secret ?? '', { name: 'patience', version: '1.0.0', files: { 'lib/patience.dart': source } })
  const api = await readApi(new Map([['lib/patience.dart', source]]), 'patience')
  const id = await versionId(app, 'patience', '1.0.0')
  const surface = gzipSync(JSON.stringify(surfaceOf(api)))
  await store(app, id, { generation: await begin(app, id), report: reportOf(1, 1), surface })
  await documentVersion(app, 'patience', '1.0.0', api)
  const page = await openPage(app.url)
  await startSession(page, app.url, author.email)
  await page.goto('/packages')
  const box = page.getByRole('main').getByRole('combobox', { name: 'Search packages' })
  await box.fill('RetPol')
  await box.press('Enter')
  await page.getByRole('navigation', { name: 'Results' }).getByRole('link', { name: 'API' }).press('Enter')
  await page.waitForURL('**/packages?q=RetPol&tab=api')
  await page.getByText('1 symbol for “RetPol”').waitFor()
  await expectSound(page, 'symbols')
  expect(await page.getByRole('listbox').count()).toBe(0) // what was searched for is not completed, although the field was loaded after the search
  await box.fill('retry')
  await box.press('Enter')
  await page.getByText('2 symbols for “retry”').waitFor()
  expect(await page.title()).toBe('“retry” · API · Snug')
  expect(await page.getByRole('listitem').getByRole('link').allTextContents()).toEqual(['RetryPolicy', 'patience', 'retryAll', 'patience'])
  await box.fill('nothing like this')
  await box.press('Enter')
  await page.getByText('No class, function or member matches “nothing like this”').waitFor()
  await expectSound(page, 'symbols-none')
  await page.goBack()
  await page.getByRole('link', { name: 'RetryPolicy' }).click()
  await page.waitForURL('**/packages/patience/versions/1.0.0/api/patience/RetryPolicy')
  await page.getByRole('heading', { name: 'RetryPolicy class' }).waitFor()

  const header = page.getByRole('banner').getByRole('combobox', { name: 'Search packages' })
  await header.fill('retryal')
  await page.getByText('Classes, functions and members').waitFor()
  await page.getByRole('option', { name: /retryAll patience/ }).waitFor()
  await expectSound(page, 'symbols-suggested')
  await header.press('ArrowDown')
  await header.press('Enter')
  await page.waitForURL('**/packages/patience/versions/1.0.0/api/patience#retryAll')

  await page.keyboard.press('Control+k')
  await page.getByRole('dialog', { name: 'Command palette' }).locator('input:focus').waitFor()
  await page.keyboard.type('RetryPolicy attempts')
  await page.getByRole('option', { name: /RetryPolicy\.attempts/ }).waitFor()
  await expectSound(page, 'symbols-palette')
  await page.getByRole('option', { name: /RetryPolicy\.attempts/ }).click()
  await page.waitForURL('**/packages/patience/versions/1.0.0/api/patience/RetryPolicy#attempts')
})
