import { expect, it } from 'vitest'
import { openPage, screenshot, settled } from '../support/browser.ts'
import { consoleApp, overflow, publishTo, startSession } from '../support/console.ts'
import { storeDownloads } from '../support/download-history.ts'
import { expectSound } from '../support/looks.ts'
import { begin, reportOf, store, versionId } from '../support/reports.ts'

it('groups versions by major version, and shows what changed in each', async () => {
  await using app = await consoleApp()
  const { email, secret = '' } = await app.member()
  const old = Array.from({ length: 30 }, (_, index) => ({ name: 'acme', version: `1.${index}.0` }))
  const changelog =
    '# Changes\n\n## 2.1.0\n\n### Added\n\n- Adds [streams](https://example.com) and `close`.\n\n## 2.0.0\n\n- Removes the old API.\n'
  const files = { 'CHANGELOG.md': changelog }
  await publishTo(
    app.url,
    secret,
    ...old,
    { name: 'acme', version: '2.0.0' },
    { name: 'acme', version: '2.1.0', files },
    { name: 'acme', version: '3.0.0-dev.1' },
  )
  const id = await versionId(app, 'acme', '2.1.0')
  const apiVerdict = { from: '2.0.0', verdict: 'breaking', isHonest: false } as const
  await store(app, id, { generation: await begin(app, id), report: reportOf(3, 4), surface: Buffer.from('x'), apiVerdict })
  await storeDownloads(app, 'acme', '2.1.0', [[1, 1234]])
  const page = await openPage(app.url)
  await startSession(page, app.url, email)
  await page.goto('/packages/acme/versions')
  const row = page.getByRole('row', { name: /^2\.1\.0 Latest Adds streams and close\./ })
  for (const cell of ['1,234', '7/10', 'Dart 3.0.0']) await row.getByText(cell).waitFor()
  expect(await row.getByRole('link', { name: /^API of 2\.1\.0: Breaking/ }).getAttribute('href')).toBe(
    '/packages/acme/compare?from=2.0.0&to=2.1.0',
  )
  await row.getByRole('button', { name: 'Actions for 2.1.0' }).click()
  const compare = page.getByRole('menuitem', { name: 'Compare with 2.0.0' })
  expect(await compare.getAttribute('href')).toBe('/packages/acme/compare?from=2.0.0&to=2.1.0')
  // Actions that are not possible can have the focus, so that their reason can be read, but do nothing.
  await page.keyboard.press('Home')
  await page.keyboard.press('ArrowDown')
  const missing = page.getByRole('menuitem', { name: /^API documentation ?Not generated$/, disabled: true })
  await expect.poll(() => missing.evaluate((item) => item.matches(':focus'))).toBe(true)
  await page.keyboard.press('Enter')
  await missing.waitFor()
  await page.keyboard.press('Escape')
  await compare.waitFor({ state: 'hidden' })
  const names = page.getByRole('button', { expanded: false }).or(page.getByRole('button', { expanded: true }))
  expect((await names.filter({ hasText: /\d\.x/ }).allTextContents()).map((text) => text.trim())).toEqual([
    expect.stringMatching(/^3\.x.*1 version.*3\.0\.0-dev\.1$/),
    expect.stringMatching(/^2\.x.*2 versions$/),
    expect.stringMatching(/^1\.x.*30 versions.*1\.29\.0$/),
  ])
  await expectSound(page, 'versions')

  await page.getByRole('button', { name: /^1\.x/ }).press('Enter')
  const ones = page.getByRole('table', { name: 'Versions of acme, 1.x' })
  await ones.getByRole('link', { name: '1.10.0', exact: true }).waitFor()
  expect(await ones.getByRole('link', { name: '1.9.0', exact: true }).count()).toBe(0)
  await page.getByRole('navigation', { name: 'Pages' }).getByRole('button', { name: 'Next page' }).click()
  await ones.getByRole('link', { name: '1.9.0', exact: true }).waitFor()
  expect(new URL(page.url()).searchParams.get('open')).toBe('2.x,1.x')
  await page.reload()
  await ones.getByRole('link', { name: '1.0.0', exact: true }).waitFor()
  for (const width of [1440, 768, 390]) {
    await page.setViewportSize({ width, height: 900 })
    await settled(page)
    expect(await overflow(page)).toBeLessThanOrEqual(0)
    const cut =
      "Array.from(document.querySelectorAll('main [role=region]')).filter((box) => box.querySelector('table') && box.scrollWidth > box.clientWidth).map((box) => box.ariaLabel)"
    expect(await page.evaluate(cut), `cut off at ${width}`).toEqual([])
    await screenshot(page, `versions-${width}`)
  }
  await page.getByRole('button', { name: /^2\.x/ }).click()
  await page.getByRole('button', { name: /^1\.x/ }).click()
  expect(new URL(page.url()).searchParams.get('open')).toBe('none')
})
