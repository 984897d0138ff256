import { expect, it } from 'vitest'
import { openPage, screenshot } from '../support/browser.ts'
import { consoleApp, publishTo, startSession } from '../support/console.ts'
import { expectSound } from '../support/looks.ts'
import { plain } from '../support/pictures.ts'
import { storeSurface, surfaceOf } from '../support/surfaces.ts'

const long = (type: string) =>
  `Future<Map<String, ${type}>> three(Map<String, ${type}> first, {required void Function(Object error, StackTrace trace) onError})`

it('compares the APIs of two selected versions', async () => {
  await using app = await consoleApp()
  const { email, secret = '' } = await app.member()
  await publishTo(app.url, secret, ...['1.0.0', '1.1.0', '1.2.0', '1.3.0'].map((version) => ({ name: 'acme', version })))
  await storeSurface(app, '1.0.0', surfaceOf({ one: 'void one()', two: 'void two()', three: long('int') }))
  await storeSurface(app, '1.1.0', surfaceOf({ one: 'void one(int times)', three: long('String'), four: 'void four()' }))
  await storeSurface(app, '1.2.0', surfaceOf({ one: 'void one(int times)', three: long('String'), four: 'void four()' }))
  const page = await openPage(app.url)
  await startSession(page, app.url, email)
  await page.goto('/packages/acme/versions')
  await page.getByRole('button', { name: 'Actions for 1.1.0' }).click()
  await page.getByRole('menuitem', { name: 'Compare with 1.0.0' }).click()
  await page.getByText('1 removal and 2 breaking changes in a minor release').waitFor()
  await page.getByText('semantic versioning requires a higher version number than 1.1.0.').waitFor()
  const removed = page.getByRole('region', { name: /^Removed/ })
  expect(await removed.getByRole('listitem').allTextContents()).toEqual([expect.stringContaining('two')])
  await expectSound(page, 'compare-api')

  await page.goto('/packages/acme/compare?to=1.1.0')
  await page.getByText('1 removal and 2 breaking changes in a minor release').waitFor()
  await page.getByRole('combobox', { name: 'To', exact: true }).fill('1.2')
  await page.getByRole('option', { name: '1.2.0', exact: true }).click()
  await page.getByText('The public API of 1.2.0 is the same as that of 1.1.0.').waitFor()
  expect(new URL(page.url()).search).toBe('?to=1.2.0')
  // The former address of the page.
  await page.goto('/packages/acme/changes?from=1.0.0&to=1.2.0')
  await page.getByText('1 removal and 2 breaking changes in a minor release').waitFor()
  expect(new URL(page.url()).pathname).toBe('/packages/acme/compare')
  // The latest version was not analyzed.
  await page.goto('/packages/acme/compare')
  await page.getByText('The public APIs cannot be compared').waitFor()
  await page.goto('/packages/acme/compare?from=1.0.0&to=1.0.0')
  await page.getByText('The same version', { exact: true }).waitFor()
  await page.goto('/packages/acme/compare?to=1.0.0')
  await page.getByText('There is no version before 1.0.0.').waitFor()
  for (const query of ['?from=9.9.9', '?to=9.9.9', '?from=1.0.0&to=9.9.9']) {
    await page.goto(`/packages/acme/compare${query}`)
    await page.getByText('There is no version 9.9.9', { exact: true }).waitFor()
  }
  await screenshot(page, 'compare-none')
})

it('compares the files, dependencies and changelogs of two versions', async () => {
  await using app = await consoleApp()
  const { email, secret = '' } = await app.member()
  const logo = await plain({ width: 30, height: 10 }).png().toBuffer()
  const source = (limit: number) => `/// Limits calls.\nclass Limiter {\n  final int limit = ${limit};\n\n  void reset() {}\n}\n`
  await publishTo(
    app.url,
    secret,
    {
      name: 'acme',
      version: '1.0.0',
      pubspec: 'dependencies:\n  http: ^1.0.0\n',
      files: {
        'lib/src/limiter.dart': source(10),
        'lib/src/old.dart': 'int moved() => 1;\n',
        'asset.bin': Buffer.from([0, 1, 2]),
        'logo.png': logo,
      },
    },
    {
      name: 'acme',
      version: '1.1.0',
      pubspec: 'dependencies:\n  http: ^2.0.0\n',
      files: {
        'lib/src/limiter.dart': source(20),
        'lib/src/new.dart': 'int moved() => 1;\n',
        'asset.bin': Buffer.from([0, 3]),
        'logo.png': await plain({ width: 60, height: 20 }).png().toBuffer(),
        'CHANGELOG.md': '## 1.1.0\n\n- Raises the limit.\n\n## 1.0.0\n\n- Starts.\n',
      },
    },
  )
  const page = await openPage(app.url)
  await startSession(page, app.url, email)
  await page.goto('/packages/acme')
  await page.getByRole('button', { name: 'More' }).click()
  await page.getByRole('menuitem', { name: 'Compare versions' }).click()
  const views = page.getByRole('navigation', { name: 'Comparison' })
  await views.getByRole('link', { name: 'Files' }).click()
  await page.getByText('6 changed files').waitFor()
  const changed = page.getByRole('list', { name: 'Changed files' })
  await changed.getByRole('button', { name: 'Renamed: lib/src/old.dart to lib/src/new.dart' }).waitFor()
  await changed.getByRole('button', { name: 'lib/src/limiter.dart' }).press('Enter')
  const table = page.getByRole('table', { name: 'Changes in lib/src/limiter.dart' })
  await table.getByRole('deletion').getByText('final int limit = 10;').waitFor()
  expect(await table.locator('mark').allTextContents()).toEqual(['10', '20'])
  expect(await table.getByRole('row').count()).toBe(1 + 1 + 7)
  await expectSound(page, 'compare-files')
  await page.getByRole('button', { name: 'Side by side' }).click()
  await expect.poll(() => table.getByRole('row').count()).toBe(1 + 1 + 6)
  expect(new URL(page.url()).search).toBe('?view=files&file=lib/src/limiter.dart&layout=split')
  await expectSound(page, 'compare-files-split')
  await page.reload()
  await table.getByRole('insertion').getByText('final int limit = 20;').waitFor()
  await page.getByRole('button', { name: 'Open all' }).click()
  await page.getByText('This is a binary file, so its content is not compared.').waitFor()
  await page.getByRole('img', { name: 'logo.png, before' }).waitFor()
  const widths = () => page.evaluate<number[]>(`Array.from(document.querySelectorAll('figure img'), (image) => image.naturalWidth)`)
  await expect.poll(widths).toEqual([30, 60])
  await expectSound(page, 'compare-files-open')

  await views.getByRole('link', { name: 'Dependencies' }).click()
  await page.getByRole('row', { name: 'http Dependency Changed ^1.0.0 ^2.0.0' }).waitFor()
  await expectSound(page, 'compare-dependencies')
  await views.getByRole('link', { name: 'Changelog' }).click()
  await page.getByText('Raises the limit.').waitFor()
  expect(await page.getByText('Starts.').count()).toBe(0)
  await expectSound(page, 'compare-changelog')
  await page.getByRole('button', { name: 'Swap the versions' }).click()
  await views.getByRole('link', { name: 'Dependencies' }).click()
  await page.getByRole('row', { name: 'http Dependency Changed ^2.0.0 ^1.0.0' }).waitFor()
})

it('shows which packages of a pubspec.lock can be upgraded', async () => {
  await using app = await consoleApp()
  const [{ email, secret = '' }, owner] = [await app.member(), await app.owner()]
  await publishTo(app.url, secret, ...['1.0.0', '2.0.0'].map((version) => ({ name: 'acme', version })))
  await publishTo(app.url, secret, { name: 'zeta', version: '1.0.0' })
  // The locked versions of as many packages as are compared at a time are not on this server.
  const replaced = ['aa', 'ab', 'ac']
  await publishTo(app.url, secret, ...replaced.map((name) => ({ name, version: '2.0.0' })))
  await storeSurface(app, '1.0.0', surfaceOf({ one: 'void one()', two: 'void two()' }))
  await storeSurface(app, '2.0.0', surfaceOf({ one: 'void one(int times)' }))
  const affected = [{ package: { ecosystem: 'Pub', name: 'acme' }, versions: ['1.0.0'] }]
  const osv = JSON.stringify({ id: 'GHSA-1', modified: '2026-01-01T00:00:00Z', summary: 'Leaks memory', affected })
  await owner.graphql('mutation ($osv: String!) { importAdvisories(input: { osv: $osv }) { imported } }', { osv })
  const entry = (name: string, url: string) =>
    `  ${name}:\n    dependency: "direct main"\n    description: {name: ${name}, url: "${url}"}\n    source: hosted\n    version: "1.0.0"\n`
  const hosted = [...replaced, 'acme', 'zeta', 'gone'].map((name) => entry(name, app.url))
  const lock = `packages:\n${hosted.join('')}${entry('http', 'https://pub.dev')}`
  const page = await openPage(app.url, { tolerate: [/status of 400/] })
  await startSession(page, app.url, email)
  await page.goto('/packages/acme/compare?view=upgrade')
  await expectSound(page, 'upgrade-empty')
  await page.getByLabel('Content of pubspec.lock').fill('name: acme\nenvironment:\n  sdk: any\n')
  await page.getByRole('button', { name: 'Check' }).click()
  await page.getByRole('alert').getByText('This is a pubspec.yaml.').waitFor()
  await page.getByLabel('Choose a file').setInputFiles({ name: 'pubspec.lock', mimeType: 'text/plain', buffer: Buffer.from(lock) })
  await page
    .getByRole('status')
    .getByText('4 of 6 packages of this server can be upgraded. 1 package with open security advisories.')
    .waitFor()
  const behind = page.getByRole('region', { name: 'Can be upgraded' })
  await behind.getByText('Public API: 1 element removed, 1 changed, 0 added.').waitFor()
  await behind.getByText('two was removed').waitFor()
  await behind.getByText('Leaks memory').waitFor()
  await page.getByText('The package does not exist on this server, or you cannot see it.').waitFor()
  await expectSound(page, 'upgrade')
  await behind.getByRole('link', { name: 'Compare acme 1.0.0 with 2.0.0' }).click()
  await page
    .getByRole('region', { name: /^Removed/ })
    .getByText('two', { exact: true })
    .waitFor()
  expect(new URL(page.url()).search).toBe('?from=1.0.0&to=2.0.0')
})

it('checks a dropped pubspec.lock, and refuses a large file', async () => {
  await using app = await consoleApp()
  const { email, secret = '' } = await app.member()
  await publishTo(app.url, secret, ...['1.0.0', '1.1.0'].map((version) => ({ name: 'acme', version })))
  const page = await openPage(app.url)
  await startSession(page, app.url, email)
  await page.goto('/packages/acme/compare?view=upgrade')
  const field = page.getByLabel('Content of pubspec.lock')
  /** Drops a file with the given content on the field. */
  async function drop(name: string, content: string) {
    const dataTransfer = await page.evaluateHandle(
      `(() => { const data = new DataTransfer(); data.items.add(new File([${JSON.stringify(content)}], '${name}')); return data })()`,
    )
    await field.dispatchEvent('dragover', { dataTransfer })
    await field.dispatchEvent('drop', { dataTransfer })
  }
  await drop('build.log', 'x'.repeat(256 * 1024 + 1))
  await page.getByText('build.log is larger than 256 KiB, so it is not a pubspec.lock.').waitFor()
  expect(await field.inputValue()).toBe('')
  const entry = `  acme:\n    dependency: transitive\n    description: {name: acme, url: "${app.url}"}\n    source: hosted\n    version: "1.0.0"\n`
  await drop('pubspec.lock', `packages:\n${entry}`)
  await page.getByRole('status').getByText('1 of 1 package of this server can be upgraded.').waitFor()
  await page.getByRole('link', { name: 'Compare acme 1.0.0 with 1.1.0' }).waitFor()
  expect(await field.inputValue()).toContain('version: "1.0.0"')
  expect(await page.getByText('is larger than 256 KiB').count()).toBe(0)
})

it('shows an error when the versions cannot be listed, and retries', async () => {
  await using app = await consoleApp()
  const { email, secret = '' } = await app.member()
  await publishTo(app.url, secret, { name: 'acme', version: '1.0.0' })
  const page = await openPage(app.url, { tolerate: [/status of 500/] })
  await startSession(page, app.url, email)
  const isList = (body: string | null) => body?.includes('VersionNumbers') === true
  await page.route('**/graphql', (route) => (isList(route.request().postData()) ? route.fulfill({ status: 500 }) : route.fallback()))
  await page.goto('/packages/acme/compare')
  const retry = page.getByRole('alert').getByRole('button', { name: 'Retry' })
  await retry.waitFor()
  await expectSound(page, 'compare-failure')
  await page.unrouteAll()
  await retry.press('Enter')
  await expect.poll(() => page.getByRole('alert').count()).toBe(0)
  await expect.poll(() => page.evaluate('document.activeElement.tagName')).toBe('H2') // the button was removed
  await page.getByRole('combobox', { name: 'From', exact: true }).click()
  await page.getByRole('option', { name: '1.0.0' }).waitFor()
})
