import { expect, it } from 'vitest'
import { openPage } from '../support/browser.ts'
import { choose, consoleApp, publishTo, startSession } from '../support/console.ts'
import { runJobs } from '../support/jobs.ts'
import { expectSound } from '../support/looks.ts'

it('scores the remaining versions, and shows coverage, queue, log and background work', async () => {
  await using app = await consoleApp()
  const [alice, admin] = [await app.member(), await app.admin({ displayName: 'Adam Admin' })]
  await publishTo(app.url, alice.secret ?? '', { name: 'acme', version: '1.0.0' }, { name: 'acme', version: '1.1.0' })
  const page = await openPage(app.url)
  await startSession(page, app.url, admin.email)
  await page.goto('/admin/jobs?kind=analysis')
  for (let left = 2; left > 0; left--) {
    await page.getByText(left === 1 ? '1 job' : `${left} jobs`, { exact: true }).waitFor()
    await page
      .getByRole('button', { name: /^Cancel Analyze a version: acme 1\.[01]\.0/ })
      .first()
      .click()
    await page.getByRole('alertdialog').getByRole('button', { name: 'Remove job' }).click()
  }
  await page.getByText('No jobs found').waitFor()

  await page.goto('/admin/scoring')
  await page.getByText('0 of 2 versions scored').waitFor()
  await page.getByRole('button', { name: 'Score remaining…' }).click()
  const question = page.getByRole('alertdialog', { name: 'Score 2 remaining versions?' })
  await question.getByRole('button', { name: 'Score remaining' }).click()
  await page.getByRole('row', { name: /Adam Admin requested the analysis of the versions without a report: 2 queued/ }).waitFor()
  await page.getByRole('button', { name: 'Background work: 1 running' }).press('Enter')
  await page.getByText('2 versions left').waitFor()
  await expectSound(page, 'scoring')
  await runJobs(app, { analyses: true })
  await page.getByText('2 of 2 versions scored').waitFor()
  await page.getByText('Completed', { exact: true }).waitFor()
  await page.keyboard.press('Escape')
  await choose(page, 'Level', 'Error')
  await page.getByText('No lines found').waitFor()
  await choose(page, 'Level', 'Any level')
  await page.getByRole('button', { name: 'Clear log…' }).click()
  await page.getByRole('alertdialog').getByRole('button', { name: 'Clear log' }).click()
  await page.getByText('The log is empty').waitFor()
  await page.getByRole('link', { name: 'Manage SDKs' }).click()
  await page.getByRole('heading', { name: 'SDKs' }).waitFor()
})

it('changes the settings, and shows when the environment does not permit scoring', async () => {
  await using app = await consoleApp()
  const admin = await app.admin()
  const page = await openPage(app.url, { tolerate: [/status of 503/] })
  await startSession(page, app.url, admin.email)
  await page.goto('/admin/scoring')
  const save = page.getByRole('button', { name: 'Save' })
  await page.getByLabel('Time limit in seconds').fill('120')
  await page.getByLabel('Concurrent analyses').fill('2')
  await page.getByRole('switch', { name: 'Analyze versions' }).click()
  await save.click()
  const settings = async () => (await admin.get('/api/admin/sdk/settings')).body
  // The button is also disabled while it saves, so the stored settings are checked first.
  await expect.poll(settings).toMatchObject({ scoringEnabled: false, docsEnabled: true, concurrency: 2, timeoutSeconds: 120 })
  await expect.poll(() => save.isDisabled()).toBe(true)
  await expect.poll(() => page.getByRole('button', { name: 'Score remaining…' }).isDisabled()).toBe(true)

  // The unsaved input survives a navigation attempt, a failing server and a change by another administrator.
  await page.getByLabel('Time limit in seconds').fill('90')
  await admin.put('/api/admin/sdk/settings', { concurrency: 3 })
  const asked = await page.waitForRequest((request) => request.postData()?.includes('"operationName":"ScoringAdministration"') === true)
  await asked.response()
  await page.route('**/graphql', (route) => route.fulfill({ status: 503, body: 'away' }))
  await page.getByText('The server did not respond.').first().waitFor()
  await page.unroute('**/graphql')
  await page.getByRole('link', { name: 'Jobs' }).click()
  const leaving = page.getByRole('alertdialog', { name: 'Leave without saving?' })
  await leaving.getByRole('button', { name: 'Cancel' }).click()
  expect(await page.getByLabel('Time limit in seconds').inputValue()).toBe('90')
  await page.getByRole('link', { name: 'Jobs' }).click()
  await leaving.getByRole('button', { name: 'Leave' }).click()
  await page.getByRole('heading', { name: 'Jobs' }).waitFor()

  await using other = await consoleApp({ env: { SCORING_ENABLED: 'false' } })
  const second = await openPage(other.url)
  await startSession(second, other.url, (await other.admin()).email)
  await second.goto('/admin/scoring')
  await second.getByText(/Set SCORING_ENABLED=true/).waitFor()
  expect(await second.getByRole('switch', { name: 'Analyze versions' }).isDisabled()).toBe(true)
  await expectSound(second, 'scoring-not-permitted')
})
