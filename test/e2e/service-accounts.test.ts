import type { Page } from 'playwright-core'
import { expect, it } from 'vitest'
import { openPage, settled } from '../support/browser.ts'
import { choose, publishTo, sharedConsole, startSession, takeSecret } from '../support/console.ts'
import { expectSound } from '../support/looks.ts'

const startShared = sharedConsole()

/** Creates a service account on the current page, which lists none of them. */
async function create(page: Page, name: string, role: [string, string]) {
  await page.getByRole('button', { name: 'New service account' }).first().click()
  const dialog = page.getByRole('dialog', { name: 'New service account' })
  await dialog.getByRole('textbox', { name: 'Name' }).fill(name)
  await choose(page, ...role)
  await expectSound(page, 'service-account-form')
  await dialog.getByRole('button', { name: 'Create account' }).click()
  await page.getByRole('heading', { name: `Service account: ${name}` }).waitFor()
}

it('creates a service account of a publisher with a token that publishes, and shows it as such', async () => {
  const app = await startShared()
  const [admin, alice, bob] = [await app.admin(), await app.member(), await app.member()]
  await admin.post('/api/publishers', { id: 'acme', displayName: 'Acme' })
  await admin.put(`/api/publishers/acme/members/${alice.id}`, { role: 'admin' })
  await publishTo(app.url, alice.secret ?? '', { name: 'robot_made', version: '1.0.0' })
  await alice.put('/api/packages/robot_made/publisher', { publisherId: 'acme' })
  const page = await openPage(app.url)
  await startSession(page, app.url, alice.email)
  await page.goto('/publishers/acme/service-accounts')
  await page.getByText('No service accounts yet').waitFor()
  await expectSound(page, 'publisher-service-accounts-empty')
  await create(page, 'Release jobs', ['Role in the publisher', 'Member'])

  await page.getByRole('button', { name: 'New token of Release jobs' }).click()
  const dialog = page.getByRole('dialog', { name: 'New token of Release jobs' })
  await dialog.getByRole('radio', { name: 'Publish from CI' }).click()
  await dialog.getByRole('textbox', { name: 'Name' }).fill('release')
  await dialog.getByRole('textbox', { name: 'Packages' }).fill('robot_*')
  await dialog.getByRole('button', { name: 'Create token' }).click()
  const secret = await takeSecret(page, 'Save your token now')
  await page.getByRole('row', { name: /release.*Read and publish.*robot_\*/ }).waitFor()
  await expectSound(page, 'publisher-service-accounts')
  await publishTo(app.url, secret, { name: 'robot_made', version: '1.1.0' })

  await page.goto('/packages/robot_made')
  await page.getByRole('main').getByRole('img', { name: 'Service account:' }).first().waitFor()
  await page.goto('/publishers/acme/members')
  await page.getByRole('rowheader', { name: /Service account: Release jobs/ }).waitFor()
  await expectSound(page, 'members-with-service-account')

  await startSession(page, app.url, bob.email)
  await page.goto('/publishers/acme/service-accounts')
  await page.getByRole('alert').getByText('You do not administer the publisher acme.').waitFor()
  await settled(page)
  expect(await page.getByRole('link', { name: 'Service accounts' }).count()).toBe(0)
})

it('lists all service accounts for administrators, who rename, disable and delete them', async () => {
  const app = await startShared()
  const admin = await app.admin()
  const page = await openPage(app.url)
  await startSession(page, app.url, admin.email)
  await page.goto('/admin/service-accounts?owner=server')
  await page.getByText('No service accounts found').waitFor()
  await create(page, 'Renovate', ['Role on this server', 'Viewer'])
  await page.getByRole('button', { name: 'New token of Renovate' }).click()
  const dialog = page.getByRole('dialog', { name: 'New token of Renovate' })
  expect(await dialog.getByRole('radio').count()).toBe(2)
  await dialog.getByRole('textbox', { name: 'Name' }).fill('bot')
  await dialog.getByRole('button', { name: 'Create token' }).click()
  const secret = await takeSecret(page, 'Save your token now')
  const statusOf = async () => (await app.withToken(secret).get('/api/packages/nope')).status
  expect(await statusOf()).toBe(404)

  await page.getByRole('button', { name: 'Edit Renovate' }).click()
  await page.getByRole('dialog', { name: 'Edit Renovate' }).getByRole('textbox', { name: 'Name' }).fill('Update bot')
  await page.keyboard.press('Enter')
  await page.getByRole('heading', { name: 'Service account: Update bot' }).waitFor()
  await page.getByRole('button', { name: 'Disable Update bot' }).click()
  await page.getByRole('alertdialog').getByRole('button', { name: 'Disable' }).click()
  await page.getByText('Disabled', { exact: true }).waitFor()
  expect(await statusOf()).toBe(401)
  await page.goto('/admin/service-accounts')
  await page.getByRole('heading', { name: 'Service account: Update bot' }).waitFor()
  await expectSound(page, 'service-accounts')
  await page.getByRole('button', { name: 'Enable Update bot' }).click()
  await page.getByRole('alertdialog').getByRole('button', { name: 'Enable' }).click()
  await page.getByRole('button', { name: 'Disable Update bot' }).waitFor()
  expect(await statusOf()).toBe(404)

  await page.getByRole('button', { name: 'Rotate bot' }).click()
  await page.getByRole('dialog', { name: 'Rotate “bot”?' }).getByRole('button', { name: 'Rotate token' }).click()
  const rotated = await takeSecret(page, 'Save your token now')
  await page.getByText(/Former secret: \S/).waitFor()
  expect([await statusOf(), (await app.withToken(rotated).get('/api/packages/nope')).status]).toEqual([404, 404])

  await page.getByRole('button', { name: 'Revoke bot' }).click()
  await page.getByRole('alertdialog').getByRole('button', { name: 'Revoke token' }).click()
  await page.getByText('No tokens yet.').waitFor()
  expect(await statusOf()).toBe(401)
  await page.getByRole('button', { name: 'Delete Update bot' }).click()
  await page.getByRole('alertdialog').getByRole('button', { name: 'Delete account' }).click()
  await page.getByText('Deleted the service account Update bot.').waitFor() // until then, the dialog hides the page behind it
  await page.getByRole('heading', { name: 'Service account: Update bot' }).waitFor({ state: 'hidden' })
})
