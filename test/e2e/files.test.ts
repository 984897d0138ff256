import { expect, it } from 'vitest'
import { openPage, settled } from '../support/browser.ts'
import { consoleApp, overflow, publishTo, startSession } from '../support/console.ts'
import { expectSound } from '../support/looks.ts'
import { plain } from '../support/pictures.ts'

const source = `${Array.from({ length: 300 }, (_, index) => `final int value${index} = ${index};`).join('\n')}\n`

it('shows the files of a version: tree, highlighted source with links to lines, images, Markdown, and missing files', async () => {
  await using app = await consoleApp()
  const { email, secret = '' } = await app.member()
  const files = {
    'lib/src/values.dart': source,
    'doc/guide.md': '# Guide\n\nSee [the values](../lib/src/values.dart).\n',
    'doc/logo.png': await plain({ width: 40, height: 20 }).png().toBuffer(),
    'data.bin': Buffer.from([0, 1, 2]),
    'large.txt': 'x'.repeat(600_000),
  }
  await publishTo(app.url, secret, { name: 'acme', version: '1.0.0', pubspec: 'repository: https://example.com/acme\n', files })
  await publishTo(app.url, secret, { name: 'acme', version: '1.1.0' })
  const page = await openPage(app.url)
  await startSession(page, app.url, email)
  await page.goto('/packages/acme/versions/1.0.0')
  await page.getByRole('heading', { name: 'acme 1.0.0' }).waitFor()
  await page.keyboard.press('.')
  await page.waitForURL('**/packages/acme/versions/1.0.0/files')
  const content = page.getByRole('list', { name: 'Content of the package' })
  await content.getByRole('link', { name: 'doc 2 files' }).waitFor()
  await expectSound(page, 'files')

  const tree = page.getByRole('tree', { name: 'Files' })
  await tree.getByRole('treeitem', { name: 'lib' }).click()
  await tree.getByRole('treeitem', { name: 'src' }).press('Enter')
  await tree.getByRole('treeitem', { name: 'values.dart' }).press('Enter')
  await page.waitForURL('**/files/lib/src/values.dart')
  const code = page.getByRole('region', { name: 'Source of lib/src/values.dart' })
  await code.getByText('final int value0 = 0;').waitFor()
  expect(await page.title()).toBe('values.dart · acme 1.0.0 · Snug')
  await page.locator('[data-line="3"]').click()
  await page.locator('[data-line="5"]').click({ modifiers: ['Shift'] })
  await expect.poll(() => new URL(page.url()).hash).toBe('#L3-L5')
  expect(await code.locator('.marked code').allTextContents()).toEqual([2, 3, 4].map((value) => `final int value${value} = ${value};`))
  await page.getByLabel('Go to line').fill('250')
  await page.getByLabel('Go to line').press('Enter')
  await expect.poll(() => new URL(page.url()).hash).toBe('#L250')
  await expectSound(page, 'files-source')
  await page.reload()
  await expect.poll(() => code.locator('.marked code').allTextContents()).toEqual(['final int value249 = 249;'])
  await expect.poll(() => page.evaluate('document.getElementById("L250").getBoundingClientRect().top < innerHeight')).toBe(true)

  await page.goto('/packages/acme/versions/1.0.0/files/doc/guide.md')
  await page.getByRole('heading', { name: 'Guide' }).waitFor()
  await expectSound(page, 'files-markdown')
  await page.getByRole('button', { name: 'Source' }).click()
  await page.getByText('# Guide').waitFor()
  expect(new URL(page.url()).search).toBe('?view=source')
  await page.getByRole('button', { name: 'Preview' }).click()
  await page.getByRole('link', { name: 'the values' }).click()
  await page.waitForURL('**/packages/acme/versions/1.0.0/files/lib/src/values.dart')

  await page.goto('/packages/acme/versions/1.0.0/files/doc/logo.png')
  const image = page.getByRole('img', { name: 'doc/logo.png' })
  await image.waitFor()
  await expect.poll(() => page.evaluate(`document.querySelector('img[alt="doc/logo.png"]').naturalWidth`)).toBe(40)
  await expectSound(page, 'files-image')
  for (const [path, text] of [
    ['data.bin', 'Binary file'],
    ['large.txt', 'The file is too large to show'],
  ]) {
    await page.goto(`/packages/acme/versions/1.0.0/files/${path}`)
    await page.getByText(text ?? '', { exact: true }).waitFor()
    expect(await page.getByRole('region', { name: path }).getByRole('link', { name: 'Download' }).getAttribute('href')).toBe(
      `${app.url}/raw/acme/1.0.0/${path}?download=1`,
    )
  }
  await page.goto('/packages/acme/versions/1.0.0/files/lib/gone/values.dart')
  await page.getByText('File not found').waitFor()
  expect(await page.getByRole('link', { name: 'View the repository' }).getAttribute('href')).toBe('https://example.com/acme')
  await expectSound(page, 'files-missing')
  await page.getByRole('link', { name: 'lib/src/values.dart' }).click()
  await code.waitFor()
})

it('shows a tree of 5,000 files', async () => {
  await using app = await consoleApp()
  const { email, secret = '' } = await app.member()
  const many = Object.fromEntries(Array.from({ length: 5000 }, (_, index) => [`lib/src/part_${index % 50}/file_${index}.dart`, '']))
  await publishTo(app.url, secret, { name: 'acme', version: '1.0.0', files: many })
  const page = await openPage(app.url)
  await startSession(page, app.url, email)
  await page.goto('/packages/acme/files/lib/src/part_49/file_4999.dart')
  await page.getByText('This file is empty.').waitFor()
  const tree = page.getByRole('tree', { name: 'Files' })
  await tree.getByRole('treeitem', { name: 'lib' }).waitFor()
  expect(await tree.getByRole('treeitem').count()).toBeLessThan(100)
  expect(await overflow(page)).toBeLessThanOrEqual(0)
  await page.evaluate(`localStorage.setItem('snug-single-keys', 'false')`)
  await page.goto('/packages/acme')
  await page.getByRole('heading', { name: 'acme' }).first().waitFor()
  await page.keyboard.press('.')
  await settled(page)
  expect(new URL(page.url()).pathname).toBe('/packages/acme')
  await page.goto('/packages/acme/files')
  await page.setViewportSize({ width: 390, height: 800 })
  await page.getByRole('button', { name: 'All 5,005 files' }).click()
  await tree.getByRole('treeitem', { name: 'lib' }).waitFor()
})
