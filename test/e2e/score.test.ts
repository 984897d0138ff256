import { text } from 'node:stream/consumers'
import { expect, it } from 'vitest'
import { openPage } from '../support/browser.ts'
import { choose, consoleApp, publishTo, startSession } from '../support/console.ts'
import { runJobs } from '../support/jobs.ts'
import { expectSound } from '../support/looks.ts'
import { emptyQueue, failed, reportOf, storeReport } from '../support/reports.ts'

const acme = { name: 'acme', version: '1.0.0' }

it('updates from a queued analysis to its report without a reload', async () => {
  await using app = await consoleApp()
  const admin = await app.admin()
  await publishTo(app.url, admin.secret ?? '', acme)
  const { analyzer } = app.services
  const [begun, gate] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  app.services.analyzer = { ...analyzer, analyze: async (task) => (begun.resolve(), await gate.promise, analyzer.analyze(task)) }
  const page = await openPage(app.url)
  await startSession(page, app.url, admin.email)
  await page.goto('/packages/acme')
  await page.getByRole('link', { name: 'Score: Waiting' }).click()
  await page.getByText('This version is queued for analysis.').waitFor()
  await page.evaluate('window.wasLoadedOnce = true')

  const work = runJobs(app, { analyses: true })
  await begun.promise
  await page.getByText('This version is being analyzed.').waitFor()
  await page.getByText('Being generated.').waitFor()
  gate.resolve()
  await work
  await page.getByRole('heading', { name: /^\d of 10 checks$/ }).waitFor()
  await page.getByRole('link', { name: 'Browse the API of 1.0.0' }).waitFor()
  expect(await page.evaluate('window.wasLoadedOnce')).toBe(true)
  await page.getByRole('link', { name: 'Provide an example' }).press('Enter')
  expect(new URL(page.url()).hash).toBe('#check-example')
  const criterion = page
    .getByRole('region', { name: 'Missing' })
    .getByRole('listitem')
    .filter({ has: page.getByRole('heading', { name: 'Provide an example' }) })
  await criterion.getByText('How to improve').waitFor()
  expect(await criterion.locator('code').first().textContent()).toBe('example/')
  await page.getByRole('region', { name: 'Not measured' }).getByText('Code is formatted').waitFor()
  await expectSound(page, 'score')

  await page.getByRole('button', { name: 'Analyze again' }).click()
  await page.getByText('Until then, the previous report is shown.').waitFor()
})

it('distinguishes the states of a score, and shows when a report cannot be loaded', async () => {
  await using app = await consoleApp()
  const { email, secret = '' } = await app.member()
  await publishTo(app.url, secret, acme, { name: 'broken', version: '1.0.0' })
  await failed(app, 'broken', 'There is no `pubspec.yaml`.')
  await emptyQueue(app)
  const page = await openPage(app.url, { tolerate: [/status of 503/] })
  await startSession(page, app.url, email)
  await page.goto('/packages/broken/score')
  await page.getByText('The last analysis failed: There is no `pubspec.yaml`.').waitFor()
  await page.getByText('Log of the analysis').click()
  await page.getByText('The engine printed nothing.').waitFor()
  await expectSound(page, 'score-failed')
  await page.goto('/packages/acme/score')
  await page.getByText('This version has not been analyzed yet.').waitFor()
  expect(await page.getByRole('button', { name: 'Analyze' }).count()).toBe(0)
  app.config.SCORING_ENABLED = false
  await page.reload()
  await page.getByText('Scoring is switched off on this server.').waitFor()

  const isReport = (body: string | null) => body?.includes('"operationName":"VersionScore"') === true
  let isDown = true
  await page.route('**/graphql', (route) =>
    isDown && isReport(route.request().postData()) ? route.fulfill({ status: 503, body: 'away' }) : route.continue(),
  )
  await page.reload()
  const alert = page.getByRole('alert')
  await alert.getByText('The server did not respond.').waitFor()
  isDown = false
  await alert.getByRole('button', { name: 'Retry' }).click()
  await page.getByText('Scoring is switched off on this server.').waitFor()
})

it('copies the report as Markdown, and finds packages by their score', async () => {
  await using app = await consoleApp()
  const { email, secret = '' } = await app.member()
  await publishTo(app.url, secret, acme, { name: 'better', version: '1.0.0' }, { name: 'unknown', version: '1.0.0' })
  const note = 'Removes **2** declarations. <img src=x onerror=alert(1)> [this](javascript:alert(1))'
  await storeReport(app, 'acme', reportOf(6, 10, { engine: { name: 'pana', version: '0.23.18' }, notes: [note] }))
  await storeReport(app, 'better', reportOf(9, 10))
  const page = await openPage(app.url, { permissions: ['clipboard-read', 'clipboard-write'] })
  await startSession(page, app.url, email)
  await page.goto('/packages/acme/score')
  await page.getByText('6 of 10 points by pana 0.23.18').waitFor()
  await page.getByRole('region', { name: 'Passed' }).getByRole('heading', { name: 'Check 5' }).waitFor()
  await page.getByRole('region', { name: 'Missing' }).getByRole('heading', { name: 'Check 6' }).waitFor()
  const notes = page.getByRole('region', { name: 'Notes' })
  expect(await notes.locator('strong').textContent()).toBe('2')
  expect(await notes.locator('img, [href^=javascript]').count()).toBe(0)
  const copied = page.getByRole('button', { name: 'Copied' }) // shown for two seconds
  await Promise.all([copied.waitFor(), page.getByRole('button', { name: 'Copy as Markdown' }).click()])
  const text = await page.evaluate<string>('navigator.clipboard.readText()')
  expect(text).toContain('# acme 1.0.0: 6 of 10 checks')
  expect(text).toContain('- ✅ **Check 5**\n\n  Looked at.\n\n- ❌ **Check 6**')
  expect(text).toContain('## Follow Dart file conventions: 6/10\n\n- 🟡 **Provides a valid pubspec** (6/10)\n\n  Looks fine.')
  expect(text).toContain('- **Pass static analysis**: It needs an SDK.')

  await page.goto('/packages')
  await choose(page, 'Sort by', 'Highest score')
  const names = () => page.getByRole('main').getByRole('heading', { level: 2 }).getByRole('link').allTextContents()
  await expect.poll(async () => (await names()).map((name) => name.trim())).toEqual(['better', 'acme', 'unknown'])
  const filters = page.getByRole('navigation', { name: 'Filters' })
  await filters.getByRole('checkbox', { name: /^5 checks or more/ }).click()
  await page.getByRole('status').getByText('2 packages').waitFor()
  await filters.getByRole('checkbox', { name: /^9 checks or more/ }).click()
  await page.getByRole('status').getByText('1 package').waitFor()
  expect(new URL(page.url()).searchParams.get('q')).toBe('score:>=90')
})

it('shows the scores of the newest versions as bars in a table and as CSV', async () => {
  await using app = await consoleApp()
  const { email, secret = '' } = await app.member()
  const numbers = ['1.0.0', '1.1.0', '1.2.0', '2.0.0', '2.1.0']
  await publishTo(app.url, secret, ...numbers.map((version) => ({ name: 'acme', version })), { name: 'fresh', version: '1.0.0' })
  await emptyQueue(app)
  await storeReport(app, 'acme', reportOf(50, 100), '1.0.0')
  await storeReport(app, 'acme', reportOf(90, 100), '1.2.0')
  await storeReport(app, 'acme', reportOf(80, 100), '2.0.0')
  await storeReport(app, 'acme', reportOf(100, 160), '2.1.0')
  await storeReport(app, 'fresh', reportOf(1, 2))
  const page = await openPage(app.url)
  await startSession(page, app.url, email)
  await page.goto('/packages/acme/score')
  const history = page.getByRole('region', { name: 'Score over versions' }).first()
  await history.getByText('From 5 (1.0.0) to 6 passed checks (2.1.0); the highest is 9 (1.2.0).').waitFor()
  const rows = history.getByRole('row').filter({ has: page.getByRole('rowheader') })
  const texts = (await rows.allTextContents()).map((row) => row.replace(/[A-Z][a-z]{2} \d+, \d{4}/, ' '))
  expect(texts.map((row) => row.replaceAll(/\s+/g, ' '))).toEqual([
    '2.1.0shown here 6 / 10 checks−2 checks',
    '2.0.0 8 / 10 checks−1 check',
    '1.2.0 9 / 10 checks+4 checkssince 1.0.0',
    '1.1.0 Not analyzed–',
    '1.0.0 5 / 10 checks–',
  ])
  await expectSound(page, 'score-history')

  const [file] = await Promise.all([
    page.waitForEvent('download'),
    history.getByRole('button', { name: 'Download the scores as CSV' }).click(),
  ])
  expect(file.suggestedFilename()).toBe('acme-scores.csv')
  const lines = (await text(await file.createReadStream())).trim().split('\r\n')
  expect(lines).toHaveLength(6)
  expect(lines[4]).toMatch(/^1\.1\.0,\d{4}-[^,]+,Not analyzed,,10$/)
  expect(lines[3]).toMatch(/^1\.2\.0,\d{4}-[^,]+,Analyzed,9,10$/)

  await history.getByRole('link', { name: '1.1.0' }).press('Enter')
  await page.getByText('This version has not been analyzed yet.').waitFor()
  await history.getByText('1.1.0shown here').waitFor()
  await page.goto('/packages/fresh/score')
  await page.getByRole('heading', { name: '5 of 10 checks' }).waitFor()
  expect(await history.count()).toBe(0)
})
