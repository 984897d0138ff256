import { expect, it } from 'vitest'
import { openPage } from '../support/browser.ts'
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
  await pkg.waitFor({ state: 'detached' })
  await version.getByRole('button', { name: 'Restore acme 1.1.0' }).click()
  await page.getByRole('alertdialog').getByRole('button', { name: 'Restore' }).click()
  await page.getByText('Nothing to restore').waitFor()
  expect((await alice.get('/api/packages/acme')).body.versions).toMatchObject([{ version: '1.0.0' }, { version: '1.1.0' }])
  expect(await alice.get('/api/archives/acme-1.1.0.tar.gz')).toMatchObject({ status: 200 })
})
