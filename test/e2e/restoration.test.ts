import { expect, it } from 'vitest'
import { openPage, settled } from '../support/browser.ts'
import { consoleApp, publishTo, startSession } from '../support/console.ts'
import { runJobs } from '../support/jobs.ts'
import { expectSound } from '../support/looks.ts'

it('deletes a version and a package, and restores both in the console', async () => {
  await using app = await consoleApp()
  const [alice, admin] = [await app.member({ displayName: 'Alice Author' }), await app.admin()]
  await publishTo(app.url, alice.secret ?? '', { name: 'acme', version: '1.0.0' }, { name: 'acme', version: '1.1.0' })
  const page = await openPage(app.url, { tolerate: [/status of 404/] })
  await startSession(page, app.url, admin.email)
  await page.goto('/packages/acme/admin')
  await page.getByLabel('One version').fill('1.1.0')
  await page.getByRole('button', { name: 'Delete version' }).click()
  const dialog = page.getByRole('alertdialog', { name: 'Delete acme 1.1.0?' })
  await dialog.getByText('An administrator can restore the version for 7 days.', { exact: false }).waitFor()
  await dialog.getByText('No package on this server depends on this version.').waitFor()
  await dialog.getByLabel('Package and version').fill('acme 1.1.0')
  await dialog.getByRole('button', { name: 'Delete version' }).click()
  await page.waitForURL('**/packages/acme/versions')
  await admin.delete('/api/admin/packages/acme')
  await runJobs(app)
  await page.goto('/admin/deleted')
  const version = page.getByRole('row', { name: /^acme 1\.1\.0/ })
  await version.getByText('Restore the package first.', { exact: false }).waitFor()
  const pkg = page.getByRole('row', { name: /^acme Package/ })
  expect((await pkg.textContent())?.replace(/\s+/g, ' ')).toMatch(/1 version \(.*\), 0 likes and 0 downloads\s*Alice Author/)
  await expectSound(page, 'admin-deleted')
  await pkg.getByRole('button', { name: 'Restore acme' }).click()
  const question = page.getByRole('alertdialog', { name: 'Restore acme?' })
  await question.getByText('The owners are: Alice Author. The package is private.', { exact: false }).waitFor()
  await question.getByRole('button', { name: 'Restore' }).click()
  await question.waitFor({ state: 'hidden' }) // the dialog hides the rows behind it
  await pkg.waitFor({ state: 'detached' })
  await version.getByRole('button', { name: 'Restore acme 1.1.0' }).click()
  await page.getByRole('alertdialog').getByRole('button', { name: 'Restore' }).click()
  await page.getByText('Nothing to restore').waitFor()
  expect((await alice.get('/api/packages/acme')).body.versions).toMatchObject([{ version: '1.0.0' }, { version: '1.1.0' }])
  expect(await alice.get('/api/archives/acme-1.1.0.tar.gz')).toMatchObject({ status: 200 })
})

it('offers to restore a deleted package and version on their addresses, to administrators only', async () => {
  await using app = await consoleApp()
  const [alice, admin] = [await app.member(), await app.admin({ displayName: 'Adam Admin' })]
  await publishTo(app.url, alice.secret ?? '', { name: 'acme', version: '1.0.0' }, { name: 'acme', version: '1.1.0' })
  expect(await admin.delete('/api/admin/packages/acme/versions/1.1.0')).toMatchObject({ status: 200 })
  expect(await admin.delete('/api/admin/packages/acme')).toMatchObject({ status: 200 })
  await runJobs(app)
  const tolerate = [/status of 404/]
  const other = await openPage(app.url, { tolerate })
  await startSession(other, app.url, alice.email)
  await other.goto('/packages/acme')
  await other.getByText('Package acme does not exist on this server.').waitFor()
  await settled(other)
  expect(await other.getByText(/deleted|reserved|Restore/).count()).toBe(0)

  const page = await openPage(app.url, { tolerate })
  await startSession(page, app.url, admin.email)
  await page.goto('/packages/acme')
  await page.getByText(/acme was deleted .* by Adam Admin\. It can be restored until/).waitFor()
  expect(await page.getByRole('main').getByRole('link', { name: 'Reserved names' }).count()).toBe(0)
  await expectSound(page, 'missing-deleted-package')
  await page.getByRole('button', { name: 'Restore acme' }).press('Enter')
  await page.getByRole('alertdialog', { name: 'Restore acme?' }).getByRole('button', { name: 'Restore' }).press('Enter')
  const heading = page.getByRole('heading', { name: 'acme 1.0.0', exact: true })
  await heading.waitFor()
  await expect.poll(() => heading.evaluate((element) => element === document.activeElement)).toBe(true)
  expect((await alice.get('/api/packages/acme')).body.latest.version).toBe('1.0.0')

  await page.goto('/packages/acme/versions/1.1.0')
  await page.getByText('acme has no version 1.1.0.').waitFor()
  await page.getByRole('button', { name: 'Restore acme 1.1.0' }).click()
  await page.getByRole('alertdialog').getByRole('button', { name: 'Restore' }).click()
  await page.getByRole('heading', { name: 'acme 1.1.0', exact: true }).waitFor()
  expect((await alice.get('/api/packages/acme')).body.latest.version).toBe('1.1.0')
})
