import { expect, it } from 'vitest'
import { openPage, settled } from '../support/browser.ts'
import { choose, consoleApp, openTab, publishTo, startSession } from '../support/console.ts'
import { expectSound } from '../support/looks.ts'
import { makeOwned } from '../support/ownership.ts'

const hour = 3600 * 1000
const day = 24 * hour

it('retracts and restores a version within the time limit', async () => {
  await using app = await consoleApp()
  const alice = await app.member({ displayName: 'Alice Archer' })
  app.clock.now = new Date(Date.now() - 9 * day)
  await publishTo(app.url, alice.secret ?? '', { name: 'acme', version: '1.0.0' }, { name: 'acme', version: '1.1.0-beta' })
  app.clock.now = new Date(Date.now() - 2 * day)
  await publishTo(app.url, alice.secret ?? '', { name: 'acme', version: '1.1.0' })
  app.clock.now = null
  const page = await openPage(app.url, { tolerate: [/status of 400/] })
  await startSession(page, app.url, alice.email)
  await page.goto('/packages/acme/versions')
  const old = page.getByRole('row', { name: /^1\.0\.0/ })
  await old.getByRole('button', { name: 'Actions for 1.0.0' }).click()
  const tooLate = page.getByRole('menuitem', { name: /^Retract Retraction window ended on / })
  expect(await tooLate.getAttribute('aria-disabled')).toBe('true')
  await page.keyboard.press('Escape')
  await tooLate.waitFor({ state: 'hidden' })
  const fresh = page.getByRole('row', { name: /^1\.1\.0 / })
  await fresh.getByRole('button', { name: 'Actions for 1.1.0' }).press('Enter')
  await page.getByRole('menuitem', { name: 'Retract 5 days left' }).click()
  const dialog = page.getByRole('alertdialog', { name: 'Retract acme 1.1.0?' })
  await dialog.getByText('You can restore it for 7 days.').waitFor()
  await dialog.getByRole('button', { name: 'Retract' }).click()
  await fresh.getByText(/^Retracted /).waitFor()
  await page.getByRole('heading', { name: 'acme 1.0.0' }).waitFor()
  expect((await alice.get('/api/packages/acme')).body.latest.version).toBe('1.0.0')
  await expectSound(page, 'package-versions')
  await page.getByRole('link', { name: '1.1.0', exact: true }).click()
  await page.getByText('This version was retracted').waitFor()
  await page.goBack()
  await page.getByRole('heading', { name: 'acme 1.0.0' }).waitFor() // the page of 1.1.0 already has the heading awaited below
  await fresh.getByRole('button', { name: 'Actions for 1.1.0' }).click()
  await page.getByRole('menuitem', { name: 'Restore 7 days left' }).click()
  await page.getByRole('alertdialog').getByRole('button', { name: 'Restore' }).click()
  await page.getByRole('alertdialog').waitFor({ state: 'hidden' }) // the heading of the dialog names the version as well
  await page.getByRole('heading', { name: 'acme 1.1.0' }).waitFor()
  expect((await alice.get('/api/packages/acme')).body.latest.version).toBe('1.1.0')

  await page.getByRole('searchbox', { name: 'Filter' }).fill('^1.1.0')
  await page.keyboard.press('Enter')
  await page.getByText('1 version for “^1.1.0”').waitFor()
  expect(new URL(page.url()).search).toBe('?filter=^1.1.0')
  await page.getByRole('searchbox', { name: 'Filter' }).fill('9')
  await page.keyboard.press('Enter')
  await page.getByText('No versions found').waitFor()
  await page.getByRole('searchbox', { name: 'Filter' }).fill('>=one')
  await page.keyboard.press('Enter')
  await page
    .getByRole('alert')
    .getByText(/must be part of a version, or a constraint/)
    .waitFor()
})

it('shows the error of the server when a version can no longer be retracted', async () => {
  await using app = await consoleApp()
  const alice = await app.member()
  app.clock.now = new Date(Date.now() - 7 * day + hour)
  await publishTo(app.url, alice.secret ?? '', { name: 'acme', version: '1.0.0' })
  app.clock.now = null
  const page = await openPage(app.url, { tolerate: [/status of 409/] })
  await startSession(page, app.url, alice.email)
  await page.goto('/packages/acme/versions')
  await page.getByRole('button', { name: 'Actions for 1.0.0' }).click()
  await page.getByRole('menuitem', { name: /^Retract/ }).click()
  app.clock.now = new Date(Date.now() + hour)
  const dialog = page.getByRole('alertdialog')
  await dialog.getByRole('button', { name: 'Retract' }).click()
  await dialog
    .getByRole('alert')
    .getByText(/could be retracted for 7 days, until /)
    .waitFor()
  await dialog.getByRole('button', { name: 'Cancel' }).click()
  expect((await alice.get('/api/packages/acme/versions/1.0.0/options')).body.isRetracted).toBe(false)
})

it('changes options and uploaders, and shows the activity', async () => {
  await using app = await consoleApp()
  const [alice, bob] = [await app.member({ displayName: 'Alice Archer' }), await app.member({ displayName: 'Bob Baker' })]
  await publishTo(app.url, alice.secret ?? '', { name: 'acme', version: '1.0.0' }, { name: 'better', version: '1.0.0' })
  const page = await openPage(app.url, { tolerate: [/status of 40[04]/] })
  await startSession(page, app.url, alice.email)
  await page.goto('/packages/acme')
  await openTab(page, 'acme: sections', 'Admin')
  expect(await page.getByRole('button', { name: 'Leave acme' }).isDisabled()).toBe(true)
  await page.getByText('A package without a publisher needs at least one uploader').waitFor()
  await page.getByLabel('Add an uploader').fill('stranger@example.com')
  await page.getByRole('button', { name: 'Add', exact: true }).click()
  await page.getByText('There is no user with the e-mail address stranger@example.com').waitFor()
  await page.getByLabel('Add an uploader').fill(bob.email)
  await page.getByRole('button', { name: 'Add', exact: true }).click()
  await page.getByRole('button', { name: 'Remove Bob Baker' }).waitFor()
  await page.getByRole('switch', { name: 'Discontinued' }).click()
  await page.getByLabel('Replacement').fill('Better')
  await page.getByRole('button', { name: 'Save options' }).click()
  await page.getByText(/^Replacement must be 1 to 64 lowercase letters/).waitFor()
  await page.getByLabel('Replacement').fill('better')
  await page.getByRole('switch', { name: 'Unlisted' }).click()
  await openTab(page, 'acme: sections', 'Activity')
  await page.getByRole('alertdialog', { name: 'Leave without saving?' }).getByRole('button', { name: 'Cancel' }).click()
  await page.getByRole('button', { name: 'Save options' }).click()
  await page.getByText('This package is unlisted').waitFor()
  expect((await alice.get('/api/packages/acme/options')).body).toEqual({ isDiscontinued: true, replacedBy: 'better', isUnlisted: true })
  await expectSound(page, 'package-admin')

  await page.getByRole('button', { name: 'Remove Bob Baker' }).click()
  await page.getByRole('alertdialog').getByRole('button', { name: 'Remove' }).click()
  await page.getByText('A package without a publisher needs at least one uploader').waitFor()
  expect((await alice.get('/api/packages/acme/uploaders')).body.uploaders).toHaveLength(1)

  await openTab(page, 'acme: sections', 'Activity')
  const rows = page.getByRole('table', { name: 'Activity of acme' }).getByRole('row')
  await expect.poll(() => rows.count()).toBe(6)
  await expectSound(page, 'package-activity')
  await choose(page, 'Event', 'Uploader added')
  await expect.poll(() => new URL(page.url()).search).toBe('?kind=package.uploader_added')
  await rows.filter({ hasText: 'published acme' }).first().waitFor({ state: 'hidden' })
  await page.getByRole('row', { name: /Alice Archer added Bob Baker to the uploaders of acme/ }).waitFor()
  await choose(page, 'Event', 'Version retracted')
  await page.getByText('No events').waitFor()
  await page.getByRole('note').getByRole('link', { name: 'better' }).click()
  await page.getByRole('heading', { name: 'better 1.0.0' }).waitFor()
  await settled(page)
})

it('shows which rights uploaders who leave keep as members of the publisher', async () => {
  await using app = await consoleApp()
  const alice = await app.member({ displayName: 'Alice Archer' })
  await publishTo(app.url, alice.secret ?? '', { name: 'acme', version: '1.0.0' })
  const { admin, member } = await makeOwned(app, 'acme')
  for (const { email } of [admin, member]) await alice.put(`/api/packages/acme/uploaders/${email}`)
  const rights = new Map([
    [alice, 'You can no longer publish or change it unless another uploader adds you again.'],
    [member, 'As a member of its publisher, you can still publish it, but not manage it.'],
    [admin, 'As an admin of its publisher, you can still publish and manage it.'],
  ])
  const page = await openPage(app.url)
  const dialog = page.getByRole('alertdialog')
  for (const [{ email }, text] of rights) {
    await startSession(page, app.url, email)
    await page.goto('/packages/acme/admin')
    await page.getByRole('button', { name: 'Leave acme' }).click()
    await dialog.getByText(text).waitFor()
    await dialog.getByRole('button', { name: 'Cancel' }).click()
  }
  await page.getByRole('button', { name: 'Remove Alice Archer' }).click()
  const said = 'They will no longer be an uploader of acme. Members of acme-corp can still publish it.'
  await expect.poll(() => dialog.textContent()).toContain(said)
})

it('hides administration from users without permission', async () => {
  await using app = await consoleApp()
  const [alice, bob] = [await app.member(), await app.member()]
  await publishTo(app.url, alice.secret ?? '', { name: 'acme', version: '1.0.0' })
  const page = await openPage(app.url, { tolerate: [/status of 403/] })
  await startSession(page, app.url, bob.email)
  await page.goto('/packages/acme/versions')
  await page.getByRole('row', { name: /^1\.0\.0/ }).waitFor()
  await page.getByRole('button', { name: 'Actions for 1.0.0' }).click()
  await page.getByRole('menuitem', { name: /^Download archive/ }).waitFor()
  expect(await page.getByRole('menuitem', { name: /^Retract/ }).count()).toBe(0)
  await page.keyboard.press('Escape')
  await page.getByRole('navigation', { name: 'acme: sections' }).getByRole('button', { name: 'More' }).click()
  await page.getByRole('menuitem', { name: 'License' }).waitFor()
  expect(await page.getByRole('menuitem', { name: /Admin|Activity/ }).count()).toBe(0)
  await page.goto('/packages/acme/admin')
  await page.getByRole('alert').getByText('You do not administer acme.').waitFor()
  await page.goto('/packages/acme/activity')
  await page
    .getByRole('alert')
    .getByText(/Only administrators of acme can see its activity/)
    .waitFor()
})
