import { expect, it } from 'vitest'
import { SavedApp } from '../../server/registry/upgrades/apps/entity.ts'
import { openPage } from '../support/browser.ts'
import { consoleApp, publishTo, startSession, takeSecret } from '../support/console.ts'
import { expectSound } from '../support/looks.ts'

const lockOf = (url: string) =>
  `packages:\n  acme:\n    dependency: "direct main"\n    description:\n      name: acme\n      sha256: "00"\n      url: "${url}"\n    source: hosted\n    version: "1.0.0"\nsdks:\n  dart: ">=3.0.0 <4.0.0"\n`

it('checks a lock file from the header, saves it by name, and shows what changed since', async () => {
  await using app = await consoleApp()
  const alice = await app.member()
  await publishTo(app.url, alice.secret ?? '', { name: 'acme', version: '1.0.0' })
  const page = await openPage(app.url)
  await startSession(page, app.url, alice.email)
  await page.goto('/')
  await page.getByRole('link', { name: 'Check a pubspec.lock' }).waitFor()
  await page.getByRole('navigation', { name: 'Main' }).getByRole('link', { name: 'Can I upgrade?' }).press('Enter')
  await page.getByRole('heading', { name: 'Can I upgrade?', level: 1 }).waitFor()
  await page.getByText('None yet. Check a file, then save it by name.').waitFor()
  await page.getByLabel('Content of pubspec.lock').fill(lockOf(app.url))
  await page.getByRole('button', { name: 'Check' }).click()
  await page.getByRole('button', { name: 'Save as an app…' }).press('Enter')
  const dialog = page.getByRole('dialog', { name: 'Save as an app' })
  await dialog.getByLabel('Name').fill('Shop')
  await dialog.getByLabel('Name').press('Enter')
  await page.getByText('Nothing changed since.').waitFor()
  expect(await app.services.database.fork().count(SavedApp, { name: 'Shop', user: alice.id })).toBe(1)

  await publishTo(app.url, alice.secret ?? '', { name: 'acme', version: '1.1.0' })
  await page.goto('/upgrade')
  await page.getByRole('link', { name: 'Shop' }).click()
  await page.getByText('Changed since: acme.').waitFor()
  await page.getByRole('listitem').getByText('Changed since saved').waitFor()
  await expectSound(page, 'upgrade-app')
  await page.getByRole('button', { name: 'Delete Shop' }).press('Enter')
  await page.getByRole('alertdialog', { name: 'Delete Shop?' }).getByRole('button', { name: 'Delete' }).press('Enter')
  await page.getByText('None yet. Check a file, then save it by name.').waitFor()
  await expect.poll(() => app.services.database.fork().count(SavedApp)).toBe(0)
})

it('shows a job that publishes on the Install tab, and presets the token for it', async () => {
  await using app = await consoleApp()
  const alice = await app.member()
  await publishTo(app.url, alice.secret ?? '', { name: 'acme', version: '1.0.0' })
  const page = await openPage(app.url)
  await startSession(page, app.url, alice.email)
  await page.goto('/packages/acme/install')
  const ci = page.getByRole('region', { name: 'Use it in CI', exact: true })
  await ci.getByText('Publish a version').click()
  await ci.getByText('dart pub publish --force').waitFor()
  await ci.getByText('GitLab CI').click()
  await ci.getByText('.gitlab-ci.yml').waitFor()
  await expectSound(page, 'install-publish')
  await ci.getByRole('link', { name: 'create a token' }).click()
  const dialog = page.getByRole('dialog', { name: 'New access token' })
  expect(await dialog.getByLabel('Name', { exact: true }).inputValue()).toBe('Publish from CI: acme')
  expect(await dialog.getByRole('textbox', { name: 'Packages' }).inputValue()).toBe('acme')
  await dialog.getByRole('button', { name: 'Create token' }).click()
  await takeSecret(page, 'Save your token now')
  await page.getByRole('row', { name: /^Publish from CI: acme/ }).waitFor()
  const { body } = await (await alice.session()).get('/api/auth/keys')
  expect(JSON.stringify(body)).toContain('"packages":["acme"]')
})
