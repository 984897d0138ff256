import type { Page } from 'playwright-core'
import { describe, expect, it } from 'vitest'
import { expectAccessible, openPage, screenshot } from '../support/browser.ts'
import { choose, consoleApp, publishTo, startSession } from '../support/console.ts'
import { expectSound } from '../support/looks.ts'

/** Reads the secret from the dialog that shows it, and closes the dialog. */
async function takeSecret(page: Page, title: string): Promise<string> {
  const sheet = page.getByRole('dialog', { name: title })
  const secret = (await sheet.locator('[data-secret]').textContent()) ?? ''
  await sheet.getByLabel('I have saved it').click()
  await sheet.getByRole('button', { name: 'Done' }).click()
  await sheet.waitFor({ state: 'hidden' })
  return secret.trim()
}

describe('list of users', () => {
  it('creates accounts by invitation and by one-time password, showing each secret once', async () => {
    await using app = await consoleApp()
    const { email } = await app.admin()
    const page = await openPage(app.url, { tolerate: [/status of 409/] })
    await startSession(page, app.url, email)
    await page.goto('/')
    await page.getByRole('button', { name: /^Account/ }).click()
    await page.getByRole('menuitem', { name: 'People' }).click()

    await page.getByRole('button', { name: 'New person' }).click()
    const dialog = page.getByRole('dialog', { name: 'New person' })
    await dialog.getByLabel('Name').fill('Ivy Invited')
    await dialog.getByLabel('E-mail address').fill('ivy@example.com')
    await choose(page, 'Invitation valid for', '3 days')
    await expectAccessible(page)
    await dialog.getByRole('button', { name: 'Create account' }).click()
    expect(await takeSecret(page, 'Hand over the invitation')).toMatch(new RegExp(`^${app.url}/invite/.{20,}`))
    await page.getByRole('row', { name: /Ivy Invited.*Member.*Invited/ }).waitFor()

    await page.getByRole('button', { name: 'New person' }).click()
    await dialog.getByLabel('Name').fill('Paul Password')
    await dialog.getByLabel('E-mail address').fill('ivy@example.com')
    await choose(page, 'Role', 'Viewer')
    await dialog.getByRole('radio', { name: /One-time password/ }).click()
    await dialog.getByRole('button', { name: 'Create account' }).click()
    await dialog.getByRole('alert').getByText('An account with this e-mail address already exists.').waitFor()
    await dialog.getByLabel('E-mail address').fill('paul@example.com')
    await dialog.getByRole('button', { name: 'Create account' }).click()
    const password = await takeSecret(page, 'Hand over the one-time password')
    expect((await app.anonymous.post('/api/auth/login', { email: 'paul@example.com', password })).status).toBe(200)
    await page.getByRole('row', { name: /Paul Password.*Viewer.*Active/ }).waitFor()
  })

  it('keeps filters and pages in the URL', async () => {
    await using app = await consoleApp()
    const { email } = await app.admin()
    for (let made = 0; made < 51; made++) await app.member({ email: `member-no-${made}@example.com` })
    await app.viewer({ email: 'gone@example.com', isActive: false })
    const page = await openPage(app.url)
    await startSession(page, app.url, email)
    await page.goto('/admin/users')
    await page.getByText('54 people').waitFor()

    await page.getByRole('searchbox', { name: 'Filter by name or e-mail address' }).fill('MEMBER-NO')
    await page.keyboard.press('Enter')
    await page.getByText('51 people').waitFor()
    await page.getByRole('button', { name: 'Next page' }).click()
    await expect.poll(() => page.getByRole('table').getByRole('row').count()).toBe(2) // the header and the last person
    await page.goBack()
    await expect.poll(() => page.getByRole('table').getByRole('row').count()).toBe(51)

    await choose(page, 'State', 'Disabled')
    await page.getByText('No people found').waitFor()
    await expectAccessible(page)
    await page.getByRole('link', { name: 'Show everyone' }).click()
    await page.getByText('54 people').waitFor()
    await page.goto('/admin/users?state=INACTIVE&role=VIEWER')
    await page.getByText('1 person').waitFor()
    await page.getByRole('row', { name: /gone@example.com/ }).waitFor()
  })
})

describe('page of a user', () => {
  it('changes the role, disables the account, resets the password and deletes the account', async () => {
    await using app = await consoleApp()
    const admin = await app.admin()
    const member = await app.member({ displayName: 'Mona Member' })
    const page = await openPage(app.url)
    await startSession(page, app.url, admin.email)
    await page.goto(`/admin/users/${member.id}`)
    await page.getByRole('heading', { name: 'Mona Member' }).waitFor()
    await page.getByRole('table', { name: 'Access tokens of Mona Member' }).getByText('test').waitFor()

    await choose(page, 'Role', 'Viewer')
    await page.getByLabel('Name', { exact: true }).fill('Mona Viewer')
    await page.getByRole('link', { name: 'All actions of this account' }).click()
    await page.getByRole('alertdialog', { name: 'Leave without saving?' }).getByRole('button', { name: 'Cancel' }).click()
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByRole('heading', { name: 'Mona Viewer' }).waitFor()
    expect((await admin.get(`/api/admin/users/${member.id}`)).body).toMatchObject({ role: 'viewer' })

    await page.getByRole('region', { name: 'Sign-in' }).getByText('Access', { exact: true }).waitFor()
    await page.getByRole('button', { name: 'Disable account' }).click()
    await page.getByRole('alertdialog').getByRole('button', { name: 'Disable account' }).click()
    await page.getByText('The account is disabled').waitFor()
    expect((await member.get('/api/auth/me')).status).toBe(401)
    await page.getByRole('button', { name: 'Enable account' }).click()
    await page.getByRole('button', { name: 'Disable account' }).waitFor()

    await page.getByRole('button', { name: 'Reset password' }).click()
    await page.getByRole('alertdialog').getByRole('button', { name: 'Reset password' }).click()
    const password = await takeSecret(page, 'Hand over the one-time password')
    expect((await app.anonymous.post('/api/auth/login', { email: member.email, password })).status).toBe(200)
    await page.getByText('Must change password').waitFor()
    await page.reload()
    await page.getByText(/reset the password of Mona Viewer/).waitFor()

    // Deleting an account must not prompt about its unsaved changes.
    await page.getByLabel('Name', { exact: true }).fill('Mona Unsaved')
    await page.getByRole('button', { name: 'Delete account' }).click()
    const dialog = page.getByRole('alertdialog', { name: 'Delete Mona Viewer?' })
    await dialog.getByLabel('E-mail address of the account').fill('other@example.com')
    expect(await dialog.getByRole('button', { name: 'Delete account' }).isDisabled()).toBe(true)
    await dialog.getByLabel('E-mail address of the account').fill(member.email)
    await expectAccessible(page)
    await dialog.getByRole('button', { name: 'Delete account' }).click()
    await page.getByText('2 people').waitFor()
    await page.goto(`/admin/users/${member.id}`)
    await page.getByRole('heading', { name: 'Not found' }).waitFor()
  })

  it('refuses to delete the only uploader of packages, and lists the packages', async () => {
    await using app = await consoleApp()
    const admin = await app.admin()
    const member = await app.member()
    await publishTo(app.url, member.secret ?? '', { name: 'acme', version: '1.0.0' })
    const page = await openPage(app.url, { tolerate: [/status of 409/] })
    await startSession(page, app.url, admin.email)
    await page.goto(`/admin/users/${member.id}`)
    await page.getByRole('button', { name: 'Delete account' }).click()
    await page.getByLabel('E-mail address of the account').fill(member.email)
    await page.keyboard.press('Enter')
    const alert = page.getByRole('alert')
    await alert.waitFor()
    expect(await alert.textContent()).toContain('is the only uploader of acme')
    await screenshot(page, 'delete-refused')
  })

  it('creates a new invitation, which revokes the previous one', async () => {
    await using app = await consoleApp()
    const admin = await app.admin()
    const made = await admin.post('/api/admin/users', { email: 'ivy@example.com', displayName: 'Ivy', mode: 'invite' })
    const page = await openPage(app.url)
    await startSession(page, app.url, admin.email)
    await page.goto('/admin/users?state=INVITED')
    await page.getByRole('link', { name: 'Ivy' }).click()
    await page.getByRole('button', { name: 'New invitation' }).click()
    const address = await takeSecret(page, 'Hand over the invitation')
    const tokenOf = (url: string) => url.split('/').at(-1)
    expect((await app.anonymous.get(`/api/invites/${tokenOf(address)}`)).status).toBe(200)
    expect((await app.anonymous.get(`/api/invites/${tokenOf(made.body.inviteUrl)}`)).status).not.toBe(200)
  })

  it.each(['owner', 'oneself'])('disables dangerous actions and explains why: %s', async (who) => {
    await using app = await consoleApp()
    const [owner, admin] = [await app.owner(), await app.admin()]
    const page = await openPage(app.url)
    await startSession(page, app.url, admin.email)
    await page.goto(`/admin/users/${who === 'owner' ? owner.id : admin.id}`)
    await page.getByText(who === 'owner' ? /The account of the owner cannot be changed/ : /This is your own account/).waitFor()
    for (const name of ['Reset password', 'Disable account', 'Delete account']) {
      const button = page.getByRole('button', { name })
      expect(await button.isDisabled(), name).toBe(true)
      expect(await button.getAttribute('aria-describedby'), name).toBe('guard')
    }
    expect(await page.getByRole('combobox', { name: 'Role' }).isDisabled()).toBe(true)
    await screenshot(page, `guarded-${who}`)
  })
})

it('transfers ownership of the server to another administrator', async () => {
  await using app = await consoleApp()
  const owner = await app.owner()
  const heir = await app.admin({ displayName: 'Hedy Heir' })
  await app.admin({ displayName: 'Gone', isActive: false })
  const page = await openPage(app.url)
  await startSession(page, app.url, owner.email)
  await page.goto('/admin/ownership')
  await page.getByRole('combobox', { name: 'New owner' }).click()
  const heirs = page.getByRole('option')
  await heirs.filter({ hasText: 'Hedy Heir' }).waitFor()
  expect(await heirs.count()).toBe(1)
  await heirs.click()
  await page.getByRole('button', { name: /^Transfer ownership/ }).click()
  const dialog = page.getByRole('alertdialog', { name: 'Make Hedy Heir the owner?' })
  await dialog.getByLabel('E-mail address of the new owner').fill(heir.email)
  await expectAccessible(page)
  await screenshot(page, 'ownership-dialog')
  await page.keyboard.press('Enter')
  await page.waitForURL(`**/admin/users/${heir.id}`)
  await page.getByText(/The account of the owner cannot be changed/).waitFor()
  expect((await heir.get('/api/auth/me')).body).toMatchObject({ role: 'owner' })
  await page.getByRole('link', { name: 'Ownership' }).waitFor({ state: 'hidden' })
  await page.goto('/admin/ownership')
  await page.getByText('Only the owner of this server can see this page.').waitFor()
})

it('has no accessibility violations or overflow on any page, in light and dark mode, on desktop and mobile', async () => {
  await using app = await consoleApp()
  const owner = await app.owner()
  const member = await app.member({ displayName: 'Mona Member' })
  await app.admin({ displayName: 'Adam Admin' })
  await app.viewer({ displayName: 'Vera Viewer', isActive: false })
  await owner.post('/api/admin/users', { email: 'ivy@example.com', displayName: 'Ivy Invited', mode: 'invite' })
  await owner.put(`/api/admin/users/${member.id}`, { role: 'admin' })
  await publishTo(app.url, member.secret ?? '', { name: 'acme', version: '1.0.0' })
  const page = await openPage(app.url)
  await startSession(page, app.url, owner.email)
  const addresses = {
    overview: '/admin',
    people: '/admin/users',
    'new-person': '/admin/users?new=1',
    'no-people': '/admin/users?email=zzz',
    person: `/admin/users/${member.id}`,
    owner: `/admin/users/${owner.id}`,
    audit: '/admin/audit?from=2020-01-01',
    ownership: '/admin/ownership',
  }
  for (const [name, address] of Object.entries(addresses)) {
    await page.goto(address)
    await page
      .getByRole(name === 'new-person' ? 'dialog' : 'heading')
      .first()
      .waitFor()
    await expectSound(page, name)
  }
})
