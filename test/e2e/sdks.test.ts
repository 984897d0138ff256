import { expect, it } from 'vitest'
import { openPage, settled } from '../support/browser.ts'
import { choose, consoleApp, startSession } from '../support/console.ts'
import { runJobs } from '../support/jobs.ts'
import { expectSound } from '../support/looks.ts'
import { SdkSite } from '../support/sdk-site.ts'

const listing = { tolerate: [/status of 409/] }

/** Makes the site send only the first half of an archive. Calling the returned function sends the rest. */
function holdDownloads(site: SdkSite): () => void {
  const released = Promise.withResolvers<void>()
  site.interfere = (request, response, file) => {
    if (request.method !== 'GET' || !file || !/\.(zip|xz)$/.test(request.url ?? '')) return false
    const half = Math.ceil(file.length / 2)
    response.writeHead(200, { 'content-length': file.length }).write(file.subarray(0, half))
    void released.promise.then(() => response.end(file.subarray(half)))
    return true
  }
  return () => {
    site.interfere = () => false
    released.resolve()
  }
}

it('installs an SDK, and shows its progress on its page and in the tray of other pages', async () => {
  const site = await SdkSite.open()
  await site.addDart('3.11.0')
  await site.addDart('3.10.4')
  await using app = await consoleApp({ env: site.env })
  const admin = await app.admin()
  const page = await openPage(app.url)
  await startSession(page, app.url, admin.email)
  await page.goto('/admin/sdks')
  await page.getByText('No SDKs').waitFor()

  await page.getByRole('button', { name: 'Install SDK' }).first().click()
  const dialog = page.getByRole('dialog', { name: 'Install SDK' })
  await dialog.getByRole('combobox', { name: 'Version' }).getByText('3.11.0').waitFor()
  await expectSound(page, 'sdk-dialog')
  // The selected version is kept when the list behind the dialog refreshes.
  await choose(page, 'Version', '3.10.4')
  await page.waitForResponse((response) => response.request().postData()?.includes('"operationName":"Sdks"') === true)
  await settled(page)
  await dialog.getByRole('combobox', { name: 'Version' }).getByText('3.10.4').waitFor()
  await choose(page, 'Version', '3.11.0')
  const finish = holdDownloads(site)
  await dialog.getByRole('button', { name: 'Install' }).click()
  const steps = page.getByRole('list', { name: 'Install of Dart 3.11.0' })
  await steps.getByText('Download, in progress').waitFor()
  const work = runJobs(app)
  await page.getByText(/^50% · /).waitFor()
  await expectSound(page, 'sdk-downloading')

  await page.getByRole('link', { name: 'Packages' }).first().click()
  await page.getByRole('button', { name: 'Background work: 1 running' }).click()
  await page.getByText('Downloading, 50%').waitFor()
  await expectSound(page, 'tray')
  finish()
  await work
  await page.getByText('Ready', { exact: true }).waitFor()
  await page.getByRole('link', { name: 'Dart 3.11.0' }).click()
  await page.getByRole('heading', { name: 'Dart 3.11.0' }).waitFor()
  await page.getByText('Default', { exact: true }).waitFor()
  await page.getByRole('button', { name: 'Show log of Dart 3.11.0' }).click()
  await page.getByRole('region', { name: 'Log of Dart 3.11.0' }).getByText('Dart 3.11.0 is ready.').waitFor()
  await expectSound(page, 'sdk-ready')
  await page.getByRole('button', { name: /1 ended/ }).click()
  await page.getByRole('button', { name: 'Dismiss Dart 3.11.0' }).click()
  await expect.poll(() => page.getByRole('button', { name: /^Background work/ }).count()).toBe(0)
})

it('changes the default SDK, rebuilds and removes SDKs, and shows failed installs', async () => {
  const site = await SdkSite.open()
  await site.addDart('3.11.0')
  await site.addDart('3.10.4')
  await site.addFlutter('3.41.0', '3.11.0', { archive: Buffer.from('not an archive') })
  await using app = await consoleApp({ env: site.env })
  const admin = await app.admin()
  for (const version of ['3.11.0', '3.10.4']) await admin.post('/api/admin/sdk/installs', { version, channel: 'stable' })
  await runJobs(app)
  const page = await openPage(app.url, listing)
  await startSession(page, app.url, admin.email)
  await page.goto('/admin/sdks?new=1')
  const dialog = page.getByRole('dialog', { name: 'Install SDK' })
  await dialog.getByRole('radio', { name: /Flutter/ }).click()
  await choose(page, 'Version', '3.41.0')
  await dialog.getByRole('button', { name: 'Install' }).click()
  await page.getByRole('list', { name: 'Install of Flutter 3.41.0' }).waitFor()
  await runJobs(app)
  await page.getByText('The install failed').waitFor()
  // The jobs name the SDK instead of its identifier.
  await page.goto('/admin/jobs?kind=sdk.install')
  await page.getByRole('rowheader', { name: /^Install an SDK Flutter 3\.41\.0/ }).waitFor()
  await page.goto('/admin/sdks')
  await page.getByRole('button', { name: 'Remove Flutter 3.41.0' }).click()
  const question = page.getByRole('alertdialog')
  await question.getByRole('button', { name: 'Remove' }).click()
  await question.waitFor({ state: 'hidden' }) // the dialog hides the headings behind it
  await expect.poll(() => page.getByRole('heading', { name: 'Flutter 3.41.0' }).count()).toBe(0)

  await page.getByRole('button', { name: 'Make default: Dart 3.10.4' }).click()
  await page
    .getByText(/Dart 3\.10\.4 is now the default/)
    .first()
    .waitFor()
  await page.getByRole('button', { name: 'Rebuild: Dart 3.11.0' }).click()
  await question.getByRole('button', { name: 'Rebuild' }).click()
  await page.getByRole('list', { name: 'Install of Dart 3.11.0' }).waitFor()
  await runJobs(app)
  await page.getByRole('button', { name: 'Remove Dart 3.11.0' }).click()
  await question.getByRole('button', { name: 'Remove' }).click()
  await question.waitFor({ state: 'hidden' })
  await expect.poll(() => page.getByRole('heading', { name: 'Dart 3.11.0' }).count()).toBe(0)
})
