import type { Page } from 'playwright-core'
import { expect } from 'vitest'
import { expectAccessible, screenshot, settled } from './browser.ts'
import { overflow } from './console.ts'

const sizes = { desk: { width: 1280, height: 800 }, telephone: { width: 360, height: 740 } }

/** Fails when the page on show is not accessible in light or in dark, or wider than a window; keeps a picture of each look. */
export async function expectSound(page: Page, name: string): Promise<void> {
  await settled(page)
  for (const [size, viewport] of Object.entries(sizes)) {
    await page.setViewportSize(viewport)
    for (const colorScheme of ['dark', 'light'] as const) {
      await page.emulateMedia({ colorScheme })
      await page.locator(colorScheme === 'dark' ? 'html.dark' : 'html:not(.dark)').waitFor()
      await expectAccessible(page)
      expect(await overflow(page), `overflow of ${name}`).toBeLessThanOrEqual(0)
      await screenshot(page, `${name}-${size}-${colorScheme}`)
    }
  }
  await page.setViewportSize(sizes.desk)
}
