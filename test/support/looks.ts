import type { Page } from 'playwright-core'
import { expect } from 'vitest'
import { expectAccessible, screenshot, settled } from './browser.ts'
import { overflow } from './console.ts'

/** Only what changes from one look to the next is drawn anew; the last one is as the first. */
const looks = [
  ['desk', 'light'],
  ['desk', 'dark'],
  ['telephone', 'dark'],
  ['telephone', 'light'],
] as const
const sizes = { desk: { width: 1280, height: 800 }, telephone: { width: 360, height: 740 } }

/** Fails when the page on show is not accessible in light or in dark, or wider than a window; keeps a picture of each look. */
export async function expectSound(page: Page, name: string): Promise<void> {
  await settled(page)
  for (const [size, colorScheme] of looks) {
    await page.setViewportSize(sizes[size])
    await page.emulateMedia({ colorScheme })
    await page.locator(colorScheme === 'dark' ? 'html.dark' : 'html:not(.dark)').waitFor()
    await expectAccessible(page)
    expect(await overflow(page), `overflow of ${name}`).toBeLessThanOrEqual(0)
    await screenshot(page, `${name}-${size}-${colorScheme}`)
  }
  await page.setViewportSize(sizes.desk)
}
