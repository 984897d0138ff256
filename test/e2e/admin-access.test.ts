import { expect, it } from 'vitest'
import { expectAccessible, openPage } from '../support/browser.ts'
import { consoleApp, startSession } from '../support/console.ts'
import { expectSound } from '../support/looks.ts'

it("shows a user's sessions and tokens to administrators, who can end them", async () => {
  await using app = await consoleApp()
  const admin = await app.admin()
  const alice = await app.member({ displayName: 'Alice Author' })
  const browsers = [await alice.session(), await alice.session(), await alice.session()]
  const page = await openPage(app.url)
  await startSession(page, app.url, admin.email)
  await page.goto(`/admin/users/${alice.id}`)
  const sessions = page.getByRole('table', { name: 'Sessions of Alice Author' })
  await sessions.waitFor()
  await expectSound(page, 'admin-user')
  await sessions
    .getByRole('button', { name: /^Revoke/ })
    .first()
    .click()
  await page.getByRole('alertdialog').getByRole('button', { name: 'End session' }).click()
  await expect.poll(() => sessions.getByRole('row').count()).toBe(3)
  const alive = async () =>
    (await Promise.all(browsers.map((browser) => browser.get('/api/auth/me')))).filter(({ status }) => status === 200)
  expect(await alive()).toHaveLength(2)
  await page.getByRole('button', { name: 'End all sessions' }).click()
  await page.getByRole('alertdialog').getByRole('button', { name: 'End all sessions' }).click()
  await page.getByText('Not signed in anywhere.').waitFor()
  expect(await alive()).toHaveLength(0)
  await page.getByRole('button', { name: 'Revoke test' }).click()
  await page.getByRole('alertdialog').getByRole('button', { name: 'Revoke token' }).click()
  await page.getByText('No tokens.').waitFor()
  expect((await alice.get('/api/auth/me')).status).toBe(401)
  await startSession(page, app.url, alice.email)
  await page.goto('/settings/security')
  await page
    .getByRole('row', { name: /revoked.*Another user's/ })
    .first()
    .waitFor()
})

it("shows the owner's sessions without buttons to end them", async () => {
  await using app = await consoleApp()
  const [admin, owner] = [await app.admin(), await app.owner()]
  await owner.session()
  const page = await openPage(app.url)
  await startSession(page, app.url, admin.email)
  await page.goto(`/admin/users/${owner.id}`)
  await page.getByRole('table', { name: 'Sessions of Olive Owner' }).waitFor()
  expect(await page.getByRole('button', { name: /^(Revoke|End all)/ }).count()).toBe(0)
})

it('shows users their security history in pages', async () => {
  await using app = await consoleApp({ env: { PASSWORD_MIN_LENGTH: '12' } })
  const alice = await app.member({ displayName: 'Alice Author' })
  await app.anonymous.post('/api/auth/login', { email: alice.email, password: 'a wrong guess' })
  for (let made = 0; made < 10; made++) {
    const { body } = await alice.post('/api/auth/keys', { name: `ci ${made}` })
    await alice.delete(`/api/auth/keys/${body.id}`)
  }
  const page = await openPage(app.url)
  await startSession(page, app.url, alice.email)
  await page.goto('/settings/security')
  await page.getByText('At least 12 characters').waitFor()
  const history = page.getByRole('table', { name: 'Security history' })
  await history.getByRole('row', { name: /Alice Author signed in/ }).waitFor()
  await expectSound(page, 'security-history')
  await page.getByRole('button', { name: 'Next page' }).click()
  await history.getByRole('row', { name: /tried to sign in with a wrong/ }).waitFor()
})

it.each(['member', 'viewer'] as const)('denies access to the administration to a %s', async (role) => {
  await using app = await consoleApp()
  const { email } = await app.person(role)
  const page = await openPage(app.url)
  await startSession(page, app.url, email)
  await page.goto('/')
  await page.getByRole('button', { name: /^Account/ }).click()
  await page.getByRole('menuitem', { name: 'Sign out' }).waitFor()
  expect(await page.getByRole('menuitem', { name: 'People' }).count()).toBe(0)
  for (const address of ['/admin', '/admin/users', '/admin/audit', '/admin/ownership']) {
    await page.goto(address)
    await page.getByText('Only administrators of this server can see this page.').waitFor()
    expect(await page.getByRole('button', { name: 'Retry' }).count()).toBe(0)
  }
  await expectAccessible(page)
})
