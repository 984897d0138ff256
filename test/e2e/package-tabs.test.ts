import type { Page } from 'playwright-core'
import { expect, it } from 'vitest'
import { openPage, settled } from '../support/browser.ts'
import { consoleApp, publishTo, startSession } from '../support/console.ts'
import { expectSound } from '../support/looks.ts'

const files = { 'example/example.md': '# How to\n' }

/** Returns the tabs that are visible in the row, and those in the menu, which stays open. */
async function tabsOf(page: Page): Promise<{ row: string[]; menu: string[] }> {
  const tabs = page.getByRole('navigation', { name: 'acme: sections' })
  await tabs.waitFor()
  await settled(page)
  const links = await tabs.getByRole('link').all()
  const box = await tabs.boundingBox()
  for (const link of links) {
    const { x = 0, width = Infinity } = (await link.boundingBox()) ?? {}
    expect(x + width).toBeLessThanOrEqual((box?.x ?? 0) + (box?.width ?? 0))
  }
  const row = await Promise.all(links.map((link) => link.innerText()))
  await tabs.getByRole('button').click()
  await page.getByRole('menuitem').first().waitFor()
  return { row: row.map((text) => text.split('\n')[0] ?? ''), menu: await page.getByRole('menuitem').allInnerTexts() }
}

it('shows every tab of a package in the row or in the menu at its end, at every width', async () => {
  await using app = await consoleApp()
  const { email, secret = '' } = await app.member()
  await publishTo(app.url, secret, { name: 'acme', version: '1.0.0', files })
  const page = await openPage(app.url)
  await startSession(page, app.url, email)
  const counts: number[] = []
  for (const width of [390, 768, 1440]) {
    await page.setViewportSize({ width, height: 844 })
    await page.goto('/packages/acme')
    const { row, menu } = await tabsOf(page)
    const all = [...row, ...menu].map((label) => label.replace(/ \(\d+\)$/, ''))
    for (const label of ['Readme', 'Changelog', 'Versions', 'Install', 'Score', 'Dependencies', 'Example', 'License', 'Admin']) {
      expect(
        all.filter((one) => one === label),
        `${label} at ${width}`,
      ).toEqual([label])
    }
    counts.push(row.length)
  }
  expect(counts[0]).toBeGreaterThanOrEqual(3)
  expect(counts[0]).toBeLessThan(counts[2] ?? 0)
})

it('opens a page of the menu with the keyboard, and names that page on the button', async () => {
  await using app = await consoleApp()
  const { email, secret = '' } = await app.member()
  await publishTo(app.url, secret, { name: 'acme', version: '1.0.0', files })
  const page = await openPage(app.url, { viewport: { width: 390, height: 844 } })
  await startSession(page, app.url, email)
  await page.goto('/packages/acme')
  const button = page.getByRole('navigation', { name: 'acme: sections' }).getByRole('button')
  await button.focus()
  await page.keyboard.press('Enter')
  await page.getByRole('menuitem', { name: 'Install' }).waitFor()
  await page.keyboard.type('lic')
  await page.keyboard.press('Enter')
  await page.waitForURL('**/packages/acme/license')
  await page.getByRole('button', { name: 'More: License' }).waitFor()
  expect(await button.getAttribute('aria-current')).toBe('true')
  await button.click()
  await expect.poll(() => page.getByRole('menuitem', { name: 'License' }).getAttribute('aria-current')).toBe('page')
  await page.keyboard.press('Escape')
  await expectSound(page, 'package-license')
})
