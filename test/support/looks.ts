import type { Page } from 'playwright-core'
import { expect } from 'vitest'
import { expectAccessible, screenshot, settled } from './browser.ts'
import { overflow } from './console.ts'

/** Two combinations that cover both sizes and both color schemes. The others would find hardly anything more and double the time of the browser. */
const looks = [
  ['desk', 'light'],
  ['telephone', 'dark'],
] as const
export const sizes = { desk: { width: 1280, height: 800 }, telephone: { width: 360, height: 740 } }

type Size = (typeof looks)[number][0]
type ColorScheme = (typeof looks)[number][1]

/** Changes the size and color scheme of the page and waits until it has adapted. */
export async function showAs(page: Page, size: Size, colorScheme: ColorScheme): Promise<void> {
  await page.setViewportSize(sizes[size])
  await page.emulateMedia({ colorScheme })
  await page.locator(colorScheme === 'dark' ? 'html.dark' : 'html:not(.dark)').waitFor()
}

/** Fails if the page is not accessible or overflows, in light mode on a desktop and in dark mode on a phone. Saves a screenshot of each. */
export async function expectSound(page: Page, name: string): Promise<void> {
  await settled(page)
  for (const [size, colorScheme] of looks) {
    await showAs(page, size, colorScheme)
    await expectAccessible(page)
    expect(await overflow(page), `overflow of ${name}`).toBeLessThanOrEqual(0)
    await screenshot(page, `${name}-${size}-${colorScheme}`)
  }
  await showAs(page, 'desk', 'light')
}
