import { describe, expect, it } from 'vitest'
import { readApi } from '../../server/analysis/dart/read-api.ts'
import { expectAccessible, openPage, screenshot, settled } from '../support/browser.ts'
import { consoleApp, publishTo, startSession } from '../support/console.ts'
import { documentVersion } from '../support/docs.ts'
import { expectSound } from '../support/looks.ts'
import { makePublic, setSwitch } from '../support/public-packages.ts'

const permitted = { env: { PUBLIC_PACKAGES_ENABLED: 'true' } }
const dependingOn = (url: string, name: string, dependency: string) => ({
  name,
  version: '1.0.0',
  pubspec: `dependencies:\n  ${dependency}:\n    hosted: ${url}\n    version: any\n`,
})

describe('public packages', () => {
  it('switches public packages on and off for the whole server', async () => {
    await using app = await consoleApp(permitted)
    const admin = await app.admin()
    await publishTo(app.url, admin.secret ?? '', { name: 'acme', version: '1.0.0' }, { name: 'hushed', version: '1.0.0' })
    for (const name of ['acme', 'hushed']) await admin.put(`/api/packages/${name}/visibility`, { visibility: 'public', confirm: name })
    await admin.put('/api/packages/hushed/options', { isUnlisted: true })
    const page = await openPage(app.url)
    await startSession(page, app.url, admin.email)
    await page.goto('/admin/public-packages')
    await page.getByText('2 of 2 packages are public').waitFor()
    await page.getByRole('link', { name: 'acme' }).waitFor()
    await page.getByRole('listitem').filter({ hasText: 'hushed' }).getByText('Unlisted').waitFor()
    await page.getByRole('button', { name: 'Switch on…' }).click()
    await page.getByRole('alertdialog').waitFor()
    await expectSound(page, 'public-packages-confirm')
    await page.getByRole('alertdialog').getByRole('button', { name: 'Switch on' }).click()
    await page.getByRole('button', { name: 'Switch off…' }).waitFor()
    await expectSound(page, 'public-packages')
    expect((await app.anonymous.get('/api/packages/acme')).status).toBe(200)
    await page.getByRole('switch', { name: /Only administrators/ }).click()
    await expect.poll(async () => (await admin.get('/api/admin/public-packages')).body.requiresServerAdmin).toBe(true)
    await page.getByRole('button', { name: 'Switch off…' }).click()
    await page.getByRole('alertdialog').getByRole('button', { name: 'Switch off' }).click()
    await page.getByRole('button', { name: 'Switch on…' }).waitFor()
    expect((await app.anonymous.get('/api/packages/acme')).status).toBe(401)
  })

  it('names the missing variable when the environment does not permit public packages', async () => {
    await using app = await consoleApp()
    const page = await openPage(app.url)
    await startSession(page, app.url, (await app.admin()).email)
    await page.goto('/admin/public-packages')
    await page.getByText('Set PUBLIC_PACKAGES_ENABLED=true').waitFor()
    expect(await page.getByRole('button', { name: 'Switch on…' }).isDisabled()).toBe(true)
    await page.getByText('No package is public').waitFor()
    await expectSound(page, 'public-packages-forbidden')
  })
})

describe('visibility of a package', () => {
  it('changes to public along with the dependencies, and to private when the breakage is accepted', async () => {
    await using app = await consoleApp(permitted)
    const alice = await app.member()
    await publishTo(app.url, alice.secret ?? '', { name: 'icons', version: '1.0.0' }, dependingOn(app.url, 'ui_kit', 'icons'))
    await (await app.admin()).put('/api/admin/public-packages', { enabled: true })
    const page = await openPage(app.url)
    await startSession(page, app.url, alice.email)
    await page.goto('/packages/ui_kit/admin')
    await page.getByRole('button', { name: 'Make public…' }).click()
    const dialog = page.getByRole('alertdialog', { name: 'Make ui_kit public?' })
    await dialog.getByText('1 private package becomes public with it').waitFor()
    await expectSound(page, 'visibility-closure')
    expect(await dialog.getByRole('button', { name: 'Make public' }).isDisabled()).toBe(true)
    await dialog.getByLabel('Name of the package').fill('ui_kit')
    await dialog.getByRole('button', { name: 'Make public' }).click()
    await page.getByText('Anyone can read and download it without signing in.').waitFor()
    expect((await app.anonymous.get('/api/package-names')).body.packages).toEqual(['icons', 'ui_kit'])

    await page.goto('/packages/icons/admin')
    await page.getByRole('button', { name: 'Make private…' }).click()
    const warning = page.getByRole('alertdialog', { name: 'Make icons private?' })
    await warning.getByText('1 public package would break').waitFor()
    await warning.getByLabel('Name of the package').fill('icons')
    expect(await warning.getByRole('button', { name: 'Make private' }).isDisabled()).toBe(true)
    await expectSound(page, 'visibility-breaks')
    await warning.getByLabel('I accept that these break').click()
    await warning.getByRole('button', { name: 'Make private' }).click()
    await page.getByText('Only people who sign in to this server can read it').waitFor()
    // All versions of ui_kit depend on icons, so anonymous users cannot see ui_kit either.
    expect((await app.anonymous.get('/api/package-names')).body.packages).toEqual([])
  })
})

describe('anonymous users', () => {
  it('shows public packages, but nothing that is restricted to members', async () => {
    await using app = await consoleApp(permitted)
    const [root, alice] = [await app.admin(), await app.member({ displayName: 'Alice Inside' })]
    await publishTo(app.url, alice.secret ?? '', { name: 'acme', version: '1.0.0' }, { name: 'hushed', version: '1.0.0' })
    await alice.put('/api/packages/acme/visibility', { visibility: 'public', confirm: 'acme' })
    await root.post('/api/publishers', { id: 'harbor', displayName: 'Harbor Team' })
    await root.put(`/api/publishers/harbor/members/${alice.id}`, { role: 'member' })
    await alice.put('/api/packages/acme/publisher', { publisherId: 'harbor' })
    const page = await openPage(app.url, { tolerate: [/status of 404 .*\/packages\/hushed/] })
    await page.goto('/packages')
    await page.getByRole('heading', { name: 'Sign in' }).waitFor()
    await root.put('/api/admin/public-packages', { enabled: true })
    await page.goto('/')
    await page.getByRole('link', { name: 'acme' }).waitFor()
    await expectSound(page, 'browsing-home')
    await page.goto('/packages?q=a')
    await page.getByText('1 package for').waitFor()
    await page.getByRole('link', { name: 'acme' }).click()
    await page.getByRole('heading', { name: 'acme', exact: false, level: 1 }).first().waitFor()
    await page.getByText('Made for a test.').waitFor()
    await settled(page)
    await page.getByText('Harbor Team · Published').waitFor()
    expect(await page.getByRole('link', { name: 'Harbor Team' }).count()).toBe(0) // its page requires signing in
    expect(await page.content()).not.toContain('Alice Inside')
    await expectSound(page, 'browsing-package')
    await page.getByRole('link', { name: /^Versions/ }).click()
    await page.getByRole('row', { name: /1\.0\.0/ }).waitFor()
    await page.goto('/packages/acme/install')
    await page.getByText('Add the dependency').waitFor()
    expect(await page.getByText('Add an access token').count()).toBe(0)
    await page.goto('/packages/hushed')
    await page.getByText('Public package hushed does not exist on this server.').waitFor()
    await expectAccessible(page)
    await page.getByRole('link', { name: 'Sign in' }).click()
    await page.getByRole('textbox', { name: 'Password' }).waitFor()
    expect(new URL(page.url()).searchParams.get('redirect')).toBe('/packages/hushed')
  })
})

it('shows public packages to browsers without JavaScript', async () => {
  await using app = await consoleApp(permitted)
  const author = await app.member()
  const source = '/// A round shape.\nclass Circle {\n  /// Half of its width.\n  final int radius = 1;\n}\n'
  const files = {
    'README.md': '# Round\n\nDraws circles.\n\n<p title="</noscript><img src=x onerror=alert(1)></body>">Hostile</p>\n',
    'CHANGELOG.md': '## 1.0.0\n\n- The first circles.\n',
    'lib/shapes.dart': source,
  }
  await publishTo(app.url, author.secret ?? '', { name: 'round', version: '1.0.0', files }, { name: 'hushed', version: '1.0.0' })
  await documentVersion(app, 'round', '1.0.0', await readApi(new Map([['lib/shapes.dart', source]]), 'round'))
  await setSwitch(app, true)
  await makePublic(app, 'round')
  const page = await openPage(app.url, { javaScriptEnabled: false, tolerate: [/status of 404/] })
  // Locators by role and text skip what is in `noscript`.
  const shown = page.locator('noscript')
  const text = (part: string) => expect.poll(() => shown.textContent()).toContain(part)
  await page.goto(`${app.url}/packages`)
  expect(await shown.locator('li a').allTextContents()).toEqual(['round'])
  await shown.locator('li a').click()
  await text('Draws circles.')
  expect(await page.locator('img[src=x]').count()).toBe(0)
  await screenshot(page, 'package-without-javascript')
  await shown.locator('a', { hasText: 'Changelog' }).click()
  await text('The first circles.')
  await shown.locator('a', { hasText: 'API' }).click()
  await shown.locator('a', { hasText: 'shapes' }).first().click()
  await shown.locator('a', { hasText: 'Circle' }).first().click()
  await text('Half of its width.')
  await screenshot(page, 'api-without-javascript')
  expect((await page.goto(`${app.url}/packages/hushed`))?.status()).toBe(404)
  expect(await shown.textContent()).toContain('This page needs JavaScript.')
})

it('reads the text for browsers without JavaScript as the content of one element', async () => {
  await using app = await consoleApp(permitted)
  const author = await app.member()
  const readme = '<p title="</NOSCRIPT><b id=\'escaped\'></body>">Hostile</p>\n'
  await publishTo(app.url, author.secret ?? '', { name: 'acme', version: '1.0.0', files: { 'README.md': readme } })
  await setSwitch(app, true)
  await makePublic(app, 'acme')
  const html = (await app.anonymous.get('/packages/acme', { headers: { accept: 'text/html' } })).raw.toString()
  expect(html.match(/<\/noscript/gi)).toHaveLength(1)
  expect(/Hostile.*<\/noscript>.*id="first-answers">\{"session".*<\/script><\/body>/s.test(html)).toBe(true)
  const page = await openPage(app.url)
  await page.goto(`${app.url}/packages/acme`)
  await page.getByRole('article').getByText('Hostile').waitFor()
  expect(await page.locator('b#escaped').count()).toBe(0)
})
