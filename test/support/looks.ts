import type { Page } from 'playwright-core'
import { expect } from 'vitest'
import { expectAccessible, screenshot, settled } from './browser.ts'
import { overflow } from './console.ts'

/**
 * Combinations of size and color scheme. Consecutive ones differ in a single property to reduce rendering, and the last one has the size of the
 * first.
 */
const looks = [
  ['desk', 'light'],
  ['desk', 'dark'],
  ['telephone', 'dark'],
  ['telephone', 'light'],
] as const
const sizes = { desk: { width: 1280, height: 800 }, telephone: { width: 360, height: 740 } }

/** Fails if the page is not accessible in light and dark mode, or overflows at desktop or phone size. Saves a screenshot of each combination. */
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
