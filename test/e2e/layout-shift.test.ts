import type { Page } from 'playwright-core'
import { setTimeout as wait } from 'node:timers/promises'
import { expect, it } from 'vitest'
import { openPage, settled } from '../support/browser.ts'
import { consoleApp, publishTo, startSession } from '../support/console.ts'

/** Maximum cumulative layout shift, which covers imperceptible movements. Lighthouse's bound for a good page is 0.1. */
const maxShift = 0.02

/** The same when a list of what needs attention arrives above the placeholder of the statistics. */
const maxShiftOfOverview = 0.05

/** Latency of every response in milliseconds. */
const delayMs = 1500

/** Script that records the layout shifts of a page, and what moved, from its beginning. */
const recordShifts = `
  window.shifts = []
  new PerformanceObserver((list) => {
    for (const { value, sources } of list.getEntries())
      window.shifts.push({ value, moved: sources.map(({ node }) => (node?.outerHTML ?? '').slice(0, 150)) })
  }).observe({ type: 'layout-shift', buffered: true })`

type Shift = { value: number; moved: string[] }

async function shiftsOf(page: Page, path: string): Promise<Shift[]> {
  await page.addInitScript(recordShifts)
  await page.route('**/*', async (route) => {
    await wait(delayMs)
    await route.continue().catch(() => undefined) // the page may have been closed
  })
  await page.goto(path)
  await page.getByRole('heading', { level: 1 }).first().waitFor()
  await settled(page)
  return page.evaluate<Shift[]>('window.shifts')
}

it.each([
  ['wide', { width: 1440, height: 900 }],
  ['narrow', { width: 390, height: 844 }],
])('does not move the content of a %s page when every response takes 1.5 seconds', async (_name, viewport) => {
  await using app = await consoleApp()
  const admin = await app.admin()
  const names = Array.from({ length: 12 }, (_, index) => `acme_${index}`)
  const readme = Array.from({ length: 20 }, (_, index) => `## Part ${index}\n\nText of this part.\n`).join('\n')
  await publishTo(
    app.url,
    admin.secret ?? '',
    ...names.flatMap((name) => ['1.0.0', '2.0.0'].map((version) => ({ name, version, files: { 'README.md': readme } }))),
  )
  await Promise.all(
    ['/', '/packages', '/packages/acme_0', '/packages/acme_0/versions', '/admin'].map(async (path) => {
      const page = await openPage(app.url, { viewport })
      await startSession(page, app.url, admin.email)
      const shifts = await shiftsOf(page, path)
      const total = shifts.reduce((sum, { value }) => sum + value, 0)
      expect(total, `${path}: ${JSON.stringify(shifts)}`).toBeLessThanOrEqual(maxShift)
    }),
  )
})

it('does not move the statistics when the checklist arrives after them', async () => {
  await using app = await consoleApp()
  const admin = await app.admin()
  const page = await openPage(app.url)
  await startSession(page, app.url, admin.email)
  await page.goto('/packages')
  await settled(page)
  const answer = Promise.withResolvers<void>()
  const statistics = page.waitForResponse((response) => response.request().postData()?.includes('"Statistics"') ?? false)
  await page.route('**/graphql', async (route) => {
    if (route.request().postData()?.includes('"SetupChecklist"')) await answer.promise
    await route.continue()
  })
  await page.getByRole('button', { name: /^Account/ }).click()
  await page.getByRole('menuitem', { name: 'Administration' }).click()
  await statistics
  await page.evaluate(recordShifts)
  const [checklist, facts] = [page.getByRole('region', { name: 'Finish setting up' }), page.getByRole('region', { name: 'Statistics' })]
  await page.getByRole('heading', { name: 'Recent actions' }).waitFor()
  expect([await checklist.count(), await facts.count()]).toEqual([0, 0])
  answer.resolve()
  await checklist.waitFor()
  await facts.waitFor()
  const shifts = await page.evaluate<Shift[]>('window.shifts')
  expect(
    shifts.reduce((sum, { value }) => sum + value, 0),
    JSON.stringify(shifts),
  ).toBeLessThanOrEqual(maxShiftOfOverview)
})
