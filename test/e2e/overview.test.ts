import { writeFile } from 'node:fs/promises'
import { expect, it } from 'vitest'
import { AccessToken } from '../../server/accounts/tokens/entity.ts'
import { changeState } from '../../server/operations/backup/schedule/state.ts'
import { DailySample } from '../../server/operations/stats/entity.ts'
import { dayOf } from '../../server/registry/downloads/service.ts'
import { collectGarbage } from '../../server/registry/uploads/service.ts'
import { addEntries } from '../support/audit.ts'
import { folderOfTest } from '../support/backups.ts'
import { openPage } from '../support/browser.ts'
import { consoleApp, publishTo, startSession } from '../support/console.ts'
import { expectSound } from '../support/looks.ts'
import { pathOf, plantOrphans } from '../support/stored-blobs.ts'
import { addTotp } from '../support/totp.ts'

const day = 86_400_000
const ago = (days: number) => new Date(Date.now() - days * day).toISOString()

it('shows administrators what to do first, then statistics over time and the newest actions of people', async () => {
  await using app = await consoleApp({ env: { BACKUP_TO: folderOfTest() } })
  const admin = await app.admin({ displayName: 'Adam Admin' })
  const member = await app.member({ displayName: 'Mona Member' })
  await publishTo(app.url, member.secret ?? '', { name: 'acme', version: '1.0.0' }, { name: 'acme', version: '1.1.0' })
  const em = app.services.database.fork()
  for (const [name, days] of Object.entries({ 'nightly backup': 3, 'of last week': -3, 'of next month': 30 })) {
    const { secret: _, ...row } = { secret: '', hash: name, prefix: 'svc_pat_abcd', scopes: 'read,write,admin' }
    em.create(AccessToken, { ...row, user: admin.id, name, createdAt: new Date(), expiresAt: new Date(Date.now() + days * day + 60_000) })
  }
  const today = dayOf(new Date())
  for (let back = 1; back < 20; back++)
    em.create(DailySample, {
      day: today - back,
      archiveBytes: (40 - back) * 1_000_000,
      docsBytes: 2_000_000,
      databaseBytes: 9_000_000,
      freeBytes: 50_000_000_000 + back * 100_000_000,
      activePeople: 2,
      activeTokens: 1,
    })
  await em.flush()
  await addEntries(app, 1, () => ({ kind: 'package.scored', summary: 'Scored by itself', actorId: null }))
  const lastFailure = { at: ago(1), reason: 'There is no space left on /srv/backups.' }
  await changeState(em.fork(), async () => [{ askedAt: ago(1), lastFailure }, null])
  const page = await openPage(app.url)
  await startSession(page, app.url, admin.email)
  await page.goto('/')
  await page.getByRole('button', { name: /^Account/ }).click()
  await page.getByRole('menuitem', { name: 'Administration' }).click()
  const attention = page.getByRole('region', { name: 'Needs attention' }).getByRole('listitem')
  await attention.first().waitFor()
  expect(await attention.first().textContent()).toContain(lastFailure.reason)
  const tokens = attention.filter({ hasText: '1 administrator token expires within 14 days.' })
  await tokens.getByRole('link', { name: 'Show tokens' }).click()
  await page
    .getByRole('region', { name: /tokens that expire soon/ })
    .getByText('expires in 3 days')
    .waitFor()
  const facts = page.getByRole('region', { name: 'Statistics' })
  expect((await facts.textContent())?.replace(/\s+/g, ' ')).toMatch(/Packages\s*1.*Versions\s*2.*0 failed/)
  const activity = page.getByRole('region', { name: 'Activity' })
  await activity.getByText('Show as a table').first().click()
  await activity.getByRole('row').last().waitFor()
  expect(await activity.getByRole('table').first().getByRole('row').nth(1).textContent()).toMatch(/2$/)
  const storage = page.getByRole('region', { name: 'Storage' })
  await storage.getByText('SQLite, with its write-ahead log').waitFor()
  await storage.getByText('Archives and documentation measured just now').waitFor()
  await storage.getByRole('button', { name: 'Forecast' }).waitFor()
  const actions = page.getByRole('region', { name: 'Recent actions' })
  await actions.getByText('Mona Member published acme 1.1.0').waitFor()
  expect(await actions.getByText('Scored by itself').count()).toBe(0)
  expect(await actions.getByText(/signed in/).count()).toBe(0)
  await expectSound(page, 'overview')

  // An item disappears once it is resolved and the page has the focus again.
  await changeState(em.fork(), async () => [{ lastSuccess: { id: '1', at: ago(0), bytes: 1, blobs: 1, lacking: 0 } }, null])
  await page.evaluate('window.dispatchEvent(new Event("focus"))')
  await attention.filter({ hasText: lastFailure.reason }).waitFor({ state: 'detached' })
})

it('shows a checklist after the setup whose rows turn green by themselves, until an administrator hides it', async () => {
  await using app = await consoleApp()
  const { email } = await app.owner()
  await app.services.database.fork().getConnection().execute('update access_tokens set revoked_at = created_at')
  const page = await openPage(app.url)
  await startSession(page, app.url, email)
  await page.goto('/admin')
  const checklist = page.getByRole('region', { name: 'Finish setting up' })
  await checklist.getByText('0 of 6 done').waitFor()
  await expectSound(page, 'overview-checklist')
  const alice = await app.member()
  await publishTo(app.url, alice.secret ?? '', { name: 'acme', version: '1.0.0' })
  await page.evaluate('window.dispatchEvent(new Event("focus"))')
  await checklist.getByText('3 of 6 done').waitFor()
  expect(await checklist.getByRole('listitem').filter({ hasText: 'Publish the first package' }).textContent()).toMatch(/Done$/)
  await checklist.getByRole('link', { name: /^Set up backups/ }).waitFor()
  await checklist.getByRole('button', { name: 'Hide' }).click()
  await checklist.waitFor({ state: 'detached' })
  await page.reload()
  await page.getByRole('region', { name: 'Statistics' }).waitFor()
  expect(await checklist.count()).toBe(0)
  const [hidden] = await app.services.database
    .fork()
    .execute<{ value: string }[]>("select value from server_settings where key = 'setup.checklist'")
  expect(hidden?.value).toBe('{"isHidden":true}')
})

it('shows failed queries and missing values, and retries', async () => {
  await using app = await consoleApp()
  const { email } = await app.owner()
  const page = await openPage(app.url, { tolerate: [/status of 500|Failed to load/] })
  await startSession(page, app.url, email)
  await page.route('**/graphql', (route) =>
    route.request().postData()?.includes('"operationName":"Statistics"') ? route.abort() : route.continue(),
  )
  // The first answers of a page that is opened by its address are in its HTML, so the overview is opened from another page.
  await page.goto('/admin/jobs')
  await page.getByRole('link', { name: 'Overview' }).click()
  await page.getByRole('alert').getByText('The server did not respond').waitFor()
  await page.getByText('Automatic backups are off.').waitFor()
  await page.unroute('**/graphql')
  // Simulates a database that does not permit the size query.
  await page.route('**/graphql', async (route) => {
    const response = await route.fetch()
    const json = await response.json()
    const statistics = json.data?.serverStatistics
    if (statistics?.disk) Object.assign(statistics, { disk: { ...statistics.disk, database: { bytes: null } } })
    await route.fulfill({ response, json })
  })
  await page.getByRole('button', { name: 'Retry' }).click()
  const sizes = page.getByRole('region', { name: 'Storage' })
  await sizes.getByText('Not reported').waitFor()
  expect(await sizes.getByText('Not reported').count()).toBe(1)
})

it('shows one sentence when nothing needs attention', async () => {
  await using app = await consoleApp({ env: { BACKUP_TO: folderOfTest(), SCORING_ENABLED: 'false', BCRYPT_COST: '10' } })
  const owner = await app.owner()
  const page = await openPage(app.url)
  await startSession(page, app.url, owner.email)
  await addTotp(await owner.session(), app.services.now())
  await app.services.database.fork().nativeUpdate(AccessToken, {}, { expiresAt: new Date(Date.now() + 365 * day) })
  await page.goto('/admin')
  await page.getByText('Everything works, and nothing needs your attention.').waitFor()
  expect(await page.getByRole('region', { name: 'Needs attention' }).getByRole('listitem').count()).toBe(0)
  await page.goto('/admin/self-check')
  await page.getByText('No problems found').waitFor()
})

it('gives a verdict on the self-check page, and lists archives that cannot be downloaded and the database tables', async () => {
  await using app = await consoleApp()
  const [alice, admin] = [await app.member(), await app.admin()]
  await publishTo(app.url, alice.secret ?? '', { name: 'acme', version: '1.0.0' })
  const { body } = await alice.get('/api/packages/acme')
  await writeFile(pathOf(app, body.versions[0].archive_sha256), 'something else')
  expect(await alice.get('/api/archives/acme-1.0.0.tar.gz')).toMatchObject({ status: 503 })
  plantOrphans(app, 21)
  await collectGarbage(app.services)
  const page = await openPage(app.url)
  await startSession(page, app.url, admin.email)
  await page.goto('/admin')
  const item = page.getByRole('listitem').filter({ hasText: '1 archive cannot be downloaded' })
  await item.getByRole('link', { name: 'Show archives' }).click()
  await page
    .getByRole('region', { name: 'Result' })
    .getByText(/problems found$/)
    .waitFor()
  await page.getByRole('link', { name: 'acme 1.0.0' }).waitFor()
  await page.getByText(/^21 of 22 stored archives \(.*\) belong to no version\./).waitFor()
  await page.getByText('All systems operational').waitFor()
  expect(await page.getByRole('region', { name: 'Health' }).getByRole('listitem').count()).toBe(3)
  const table = page.getByRole('table', { name: 'Largest tables and indexes' })
  await table.waitFor()
  expect(await table.getByRole('row').count()).toBe(9)
  await page.getByRole('region', { name: 'Database' }).getByText('Size without write-ahead log').waitFor()
  await expectSound(page, 'self-check-verdict')
})

it('shows which components are low on disk space', async () => {
  await using app = await consoleApp({ env: { MIN_FREE_BYTES: String(2 ** 50) } })
  const { email } = await app.owner()
  const page = await openPage(app.url)
  await startSession(page, app.url, email)
  await page.goto('/admin')
  await page.getByText('The disk is full: packages cannot be published.').waitFor()
  await page.goto('/admin/self-check')
  await page.getByText('Some systems are not working').waitFor()
  const health = page.getByRole('region', { name: 'Health' })
  for (const component of [/^Database/, /^Archives/])
    expect(await health.getByRole('listitem').filter({ hasText: component }).textContent()).toMatch(/Failing.*low on disk space/)
})
