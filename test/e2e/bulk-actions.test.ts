import { text } from 'node:stream/consumers'
import type { Page } from 'playwright-core'
import { expect, it } from 'vitest'
import { openPage, screenshot } from '../support/browser.ts'
import { choose, consoleApp, publishTo, startSession } from '../support/console.ts'
import { expectSound } from '../support/looks.ts'
import { makePublic } from '../support/public-packages.ts'

/** Opens the actions for the selected rows and chooses one. */
async function act(page: Page, action: string): Promise<void> {
  await page.getByRole('button', { name: 'Actions' }).click()
  await page.getByRole('menuitem', { name: action, exact: true }).click()
}

it('discontinues and deletes selected packages, and reports packages that public ones need', async () => {
  await using app = await consoleApp({ env: { PUBLIC_PACKAGES_ENABLED: 'true' } })
  const [alice, admin] = [await app.member(), await app.admin()]
  const names = Array.from({ length: 52 }, (_, index) => `pkg_${String(index).padStart(2, '0')}`)
  await publishTo(app.url, alice.secret ?? '', ...names.map((name) => ({ name, version: '1.0.0' })))
  const pubspec = `dependencies:\n  pkg_00:\n    hosted: ${app.url}\n    version: ^1.0.0\n`
  await publishTo(app.url, alice.secret ?? '', { name: 'zeta', version: '1.0.0', pubspec })
  await makePublic(app, 'pkg_00', 'zeta')
  const page = await openPage(app.url, { acceptDownloads: true, tolerate: [/status of 4/] })
  await startSession(page, app.url, admin.email)
  await page.goto('/admin/packages')
  await page.getByText('53 packages').waitFor()

  // With the keyboard: one row, then the menu.
  await page.getByRole('checkbox', { name: 'Select pkg_01' }).focus()
  await page.keyboard.press('Space')
  await page.getByText('1 selected').waitFor()
  await page.getByRole('button', { name: 'Actions' }).focus()
  await page.keyboard.press('Enter')
  await page.getByRole('menuitem', { name: 'Discontinue' }).waitFor()
  await page.keyboard.press('Enter')
  const question = page.getByRole('dialog', { name: 'Discontinue 1 package' })
  await question.waitFor()
  await expectSound(page, 'bulk-question')
  await question.getByRole('button', { name: 'Discontinue' }).click()
  await question.getByText('Discontinued 1 package.').waitFor()
  await question.getByRole('button', { name: 'Close' }).click()
  await question.waitFor({ state: 'hidden' })
  await choose(page, 'Show', 'Discontinued')
  await page.getByText('1 package', { exact: true }).waitFor()
  expect(new URL(page.url()).search).toBe('?show=discontinued')
  const [file] = await Promise.all([page.waitForEvent('download'), page.getByRole('button', { name: 'Download these' }).click()])
  expect((await text(await file.createReadStream())).split('\r\n').map((row) => row.split(',')[0])).toEqual(['name', 'pkg_01', ''])

  await choose(page, 'Show', 'All packages')
  await page.getByText('53 packages').waitFor()
  await page.getByRole('checkbox', { name: 'Select page' }).click()
  await page.getByText('50 selected').waitFor()
  await expectSound(page, 'bulk-selection')
  await page.getByRole('button', { name: 'Select all 53 packages that match' }).click()
  await page.getByText('53 selected').waitFor()
  await page.getByRole('checkbox', { name: 'Select pkg_49' }).click()
  await page.getByText('52 selected').waitFor()
  await act(page, 'Delete…')
  const deletion = page.getByRole('dialog', { name: 'Delete 52 packages' })
  expect(await deletion.getByRole('button', { name: 'Delete packages' }).isDisabled()).toBe(true)
  await deletion.getByLabel('Confirmation').fill('delete 52 packages')
  await deletion.getByRole('button', { name: 'Delete packages' }).click()
  await deletion.getByText(/^\d+ of 52$/).waitFor()
  await screenshot(page, 'bulk-progress')
  await deletion.getByText('Deleted 51 packages.').waitFor()
  await deletion
    .getByRole('list', { name: 'Failed' })
    .getByText(/Public packages depend on pkg_00/)
    .waitFor()
  await expectSound(page, 'bulk-report')
  // The dependent package is gone by now.
  await deletion.getByRole('button', { name: 'Retry failed' }).click()
  await deletion.getByText('Deleted 1 package.').waitFor()
  await deletion.getByRole('button', { name: 'Close' }).click()
  await page.getByRole('row', { name: /pkg_49/ }).waitFor()
  await page.getByText('1 package', { exact: true }).waitFor()
  expect((await admin.get('/api/admin/packages')).body.packages).toMatchObject([{ name: 'pkg_49' }])
})

it('changes many accounts, but not the own one, and stops on request', async () => {
  await using app = await consoleApp()
  const admin = await app.admin({ displayName: 'Ada Admin' })
  for (let index = 0; index < 12; index++) await app.member({ displayName: `Mona ${index}`, email: `mona${index}@example.com` })
  const page = await openPage(app.url, { tolerate: [/status of 4/] })
  await startSession(page, app.url, admin.email)
  await page.goto('/admin/users')
  await page.getByText('14 people').waitFor()
  expect(await page.getByRole('checkbox', { name: 'Select Ada Admin' }).isDisabled()).toBe(true)
  await page.getByRole('checkbox', { name: 'Select page' }).click()
  await page.getByText('12 selected').waitFor()
  await expectSound(page, 'bulk-people')
  await act(page, 'Change role…')
  const role = page.getByRole('dialog', { name: 'Change the role of 12 people' })
  await role.getByText('and 7 more').waitFor()
  await choose(page, 'Role', 'Viewer')
  await role.getByRole('button', { name: 'Change role' }).click()
  await role.getByText('Changed the role of 12 people.').waitFor()
  await role.getByRole('button', { name: 'Close' }).click()
  expect((await admin.get('/api/admin/users?role=viewer')).body.totalCount).toBe(12)

  // The second change waits until the action was stopped.
  const stopped = Promise.withResolvers<void>()
  let changes = 0
  await page.route('**/graphql', async (route) => {
    if (route.request().postData()?.includes('"UpdateUser"') && ++changes === 2) await stopped.promise
    await route.continue()
  })
  await page.getByRole('checkbox', { name: 'Select page' }).click()
  await act(page, 'Disable')
  const disabling = page.getByRole('dialog', { name: 'Disable 12 people' })
  await disabling.getByRole('button', { name: 'Disable accounts' }).click()
  await disabling.getByText('1 of 12').waitFor()
  await disabling.getByRole('button', { name: 'Stop' }).click()
  stopped.resolve()
  await disabling.getByText('Disabled 2 people. Stopped before 10.').waitFor()
  await expectSound(page, 'bulk-stopped')
  expect((await admin.get('/api/admin/users?status=inactive')).body.totalCount).toBe(2)
  await disabling.getByRole('button', { name: 'Continue' }).click()
  await disabling.getByText('Disabled 10 people.').waitFor()
  expect((await admin.get('/api/admin/users?status=inactive')).body.totalCount).toBe(12)
})
