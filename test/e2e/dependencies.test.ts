import { expect, it } from 'vitest'
import { advisory, importMutation } from '../support/advisories.ts'
import { openPage, screenshot, settled } from '../support/browser.ts'
import { consoleApp, overflow, publishTo, startSession } from '../support/console.ts'
import { expectSound } from '../support/looks.ts'

it('shows what dependencies resolve to, and the tree of the packages of this server', async () => {
  await using app = await consoleApp()
  const { email, secret = '' } = await app.member()
  const hosted = (name: string, constraint: string) => `  ${name}:\n    hosted: ${app.url}\n    version: '${constraint}'\n`
  const elsewhere = '  http: ^1.0.0\n  flutter:\n    sdk: flutter\n'
  const dev = 'dev_dependencies:\n  tool:\n    git: https://example.com/tool.git\n  local:\n    path: ../local\n'
  await publishTo(
    app.url,
    secret,
    { name: 'icons', version: '1.0.0' },
    { name: 'icons', version: '2.0.0' },
    { name: 'ui', version: '1.0.0', pubspec: `dependencies:\n${hosted('icons', '^1.0.0')}${hosted('app', 'any')}` },
    { name: 'shop', version: '1.0.0', pubspec: `dependencies:\n${hosted('icons', '^2.0.0')}${hosted('ui', '^1.0.0')}` },
    {
      name: 'app',
      version: '1.0.0',
      pubspec: `dependencies:\n${hosted('icons', '^1.0.0')}${hosted('ui', '^1.0.0')}${hosted('gone', 'any')}${elsewhere}${dev}`,
    },
  )
  const osv = JSON.stringify(advisory('GHSA-2222-3333-4444', 'icons', { versions: ['1.0.0'] }))
  await (await app.owner()).graphql(importMutation, { osv })
  const page = await openPage(app.url)
  await startSession(page, app.url, email)
  await page.goto('/packages/app/dependencies')
  for (const name of [
    /^icons \^1\.0\.0 This server 1\.0\.0 Latest is 2\.0\.0 Security advisory$/,
    /^ui \^1\.0\.0 This server 1\.0\.0$/,
    /^gone any This server Not on this server$/,
    /^http on pub\.dev \^1\.0\.0 pub\.dev A version on pub\.dev$/,
    /^flutter any Flutter SDK Part of the Flutter SDK$/,
    /^tool any Git A commit of the repository$/,
    /^local any Path A local folder$/,
  ])
    await page.getByRole('row', { name }).waitFor()
  expect(await page.getByRole('link', { name: 'http on pub.dev' }).getAttribute('href')).toBe('https://pub.dev/packages/http')
  expect(await page.getByText('No registry named').count()).toBe(0)

  await page.getByRole('button', { name: 'Show the tree' }).press('Enter')
  const tree = page.getByRole('tree', { name: 'Dependencies of this version' })
  await tree.getByRole('treeitem', { name: /^ui \^1\.0\.0/ }).waitFor()
  await page.getByText('2 packages of this server').waitFor()
  expect((await tree.getByRole('treeitem').allTextContents()).map((text) => text.replaceAll(/\s+/g, ' ').trim())).toEqual([
    expect.stringMatching(/^icons\s*\^1\.0\.0\s*1\.0\.0\s*Latest is 2\.0\.0\s*Security advisory$/),
    expect.stringMatching(/^ui\s*\^1\.0\.0\s*1\.0\.0$/),
    expect.stringMatching(/^icons\s*\^1\.0\.0\s*1\.0\.0\s*Latest is 2\.0\.0\s*Security advisory$/),
    expect.stringMatching(/^app\s*any\s*1\.0\.0\s*Cycle$/),
    expect.stringMatching(/^gone\s*any\s*Not on this server$/),
    expect.stringMatching(/^http\s*\^1\.0\.0\s*pub\.dev$/),
    expect.stringMatching(/^flutter\s*any\s*Flutter SDK$/),
  ])
  expect(new URL(page.url()).search).toBe('?tree=1')
  await expectSound(page, 'dependencies')
  for (const width of [1440, 768, 390]) {
    await page.setViewportSize({ width, height: 900 })
    await settled(page)
    expect(await overflow(page)).toBeLessThanOrEqual(0)
    await screenshot(page, `dependencies-${width}`)
  }

  // The tree works with the keyboard alone.
  const ui = tree.getByRole('treeitem', { name: /^ui/ })
  await ui.focus()
  await page.keyboard.press('ArrowLeft')
  await expect.poll(() => ui.getAttribute('aria-expanded')).toBe('false')
  await page.goto('/packages/shop/dependencies?tree=1')
  await page.getByText('No versions fit together').waitFor()
  await page.getByText('icons: shop needs ^2.0.0, ui needs ^1.0.0, app needs ^1.0.0').waitFor()
  await tree
    .getByRole('treeitem', { name: /^icons .*Conflict/ })
    .first()
    .waitFor()
  await expectSound(page, 'dependencies-conflict')
})

it('filters the dependents of a package by name', async () => {
  await using app = await consoleApp()
  const { email, secret = '' } = await app.member()
  const pubspec = `dependencies:\n  icons:\n    hosted: ${app.url}\n    version: any\n`
  const names = Array.from({ length: 12 }, (_, index) => `${index % 2 ? 'ui' : 'app'}_${index}`)
  await publishTo(app.url, secret, { name: 'icons', version: '1.0.0' }, ...names.map((name) => ({ name, version: '1.0.0', pubspec })))
  const page = await openPage(app.url)
  await startSession(page, app.url, email)
  await page.goto('/packages/icons/dependents')
  const field = page.getByRole('searchbox', { name: 'Filter by name' })
  await field.fill('UI_')
  await page.getByText('6 packages of this server depend on it', { exact: true }).waitFor()
  expect(await page.getByRole('row').count()).toBe(7)
  expect(new URL(page.url()).search).toBe('?q=UI_')
  await expectSound(page, 'dependents-filtered')
  await field.fill('none')
  await page.getByText('No dependent of icons has “none” in its name.').waitFor()
  await page.getByRole('link', { name: 'Show all dependents' }).click()
  await page.getByText(/^12 packages of this server depend on it; 12 need it/).waitFor()
})
