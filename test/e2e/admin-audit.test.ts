import { text } from 'node:stream/consumers'
import type { Page } from 'playwright-core'
import { expect, it } from 'vitest'
import { expectAccessible, openPage, screenshot } from '../support/browser.ts'
import { addEntries } from '../support/audit.ts'
import { choose, consoleApp, publishTo, startSession } from '../support/console.ts'
import { expectSound } from '../support/looks.ts'

async function downloadCsv(page: Page): Promise<void> {
  await page.getByRole('button', { name: 'Download these' }).click()
  await page.getByRole('menuitem', { name: /CSV/ }).click()
}

/** Types into a combobox that completes names, and chooses an entry. */
async function pick(page: Page, label: string, text: string, option: string | RegExp): Promise<void> {
  await page.getByRole('combobox', { name: label, exact: true }).pressSequentially(text)
  await page.getByRole('option', { name: option, exact: true }).click()
}

it('filters the audit log, shows an entry, and exports the filtered entries as CSV and NDJSON', async () => {
  await using app = await consoleApp()
  const admin = await app.admin()
  const member = await app.member({ displayName: 'Mona Member' })
  await publishTo(app.url, member.secret ?? '', { name: 'acme', version: '1.0.0' })
  for (let change = 0; change < 51; change++)
    await admin.put(`/api/admin/users/${member.id}`, { displayName: `Mona ${change % 2 ? 'Member' : 'Other'}` })
  const page = await openPage(app.url, { acceptDownloads: true, tolerate: [/status of 400/] })
  await startSession(page, app.url, admin.email)
  await page.goto('/admin/audit')
  const rows = page.getByRole('table', { name: 'Audit log' }).getByRole('row')
  await expect.poll(() => rows.count()).toBe(51)
  await page.getByRole('button', { name: 'Next page' }).click()
  await page.getByRole('row', { name: /Package: version published/ }).waitFor()

  await choose(page, 'Event', 'Any package event')
  await expect.poll(() => new URL(page.url()).search).toBe('?kind=package.')
  await expect.poll(() => rows.count()).toBe(3)
  await page.getByRole('row', { name: /Package: created/ }).waitFor()
  await pick(page, 'Package', 'ac', 'acme')
  // The log is not queried while a name is typed.
  await page.getByRole('combobox', { name: 'Actor', exact: true }).fill('Mon')
  await page.getByRole('option', { name: member.email }).waitFor()
  expect(new URL(page.url()).searchParams.has('actor')).toBe(false)
  await expectSound(page, 'audit-actor')
  await page.getByRole('option', { name: member.email }).click()
  await page.getByLabel('From', { exact: true }).fill('2020-01-31')
  await page.keyboard.press('Tab')
  await expect
    .poll(() => Object.fromEntries(new URL(page.url()).searchParams))
    .toEqual({
      kind: 'package.',
      package: 'acme',
      actor: member.email,
      from: '2020-01-31',
    })
  await expect.poll(() => rows.count()).toBe(3)

  const download = async (kind: RegExp) => {
    await page.getByRole('button', { name: 'Download these' }).click()
    await screenshot(page, 'audit-download')
    return Promise.all([page.waitForEvent('download'), page.getByRole('menuitem', { name: kind }).click()]).then(([file]) => file)
  }
  const file = await download(/CSV/)
  expect(file.suggestedFilename()).toMatch(/^audit-log-.*\.csv$/)
  const lines = (await text(await file.createReadStream())).trim().split('\r\n')
  expect(lines).toHaveLength(3)
  const objects = await download(/NDJSON/)
  expect(objects.suggestedFilename()).toMatch(/^audit-log-.*\.ndjson$/)
  expect((await text(await objects.createReadStream())).trim().split('\n')).toHaveLength(2)
  expect(lines[1]).toContain('package.')

  await page
    .getByRole('button', { name: /^Details/ })
    .first()
    .click()
  const drawer = page.getByRole('dialog', { name: 'Audit entry' })
  await drawer.getByText(member.email).waitFor()
  await expectAccessible(page)
  await screenshot(page, 'audit-details')
  await page.reload()
  await drawer.getByText(member.email).waitFor()
  await page.keyboard.press('Escape')
  await drawer.waitFor({ state: 'hidden' })
  await expect.poll(() => new URL(page.url()).searchParams.has('entry')).toBe(false)

  const withoutActor = { actorId: null, package: 'no_actor', createdAt: app.services.now() }
  await addEntries(app, 1, () => ({ ...withoutActor, kind: 'package.scored', summary: 'Scored by itself' }))
  await addEntries(app, 1, () => ({ ...withoutActor, kind: 'user.login_failed', summary: 'A wrong password', clientIp: '192.0.2.1' }))
  await page.goto('/admin/audit?package=no_actor')
  await page.getByRole('row', { name: /A wrong password/ }).waitFor()
  expect(await page.getByRole('row', { name: /Scored by itself/ }).count()).toBe(0)
  const [visible] = await Promise.all([page.waitForEvent('download'), downloadCsv(page)])
  expect(await text(await visible.createReadStream())).not.toContain('Scored by itself')
  await page.getByRole('switch', { name: 'Entries of the server itself' }).click()
  await expect.poll(() => new URL(page.url()).searchParams.get('server')).toBe('1')
  await page.getByRole('row', { name: /Scored by itself.*The server no_actor None/ }).waitFor()
  await page.getByRole('row', { name: /A wrong password.*Not signed in no_actor 192\.0\.2\.1/ }).waitFor()

  // An emptied field removes its filter.
  await page.goto('/admin/audit?package=acme')
  await page.getByRole('combobox', { name: 'Package', exact: true }).fill('')
  await page.keyboard.press('Tab')
  await expect.poll(() => new URL(page.url()).search).toBe('')

  await page.goto('/admin/audit?kind=nonsense')
  await page.getByRole('alert').getByText(/kind/).waitFor()
  await page.goto('/admin/audit?to=2020-01-31')
  await page.getByText('No entries found').waitFor()
})

it('allows the owner to set the retention, and shows how many entries this deletes', async () => {
  await using app = await consoleApp()
  const owner = await app.owner()
  await addEntries(app, 12, (n) => ({ kind: 'user.login', summary: `entry ${n}`, createdAt: new Date(Date.now() - 400 * 86_400_000) }))
  const admin = await app.admin()
  const theirs = await openPage(app.url)
  await startSession(theirs, app.url, admin.email)
  await theirs.goto('/admin/audit')
  await theirs.getByText('Entries are kept forever.').waitFor()
  expect(await theirs.getByRole('button', { name: 'Retention…' }).count()).toBe(0)

  const page = await openPage(app.url)
  await startSession(page, app.url, owner.email)
  await page.goto('/admin/audit')
  await page.getByRole('button', { name: 'Retention…' }).click()
  await choose(page, 'Keep entries', 'For 365 days (1 year)')
  await page.getByText('12 audit entries are older.').waitFor()
  await expectSound(page, 'audit-retention')
  await page.getByRole('button', { name: 'Continue…' }).click()
  const question = page.getByRole('alertdialog', { name: 'Delete 12 audit entries?' })
  await question.waitFor()
  await expectSound(page, 'audit-retention-question')
  await question.getByRole('button', { name: 'Keep entries for 365 days' }).click()
  await page.getByText('newest first. Entries are kept for 365 days.').waitFor()

  await page.getByRole('button', { name: 'Retention…' }).click()
  await choose(page, 'Keep entries', 'Forever')
  await page.getByRole('button', { name: 'Save' }).click()
  await page.getByText('newest first. Entries are kept forever.').waitFor()
})
