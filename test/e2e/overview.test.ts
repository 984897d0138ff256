import { writeFile } from 'node:fs/promises'
import { expect, it } from 'vitest'
import { changeState } from '../../server/operations/backup/schedule/state.ts'
import { AccessToken } from '../../server/accounts/tokens/entity.ts'
import { collectGarbage } from '../../server/registry/uploads/service.ts'
import { folderOfTest } from '../support/backups.ts'
import { openPage, settled } from '../support/browser.ts'
import { consoleApp, publishTo, startSession } from '../support/console.ts'
import { expectSound } from '../support/looks.ts'
import { pathOf, plantOrphans } from '../support/stored-blobs.ts'

const day = 86_400_000
const ago = (days: number) => new Date(Date.now() - days * day).toISOString()

it('shows administrators the health and statistics of the server', async () => {
  await using app = await consoleApp({ env: { BACKUP_TO: folderOfTest() } })
  const admin = await app.admin({ displayName: 'Adam Admin' })
  const member = await app.member()
  await publishTo(app.url, member.secret ?? '', { name: 'acme', version: '1.0.0' }, { name: 'acme', version: '1.1.0' })
  const em = app.services.database.fork()
  for (const [name, days] of Object.entries({ 'nightly backup': 3, 'of last week': -3, 'of next month': 30 })) {
    const { secret: _, ...row } = { secret: '', hash: name, prefix: 'svc_pat_abcd', scopes: 'read,write,admin' }
    em.create(AccessToken, { ...row, user: admin.id, name, createdAt: new Date(), expiresAt: new Date(Date.now() + days * day + 60_000) })
  }
  await em.flush()
  const lastSuccess = { id: '20260101T030000000Z', at: ago(2), bytes: 5_000_000, blobs: 2, lacking: 1 }
  const lastFailure = { at: ago(1), reason: 'There is no space left on /srv/backups.' }
  await changeState(em.fork(), async () => [{ askedAt: ago(1), lastSuccess, lastFailure }, null])
  const page = await openPage(app.url)
  await startSession(page, app.url, admin.email)
  await page.goto('/')
  await page.getByRole('button', { name: /^Account/ }).click()
  await page.getByRole('menuitem', { name: 'Administration' }).click()
  await page.getByText('All systems operational').waitFor()
  expect(await page.getByRole('region', { name: 'Health' }).getByRole('listitem').count()).toBe(3)
  const facts = page.getByRole('region', { name: 'Statistics' })
  expect((await facts.textContent())?.replace(/\s+/g, ' ')).toMatch(/Packages\s*1.*Versions\s*2.*0 failed/)
  const table = page.getByRole('table', { name: 'Largest tables and indexes' })
  await table.waitFor()
  expect(await table.getByRole('row').count()).toBe(9)
  await page.getByText('Tables and indexes measured just now').waitFor()
  await page.getByText('Archives and documentation measured just now').waitFor()
  // The page shows two sizes of the same database, with and without the write-ahead log.
  await page.getByRole('region', { name: 'Storage' }).getByText('SQLite, with its write-ahead log').waitFor()
  await page.getByRole('region', { name: 'Database' }).getByText('Size without write-ahead log').waitFor()
  const tokens = page.getByRole('region', { name: /tokens that expire soon/ })
  await tokens.getByText('expires in 3 days').waitFor()
  expect(await tokens.getByRole('listitem').count()).toBe(1)
  const backups = page.getByRole('region', { name: 'Backups' })
  await backups.getByText(lastFailure.reason).waitFor()
  await backups.getByText('The last backup is missing 1 archive').waitFor()
  expect(await backups.textContent()).toMatch(/Last backup\s*2 days ago, [\d.]+ MB/)
  await expectSound(page, 'overview')
  await page
    .getByRole('navigation', { name: 'Administer' })
    .getByRole('link', { name: /^Legal pages/ })
    .click()
  await page.getByRole('heading', { name: 'Legal pages' }).waitFor()
})

it('shows failed queries and missing values, and retries', async () => {
  await using app = await consoleApp()
  const { email } = await app.owner()
  const page = await openPage(app.url, { tolerate: [/status of 500|Failed to load/] })
  await startSession(page, app.url, email)
  await page.route('**/graphql', (route) =>
    route.request().postData()?.includes('"operationName":"Statistics"') ? route.abort() : route.continue(),
  )
  await page.goto('/admin')
  await page.getByRole('alert').getByText('The server did not respond').waitFor()
  await page.getByText('All systems operational').waitFor()
  await page.getByText('None expire within 14 days.').waitFor()
  await page.getByText('No backup schedule is set.').waitFor()
  await page.unroute('**/graphql')
  // Simulates a database that does not permit the size query.
  await page.route('**/graphql', async (route) => {
    const response = await route.fetch()
    const json = await response.json()
    const statistics = json.data?.serverStatistics
    if (statistics) Object.assign(statistics, { database: null, disk: { ...statistics.disk, database: { bytes: null } } })
    await route.fulfill({ response, json })
  })
  await page.getByRole('button', { name: 'Retry' }).click()
  await page.getByText('The size of the database could not be read.').waitFor()
  expect(await page.getByRole('region', { name: 'Storage' }).getByText('Not reported').count()).toBe(1)
})

it('lists archives that cannot be downloaded, and a garbage collection that requires confirmation', async () => {
  await using app = await consoleApp()
  const [alice, admin] = [await app.member(), await app.admin()]
  await publishTo(app.url, alice.secret ?? '', { name: 'acme', version: '1.0.0' })
  const { body } = await alice.get('/api/packages/acme')
  const page = await openPage(app.url)
  await startSession(page, app.url, admin.email)
  await page.goto('/admin')
  await page.getByText('All systems operational').waitFor()
  await settled(page)
  expect(await page.getByText('cannot be downloaded').count()).toBe(0)
  await writeFile(pathOf(app, body.versions[0].archive_sha256), 'something else')
  expect(await alice.get('/api/archives/acme-1.0.0.tar.gz')).toMatchObject({ status: 503 })
  plantOrphans(app, 21)
  await collectGarbage(app.services)
  await page.reload()
  await page.getByText('1 archive cannot be downloaded').waitFor()
  await page.getByRole('link', { name: 'acme 1.0.0' }).waitFor()
  await page.getByText(/^21 of 22 stored archives \(.*\) belong to no version\./).waitFor()
  await expectSound(page, 'overview-notices')
})

it('shows which components are low on disk space', async () => {
  await using app = await consoleApp({ env: { MIN_FREE_BYTES: String(2 ** 50) } })
  const { email } = await app.owner()
  const page = await openPage(app.url)
  await startSession(page, app.url, email)
  await page.goto('/admin')
  await page.getByText('Some systems are not working').waitFor()
  const health = page.getByRole('region', { name: 'Health' })
  for (const component of [/^Database/, /^Archives/])
    expect(await health.getByRole('listitem').filter({ hasText: component }).textContent()).toMatch(/Failing.*low on disk space/)
})
