import { expect, it } from 'vitest'
import { enqueue } from '../../server/platform/jobs/queue.ts'
import type { TestApp } from '../app.ts'
import { expectAccessible, openPage, screenshot, settled } from '../support/browser.ts'
import { choose, consoleApp, openTab, publishTo, startSession } from '../support/console.ts'
import { writeDownloads } from '../support/downloads.ts'
import { runJobs } from '../support/jobs.ts'
import { expectSound } from '../support/looks.ts'

const dependingOn = (url: string, name: string, version = '^1.0.0') =>
  `dependencies:\n  ${name}:\n    hosted: ${url}\n    version: '${version}'\n`

/** Publishes three public packages: `shop` depends on `ui`, which depends on `icons`. */
async function publishChain({ url, services }: TestApp & { url: string }, secret = '') {
  await publishTo(
    url,
    secret,
    { name: 'icons', version: '1.0.0' },
    { name: 'icons', version: '1.1.0' },
    {
      name: 'ui',
      version: '1.0.0',
      pubspec: `${dependingOn(url, 'icons')}  http: ^1.0.0\n  flutter:\n    sdk: flutter\ndev_dependencies:\n  gone:\n    hosted: ${url}\n`,
    },
    { name: 'shop', version: '1.0.0', pubspec: dependingOn(url, 'ui') },
  )
  await services.database.fork().getConnection().execute("update packages set visibility = 'public'")
}

it('shows the dependencies of a version with their registries, and the dependents of a package', async () => {
  await using app = await consoleApp()
  const alice = await app.member()
  await publishChain(app, alice.secret)
  const page = await openPage(app.url)
  await startSession(page, app.url, alice.email)
  await page.goto('/packages/ui')
  await page.getByRole('link', { name: 'Dependencies', exact: true }).click()
  await page.getByRole('row', { name: /icons \^1\.0\.0 This server 1\.1\.0/ }).waitFor()
  await page.getByRole('row', { name: /http on pub\.dev \^1\.0\.0 pub\.dev/ }).waitFor()
  await page.getByRole('row', { name: /flutter any Flutter SDK/ }).waitFor()
  await page.getByRole('row', { name: /gone any This server Not on this server/ }).waitFor()
  await expectSound(page, 'package-dependencies')
  await page.getByRole('row', { name: /icons/ }).getByRole('link').first().click()
  await page.getByRole('heading', { name: 'icons 1.1.0' }).waitFor()
  await page.getByRole('link', { name: 'Dependencies', exact: true }).click()
  await page.getByText('No dependencies').waitFor()
  await openTab(page, 'icons: sections', 'Dependents')
  await page.getByText(/^1 package of this server depends on it; 2 need it directly or through other packages/).waitFor()
  await page.getByRole('row', { name: /ui .*1\.0\.0 \^1\.0\.0 Dependency/ }).waitFor()
  await expectSound(page, 'package-dependents')
  await page.goto('/packages/shop/dependents')
  await page.getByText('No dependents yet').waitFor()
  expect(await page.getByRole('heading', { name: 'Danger zone' }).count()).toBe(0)
})

it('deletes a package after showing what breaks, once the name is typed and the breakage accepted', async () => {
  await using app = await consoleApp()
  const [alice, admin] = [await app.member(), await app.admin()]
  await publishChain(app, alice.secret)
  await alice.get('/api/archives/shop-1.0.0.tar.gz')
  await writeDownloads(app)
  await publishTo(app.url, alice.secret ?? '', { name: 'tool', version: '1.0.0', pubspec: 'dependencies:\n  icons: ^1.0.0\n' })
  await admin.post('/api/publishers', { id: 'acme', displayName: 'Acme Rockets' })
  await app.services.database.fork().execute("update packages set publisher_id = 'acme' where name = 'tool'")
  const page = await openPage(app.url, { tolerate: [/status of 409/] })
  await startSession(page, app.url, admin.email)
  await page.goto('/admin/packages')
  await page.getByText('4 packages').waitFor()
  await page.getByRole('row', { name: /tool.*Acme Rockets/ }).waitFor()
  const shop = page.getByRole('row', { name: /shop/ })
  expect(await shop.locator('[data-label="Downloads, 30 days"]').textContent()).toBe('1')
  await choose(page, 'Sort', 'Most versions first')
  await expect.poll(() => page.getByRole('table').getByRole('row').nth(1).textContent()).toContain('icons')
  await expectSound(page, 'admin-packages')

  await page.getByRole('button', { name: 'Delete icons' }).click()
  const dialog = page.getByRole('alertdialog', { name: 'Delete icons?' })
  await dialog.getByText('2 public packages would break').waitFor()
  await dialog.getByRole('listitem').filter({ hasText: 'shop needs ui needs icons' }).waitFor()
  // Private dependents are shown as well, although they do not block a deletion.
  await dialog.getByText('2 packages of this server depend on icons').waitFor()
  await dialog.getByText(/tool 1\.0\.0 requires \^1\.0\.0 \(private, no registry named\)/).waitFor()
  await screenshot(page, 'delete-package')
  await expectAccessible(page)
  await dialog.getByLabel('Name of the package').fill('icons')
  await dialog.getByRole('button', { name: 'Delete' }).click()
  await dialog
    .getByRole('alert')
    .getByText(/Public packages depend on icons/)
    .waitFor()
  await dialog.getByLabel('I accept that they break').click()
  await dialog.getByRole('button', { name: 'Delete' }).click()
  await dialog.waitFor({ state: 'hidden' })
  await page.getByText('3 packages').waitFor()
  expect(await alice.get('/api/packages/icons')).toMatchObject({ status: 404 })
  await page.getByRole('searchbox', { name: 'Filter by name' }).fill('nothing')
  await page.keyboard.press('Enter')
  await page.getByText('No packages found').waitFor()
})

it('deletes a version in the danger zone, which only administrators see', async () => {
  await using app = await consoleApp()
  const [alice, admin] = [await app.member(), await app.admin()]
  await publishChain(app, alice.secret)
  const page = await openPage(app.url, { tolerate: [/status of 404/] })
  await startSession(page, app.url, admin.email)
  // The impact of a deletion is queried when its dialog opens, not when the page loads.
  const lookUps: string[] = []
  page.on('request', (request) => lookUps.push(...(request.postData()?.match(/"operationName":"DeletionImpact"/g) ?? [])))
  await page.goto('/packages/icons/admin')
  await page.getByRole('heading', { name: 'Danger zone' }).waitFor()
  await settled(page)
  expect(lookUps).toEqual([])
  await page.getByLabel('One version').fill('9.9.9')
  await page.getByRole('button', { name: 'Delete version' }).click()
  const absent = page.getByRole('alertdialog', { name: 'Delete icons 9.9.9?' })
  await absent.getByText('There is no icons 9.9.9 on this server.').waitFor()
  expect(lookUps).toHaveLength(1)
  expect(await absent.getByText('depends on it').count()).toBe(0)
  await absent.getByRole('button', { name: 'Cancel' }).click()
  await page.getByLabel('One version').fill('1.0.0')
  await page.getByRole('button', { name: 'Delete version' }).click()
  const dialog = page.getByRole('alertdialog', { name: 'Delete icons 1.0.0?' })
  await dialog.getByText('1 package of this server depends on icons 1.0.0').waitFor()
  await dialog.getByText(/ui 1\.0\.0 requires \^1\.0\.0 \(public, another version satisfies it\)/).waitFor()
  await dialog.getByLabel('Package and version').fill('icons 1.0.0')
  await dialog.getByRole('button', { name: 'Delete' }).click()
  await page.waitForURL('**/packages/icons/versions')
  expect((await alice.get('/api/packages/icons')).body.versions).toMatchObject([{ version: '1.1.0' }])

  const other = await openPage(app.url)
  await startSession(other, app.url, alice.email)
  await other.goto('/packages/icons/admin')
  await other.getByRole('heading', { name: 'Options' }).waitFor()
  expect(await other.getByRole('heading', { name: 'Danger zone' }).count()).toBe(0)
})

it('shows jobs with their progress and errors, and retries failed ones', async () => {
  await using app = await consoleApp()
  const admin = await app.admin()
  const page = await openPage(app.url)
  await startSession(page, app.url, admin.email)
  await page.goto('/admin/jobs')
  await page.getByText('No jobs', { exact: true }).waitFor()
  const { database, now } = app.services
  const id = await enqueue(database.fork(), { kind: 'archives.remove', subject: 'acme', payload: { hashes: [] } }, now())
  await enqueue(database.fork(), { kind: 'integrity.check', subject: 'archives' }, now())
  // The new jobs appear without a reload, in groups that open to the single jobs.
  await page.getByRole('button', { name: /Waiting to complete 1 check of the archives/ }).waitFor()
  const connection = database.fork().getConnection()
  await connection.execute(`update jobs set state = 'failed', attempts = 5, error = 'The disk is full.' where id = '${id}'`)
  await connection.execute("update jobs set state = 'running', done = 30, total = 120, phase = 'archives' where kind = 'integrity.check'")
  await page.getByRole('button', { name: /Failed to clean up after 1 deletion/ }).click()
  await page.getByRole('row', { name: /The disk is full.*Failed 5 attempts/ }).waitFor()
  await page.getByRole('button', { name: /Running 1 check of the archives/ }).click()
  await expect.poll(() => new URL(page.url()).search).toBe('?group=RUNNING.integrity.check')
  await page.getByText('Checking archives: 30 of 120').waitFor()
  await expectSound(page, 'admin-jobs')
  await choose(page, 'State', 'Failed')
  await page.getByText('1 job', { exact: true }).waitFor()
  await page.getByRole('button', { name: 'Retry Remove archives' }).click()
  await page.getByText('No jobs found').waitFor()
  await runJobs(app)
  await connection.execute("update jobs set phase = 'removing' where kind = 'archives.remove'")
  await choose(page, 'State', 'Done')
  await page.getByRole('row', { name: /Remove archives Done –/ }).waitFor() // without the progress of a running job
})

it('checks the archives and the environment of the server', async () => {
  await using app = await consoleApp()
  const [alice, admin] = [await app.member(), await app.admin()]
  await publishTo(app.url, alice.secret ?? '', { name: 'acme', version: '1.0.0' }, { name: 'acme', version: '1.1.0' })
  const { body } = await alice.get('/api/packages/acme')
  await app.services.blobs.remove(body.versions[0].archive_sha256, { at: new Date() })
  const page = await openPage(app.url)
  await startSession(page, app.url, admin.email)
  await page.goto('/admin/self-check')
  await page.getByText('The archives have not been checked yet.').waitFor()
  await page.getByRole('button', { name: 'Check all archives' }).click()
  await page.getByText('A check is queued.').waitFor()
  await runJobs(app)
  await page.getByText('1 missing, 0 damaged').waitFor()
  await page.getByRole('row', { name: /Missing acme 1\.0\.0/ }).waitFor()
  await page.getByRole('heading', { name: 'Clocks' }).waitFor()
  await page.getByText('JWT_SECRET', { exact: true }).waitFor()
  await page.getByText(/^BCRYPT_COST is 4: /).waitFor()
  await settled(page)
  expect(await page.content()).not.toContain(app.config.JWT_SECRET)
  await expectSound(page, 'admin-self-check')
})

it.each([
  ['the package', ''],
  ['its only version', '1.0.0'],
])('skips the prompt about unsaved changes after deleting %s', async (_what, version) => {
  await using app = await consoleApp()
  const [alice, admin] = [await app.member(), await app.admin()]
  await publishTo(app.url, alice.secret ?? '', { name: 'acme', version: '1.0.0' })
  const page = await openPage(app.url)
  await startSession(page, app.url, admin.email)
  await page.goto('/packages/acme/admin')
  await page.getByRole('switch', { name: 'Unlisted' }).click()
  if (version) await page.getByLabel('One version').fill(version)
  await page.getByRole('button', { name: version ? 'Delete version' : 'Delete package' }).click()
  const dialog = page.getByRole('alertdialog')
  await dialog.getByText(version ? 'This is the only version' : '1 version will be deleted').waitFor()
  await dialog.getByLabel(version ? 'Package and version' : 'Name of the package').fill(`acme ${version}`.trim())
  await dialog.getByRole('button', { name: 'Delete' }).click()
  await page.waitForURL('**/admin/packages')
  await page.getByText('No packages').waitFor()
  expect(await page.getByRole('alertdialog').count()).toBe(0)
})
