import { expect, it } from 'vitest'
import { advisory, importMutation } from '../support/advisories.ts'
import { openPage } from '../support/browser.ts'
import { consoleApp, publishTo, startSession } from '../support/console.ts'
import { expectSound } from '../support/looks.ts'

const untilFixed = { events: [{ introduced: '0' }, { fixed: '1.2.0' }], database_specific: { severity: 'HIGH' } }

it('imports, withdraws and removes advisories', async () => {
  await using app = await consoleApp()
  const [admin, member] = [await app.admin(), await app.member()]
  await publishTo(app.url, member.secret ?? '', { name: 'acme', version: '1.0.0' })
  const page = await openPage(app.url, { tolerate: [/status of 400/] })
  await startSession(page, app.url, admin.email)
  await page.goto('/admin/advisories')
  await page.getByText('No advisories').waitFor()
  await page.getByRole('button', { name: 'Import' }).first().click()
  const dialog = page.getByRole('dialog', { name: 'Import security advisories' })
  await dialog.getByLabel('Text').fill('{"id": "ACME-1"}')
  await dialog.getByRole('button', { name: 'Import' }).click()
  await dialog.getByText(/modified: /).waitFor()
  const json = JSON.stringify([advisory('ACME-1', 'acme', untilFixed), advisory('ACME-2', 'not_here', untilFixed)])
  await dialog.getByLabel('File').setInputFiles({ name: 'advisories.json', mimeType: 'application/json', buffer: Buffer.from(json) })
  await expect.poll(() => dialog.getByLabel('Text').inputValue()).toBe(json)
  await dialog.getByRole('button', { name: 'Import' }).click()
  await page.getByText('Imported 2, updated 0, unchanged 0.').first().waitFor()
  await page.getByText('not_here (not on this server)').waitFor()
  await expectSound(page, 'advisories-admin')

  await page.getByRole('button', { name: 'Withdraw ACME-1' }).click()
  await page.getByRole('alertdialog').getByRole('button', { name: 'Withdraw' }).click()
  await page.getByRole('row', { name: /ACME-1.*Withdrawn/ }).waitFor()
  expect((await member.get('/api/packages/acme/advisories')).body.advisories).toEqual([])
  await page.getByRole('button', { name: 'Remove ACME-2' }).click()
  await page.getByRole('alertdialog').getByRole('button', { name: 'Remove' }).click()
  await expect.poll(() => page.getByRole('row').count()).toBe(2)
  await page.goto('/admin/advisories?package=elsewhere')
  await page.getByText('No advisory affects a package with this name.').waitFor()
})

it('shows warnings on the pages of an affected package', async () => {
  await using app = await consoleApp()
  const [admin, member] = [await app.admin(), await app.member()]
  const osv = JSON.stringify(
    advisory('ACME-1', 'acme', { ...untilFixed, references: [{ type: 'WEB', url: 'https://example.com/acme-1' }] }),
  )
  await admin.graphql(importMutation, { osv })
  for (const version of ['1.0.0', '1.1.0', '1.2.0']) await publishTo(app.url, member.secret ?? '', { name: 'acme', version })
  const page = await openPage(app.url)
  await startSession(page, app.url, member.email)
  await page.goto('/packages/acme')
  await page.getByRole('heading', { name: 'acme 1.2.0' }).waitFor()
  expect(await page.getByText('This version has a known security problem').count()).toBe(0)
  await page.getByRole('link', { name: /^Versions/ }).click()
  await page.getByRole('row', { name: /1\.0\.0.*Security/ }).waitFor()
  expect(await page.getByRole('row', { name: /Security/ }).count()).toBe(2)
  await page.getByRole('link', { name: '1.1.0', exact: true }).click()
  await page.getByText('This version has a known security problem').waitFor()
  await page.getByText('Affects 1.0.0, 1.1.0. Fixed in 1.2.0.').waitFor()
  await expectSound(page, 'advisory-banner')
  await page.getByRole('link', { name: 'A hole in acme' }).click()
  await page.getByRole('heading', { name: 'A hole in acme' }).waitFor()
  await page.getByText('Read more').click()
  await page.getByText('forgets to').waitFor()
  await expectSound(page, 'advisories-of-package')
})
