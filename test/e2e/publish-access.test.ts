import { expect, it } from 'vitest'
import { expectAccessible, openPage } from '../support/browser.ts'
import { consoleApp, publishTo, startSession } from '../support/console.ts'
import { expectSound } from '../support/looks.ts'

it('shows who can publish a package and why, and a message that asks for access', async () => {
  await using app = await consoleApp()
  const [root, alice, bob] = [
    await app.admin(),
    await app.member({ displayName: 'Alice Archer' }),
    await app.member({ displayName: 'Bob' }),
  ]
  await publishTo(app.url, alice.secret ?? '', { name: 'kit', version: '1.0.0' })
  await root.post('/api/publishers', { id: 'harbor', displayName: 'Harbor', contactEmail: 'sea@harbor.example' })
  await root.put(`/api/publishers/harbor/members/${alice.id}`, { role: 'member' })
  await alice.put('/api/packages/kit/publisher', { publisherId: 'harbor' })
  const page = await openPage(app.url, { permissions: ['clipboard-read', 'clipboard-write'] })
  await startSession(page, app.url, bob.email)
  await page.goto('/packages/kit')
  const about = page.getByRole('complementary')
  await about.getByRole('listitem').filter({ hasText: 'Alice Archer uploader' }).waitFor()
  await about
    .getByRole('listitem')
    .filter({ hasText: /Members of Harbor \(2 people\)\s*sea@harbor\.example/ })
    .waitFor()
  await about.getByRole('button', { name: 'Request access' }).click()
  const dialog = page.getByRole('dialog', { name: 'Request access' })
  await dialog.getByText('send it to Alice Archer or the admins of Harbor.').waitFor()
  await expectAccessible(page)
  await dialog.getByRole('button', { name: 'Copy message' }).click()
  const copied = () => page.evaluate(() => navigator.clipboard.readText())
  await expect.poll(copied).toContain(`I would like to publish versions of kit on ${app.url}.\nMy account: Bob <${bob.email}>`)
  for (const path of ['/packages/kit/admin', '/publishers/harbor/members']) expect(await copied()).toContain(`${app.url}${path}`)

  await startSession(page, app.url, alice.email)
  await page.goto('/packages/kit')
  await about.getByText('You can publish this package.').waitFor()
  expect(await about.getByRole('button', { name: 'Request access' }).count()).toBe(0)
})

it('shows the commands for the selected shell and the files for CI, and copies them without a prompt', async () => {
  await using app = await consoleApp()
  const { email, secret = '' } = await app.member()
  await publishTo(app.url, secret, { name: 'kit', version: '1.0.0' })
  const page = await openPage(app.url, { permissions: ['clipboard-read', 'clipboard-write'] })
  await startSession(page, app.url, email)
  await page.goto('/packages/kit/install')
  await page.getByRole('radio', { name: 'PowerShell' }).press('Space')
  await page.getByRole('button', { name: 'Copy add command' }).click()
  const copied = () => page.evaluate(() => navigator.clipboard.readText())
  await expect.poll(copied).toBe(`dart pub add "kit:{hosted: ${app.url}, version: ^1.0.0}"`)
  await page.getByRole('radio', { name: 'Flutter' }).press('Space')
  await page.getByRole('button', { name: 'Copy file for GitHub Actions' }).click()
  await expect.poll(copied).toContain(`      - run: flutter pub token add ${app.url} --env-var SNUG_TOKEN\n      - run: flutter pub get`)
  await page.getByRole('radio', { name: 'GitLab CI' }).press('Space')
  await page.getByRole('region', { name: 'file for GitLab CI' }).getByText('image: ghcr.io').waitFor()
  await expectSound(page, 'package-install')
  await page.goto('/packages/kit/install')
  expect(await page.getByRole('radio', { name: 'PowerShell' }).isChecked()).toBe(true)
  await page.getByRole('region', { name: 'file for GitLab CI' }).waitFor()
  await page.getByRole('region', { name: 'add command', exact: true }).getByText('flutter pub add "kit:{hosted:').waitFor()
})
