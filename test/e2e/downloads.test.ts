import { readFile } from 'node:fs/promises'
import { expect, it } from 'vitest'
import { openPage, screenshot, settled } from '../support/browser.ts'
import { consoleApp, publishTo, startSession } from '../support/console.ts'
import { storeDownloads } from '../support/download-history.ts'
import { expectSound } from '../support/looks.ts'

it('shows weekly downloads by version as a chart, a table and CSV', async () => {
  await using app = await consoleApp()
  const { email, secret = '' } = await app.member()
  await publishTo(app.url, secret, ...['1.0.0', '1.1.0', '2.0.0', '2.1.0'].map((version) => ({ name: 'acme', version })), {
    name: 'empty',
    version: '1.0.0',
  })
  const weeks = (count: number, amount: number) =>
    Array.from({ length: count }, (_, week): [number, number] => [week * 7, amount + ((week * 37) % 23)])
  await storeDownloads(app, 'acme', '1.0.0', weeks(60, 40))
  await storeDownloads(app, 'acme', '1.1.0', weeks(48, 55))
  await storeDownloads(app, 'acme', '2.0.0', weeks(24, 80))
  await storeDownloads(app, 'acme', '2.1.0', [[0, 1234]])
  const page = await openPage(app.url)
  await startSession(page, app.url, email)
  await page.goto('/packages/empty/downloads')
  await page.getByText('No version of empty was downloaded in this period.').waitFor()
  await page.goto('/packages/acme/downloads')
  const chart = page.getByRole('slider', { name: 'Downloads of acme by week' })
  await chart.locator('canvas').waitFor()
  await page.getByText(/to .*: [\d,]+ in total; the highest week was/).waitFor()

  // The keyboard moves the cursor; the value is read out and shown.
  await chart.focus()
  await page.locator('[data-tooltip]').waitFor()
  const latest = (await chart.getAttribute('aria-valuetext')) ?? ''
  expect(latest).toMatch(/^Week from .*: Total: 1,409, 2\.x: 1,314, 1\.x: 95$/)
  await chart.press('ArrowLeft')
  await expect.poll(() => chart.getAttribute('aria-valuetext')).toMatch(/Total: 217, 2\.x: 94, 1\.x: 123$/)
  await chart.press('Home')
  await expect.poll(() => chart.getAttribute('aria-valuenow')).toBe('0')

  await page.getByRole('button', { name: 'Minor versions' }).click()
  await page.getByRole('list', { name: 'Legend' }).getByRole('button', { name: '2.1.x' }).waitFor()
  await page.getByRole('button', { name: '3 months' }).click()
  await settled(page)
  expect(new URL(page.url()).search).toBe('?by=minor&range=3-months')
  await page.getByRole('button', { name: '2.0.x' }).click()
  expect(await page.getByRole('button', { name: '2.0.x' }).getAttribute('aria-pressed')).toBe('false')

  await page.getByText('Show as a table').click()
  const table = page.getByRole('table', { name: 'Downloads of acme by week' })
  expect(await table.getByRole('columnheader').allTextContents()).toEqual(['Week from', '2.1.x', '2.0.x', '1.1.x', '1.0.x', 'Total'])
  expect(await table.getByRole('row').nth(1).getByRole('cell').allTextContents()).toEqual(['1,234', '80', '55', '40', '1,409'])
  const [download] = await Promise.all([page.waitForEvent('download'), page.getByRole('button', { name: /as CSV$/ }).click()])
  expect(download.suggestedFilename()).toBe('Downloads-of-acme-by-week.csv')
  const lines = (await readFile(await download.path(), 'utf8')).trimEnd().split('\r\n')
  expect(lines[0]).toBe('week,2.1.x,2.0.x,1.1.x,1.0.x')
  expect(lines).toHaveLength(14)
  expect(lines.at(-1)).toMatch(/^\d{4}-\d\d-\d\d,1234,80,55,40$/)

  await page.goto('/packages/acme/downloads?range=all')
  await chart.locator('canvas').waitFor()
  await chart.focus()
  await expectSound(page, 'downloads')
  await page.setViewportSize({ width: 768, height: 1024 })
  await page.goto('/packages/acme/downloads')
  await chart.locator('canvas').waitFor()
  await chart.hover({ position: { x: 300, y: 100 } })
  await page.locator('[data-tooltip]').waitFor()
  await screenshot(page, 'downloads-tablet')
})
