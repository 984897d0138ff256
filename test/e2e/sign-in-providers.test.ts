import type { Page } from 'playwright-core'
import { describe, expect, it } from 'vitest'
import { openPage, settled } from '../support/browser.ts'
import { consoleApp, startSession } from '../support/console.ts'
import { expectSound } from '../support/looks.ts'
import { OpenIdProvider } from '../support/openid-provider.ts'
import { addTotp } from '../support/totp.ts'

type App = Awaited<ReturnType<typeof consoleApp>>

/** Opens a page that may also visit the provider. */
const open = (app: App) =>
  openPage(app.url, { tolerate: [/status of (40[0139]|503)/, /request to another origin/, /^console: .*127\.0\.0\.1/] })

const acme = (page: Page) => page.getByRole('link', { name: 'Continue with Acme account' })

/** Signs a member in with the password, and links them to the person at the provider. */
async function openLinked(app: App, role: 'member' | 'admin' = 'member') {
  const member = await app[role]()
  const page = await open(app)
  await startSession(page, app.url, member.email)
  await page.goto('/settings/security')
  await page.getByRole('button', { name: 'Link Acme account', exact: true }).click()
  await page.getByText('Your identity is linked and signs you in.').waitFor()
  return { member, page }
}

/** Removes the cookies of this server, and opens a page. */
async function leave(page: Page, path: string) {
  await settled(page)
  await page.context().clearCookies({ domain: 'localhost' })
  await page.goto(path)
}

describe('sign-in through a provider', () => {
  it('links an identity, signs in with it, returns to the wanted page, and unlinks it', async () => {
    await using provider = await OpenIdProvider.start()
    provider.people.ada = { email: 'ada@acme.dev' }
    await using app = await consoleApp({ env: provider.env })
    const { page, member } = await openLinked(app)
    await page.getByText('Your identity is linked and signs you in.').waitFor()
    await page.getByText('ada@acme.dev').waitFor()
    await expectSound(page, 'security-linked')
    await leave(page, '/settings/profile')
    await acme(page).waitFor()
    await expectSound(page, 'login-providers')
    await acme(page).click()
    await page.getByRole('heading', { name: 'Profile' }).waitFor()
    expect(await page.getByLabel('E-mail address').inputValue()).toBe(member.email)
    // A sign-in that the provider may have completed without asking does not count as proof.
    await startSession(page, app.url, member.email)
    await page.goto('/settings/security')
    await page.getByRole('button', { name: 'Unlink Acme account' }).click()
    await page.getByRole('alertdialog').getByRole('button', { name: 'Unlink' }).click()
    await page.getByText('No identity is linked yet.').waitFor()
    await leave(page, '/login')
    await acme(page).click()
    await page
      .getByRole('alert')
      .getByText('No account of this server is linked to your identity at Acme account.', { exact: false })
      .waitFor()
    await expectSound(page, 'login-not-linked')
  })

  it('shows why it failed: cancelled, wrong state, and provider away', async () => {
    const provider = await OpenIdProvider.start()
    await using app = await consoleApp({ env: provider.env })
    const page = await open(app)
    const alert = page.getByRole('alert')
    provider.person = null
    await page.goto('/login')
    await acme(page).click()
    await alert.getByText('Acme account did not confirm the sign-in: it was cancelled or is not permitted.', { exact: false }).waitFor()
    await page.goto('/auth/oidc/acme/callback?code=x&state=another')
    await alert.getByText('The sign-in with Acme account took too long, or the page was opened twice.', { exact: false }).waitFor()
    await provider[Symbol.asyncDispose]()
    await page.goto('/login?redirect=/settings/profile')
    await acme(page).click()
    await alert.getByText('Acme account does not respond.', { exact: false }).waitFor()
    expect(new URL(page.url()).searchParams.get('redirect')).toBe('/settings/profile')
    // The password works as before.
    const member = await app.member()
    await page.getByLabel('E-mail address').fill(member.email)
    await page.getByRole('textbox', { name: 'Password' }).fill('correct horse')
    await page.keyboard.press('Enter')
    await page.waitForURL(({ pathname }) => pathname === '/settings/profile')
    expect(await page.getByRole('alert').count()).toBe(0)
  })

  it('accepts an invitation', async () => {
    await using provider = await OpenIdProvider.start()
    await using app = await consoleApp({ env: provider.env })
    const owner = await app.owner()
    const invited = await owner.post('/api/admin/users', { email: 'ivy@example.com', displayName: 'Ivy Invited', mode: 'invite' })
    const { inviteUrl } = invited.body as { inviteUrl: string }
    const page = await open(app)
    await page.goto(inviteUrl)
    await page.getByRole('button', { name: 'Continue with Acme account' }).waitFor()
    await expectSound(page, 'invite-provider')
    await page.getByRole('button', { name: 'Continue with Acme account' }).click()
    await page.getByRole('button', { name: 'Account: Ivy Invited' }).waitFor()
    await page.goto('/settings/security')
    await page
      .getByRole('region', { name: 'Linked identities' })
      .getByRole('row', { name: /Acme account/ })
      .last()
      .waitFor()
    expect(await page.getByRole('heading', { name: 'Change password' }).count()).toBe(0)
  })

  it('proves in a window of its own that it is the user, who has no password, and keeps the input', async () => {
    await using provider = await OpenIdProvider.start()
    provider.people.ada = { email: 'ada@acme.dev', email_verified: true, name: 'Ada' }
    await using app = await consoleApp({ env: { ...provider.env, OIDC_SIGNUP: 'domain', OIDC_SIGNUP_DOMAINS: 'acme.dev' } })
    const page = await open(app)
    await page.goto('/login')
    await acme(page).click()
    await page.getByRole('button', { name: 'Account: Ada' }).waitFor()
    await page.goto('/settings/security')
    await page.getByText('You have no passkeys yet.').waitFor()
    app.clock.now = new Date(Date.now() + 11 * 60_000)
    await page.getByRole('button', { name: 'Link Acme account', exact: true }).click()
    const dialog = page.getByRole('dialog', { name: 'Confirm that it is you' })
    await dialog.getByRole('button', { name: 'Continue with Acme account' }).waitFor()
    await expectSound(page, 'proof-provider')
    expect(await dialog.getByRole('textbox').count()).toBe(0)
    // The provider has the real time, and its sign-in must be later than the start of the proof.
    app.clock.now = new Date()
    const popup = page.waitForEvent('popup')
    await dialog.getByRole('button', { name: 'Continue with Acme account' }).click()
    await popup
    await dialog.waitFor({ state: 'hidden' })
    await page.getByText('Your identity is linked and signs you in.').waitFor()
  })

  it('hides the form of the password where only the owner has one', async () => {
    await using provider = await OpenIdProvider.start()
    await using app = await consoleApp({ env: { ...provider.env, PASSWORD_SIGN_IN: 'owner' } })
    const owner = await app.owner()
    const page = await open(app)
    await page.goto('/login')
    await acme(page).waitFor()
    expect(await page.getByRole('textbox').count()).toBe(0)
    await expectSound(page, 'login-owner-only')
    await page.getByRole('button', { name: 'Sign in as the owner' }).press('Enter')
    await page.getByLabel('E-mail address').fill(owner.email)
    await page.getByRole('textbox', { name: 'Password' }).fill('correct horse')
    await page.keyboard.press('Enter')
    await page.getByRole('button', { name: /^Account/ }).waitFor()
  })
})

describe('administration of sign-in', () => {
  it('adds, tests, changes and removes a provider', async () => {
    await using provider = await OpenIdProvider.start()
    provider.people.ada = { email: 'ada@acme.dev', groups: ['developers', 'admins'] }
    await using app = await consoleApp({ env: { TOKEN_ISSUER_HOSTS: new URL(provider.issuer).host } })
    const page = await open(app)
    await startSession(page, app.url, (await app.owner()).email)
    await page.goto('/admin/sign-in')
    await page.getByText('No providers yet').waitFor()
    await expectSound(page, 'admin-sign-in-empty')
    await page.getByRole('button', { name: 'Add a provider' }).click()
    const dialog = page.getByRole('dialog', { name: 'Add a provider' })
    await dialog.getByLabel('Name').fill('acme')
    await dialog.getByLabel('Label').fill('Acme account')
    await dialog.getByLabel('Issuer').fill('https://')
    await dialog.getByLabel('Client id').fill('snug')
    await dialog.getByLabel('Client secret').fill(provider.env.OIDC_ACME_CLIENT_SECRET ?? '')
    await dialog.getByLabel('Scopes').fill('openid email groups')
    await dialog.getByLabel('Groups claim').fill('groups')
    await dialog.getByLabel('Issuer').fill(provider.issuer)
    await expectSound(page, 'admin-add-provider')
    await dialog.getByRole('button', { name: 'Add' }).click()
    const card = page.getByRole('article', { name: 'Acme account' })
    await card.getByText(`${app.url}/auth/oidc/acme/callback`).waitFor()

    await card.getByRole('button', { name: 'Groups of Acme account' }).click()
    const rules = page.getByRole('dialog', { name: 'Groups of Acme account' })
    await rules.getByRole('button', { name: 'Add a rule' }).click()
    await rules.getByLabel('Rule 1: group').fill('developers')
    await rules.getByRole('combobox', { name: 'Rule 1: role on this server' }).click()
    await page.getByRole('option', { name: 'Member' }).click()
    await expectSound(page, 'admin-group-rules')
    await rules.getByRole('button', { name: 'Save' }).click()
    await card.getByText('1 rule').waitFor()

    await card.getByRole('button', { name: 'Test Acme account' }).click()
    await card.getByText('Acme account answers, and its metadata and keys are valid.').waitFor()
    await expectSound(page, 'admin-sign-in')
    await card.getByRole('link', { name: 'Start a test sign-in' }).click()
    const result = page.getByRole('dialog', { name: 'Test sign-in' })
    await result.getByText('Role on this server: Member, unless an administrator has chosen the role').waitFor()
    await result.getByText('"ada@acme.dev"', { exact: false }).waitFor()
    await expectSound(page, 'admin-test-result')
    await result.getByRole('button', { name: 'Close' }).last().click()
    expect(new URL(page.url()).search).toBe('')

    await card.getByRole('button', { name: 'Edit Acme account' }).click()
    const editor = page.getByRole('dialog', { name: 'Edit Acme account' })
    expect(await editor.getByRole('textbox', { name: 'Client secret' }).inputValue()).toBe('')
    await editor.getByLabel('Label').fill('Acme')
    await editor.getByRole('button', { name: 'Save' }).click()
    const renamed = page.getByRole('article', { name: 'Acme' })
    await renamed.getByText('snug, with a secret').waitFor()
    await renamed.getByRole('button', { name: 'Remove Acme' }).click()
    await page.getByRole('alertdialog').getByRole('button', { name: 'Remove provider' }).click()
    await page.getByText('No providers yet').waitFor()
  })

  it('shows why a provider cannot be used', async () => {
    const provider = await OpenIdProvider.start()
    await provider[Symbol.asyncDispose]()
    await using app = await consoleApp({ env: provider.env })
    const page = await open(app)
    await startSession(page, app.url, (await app.owner()).email)
    await page.goto('/admin/sign-in')
    await page.getByRole('button', { name: 'Test Acme account' }).click()
    await page.getByText('Acme account cannot be used.').waitFor()
    expect(await page.getByRole('button', { name: 'Edit Acme account' }).count()).toBe(0)
    await expectSound(page, 'admin-provider-away')
  })

  it('lists who has a second factor and who has none, and resets one', async () => {
    await using app = await consoleApp()
    const member = await app.member({ displayName: 'Mia Member' })
    const page = await open(app)
    await startSession(page, app.url, (await app.owner()).email)
    await page.goto('/admin/sign-in')
    await page.getByRole('row', { name: /Mia Member/ }).waitFor()
    expect(await page.getByRole('button', { name: /^Reset/ }).count()).toBe(0)
    await addTotp(await member.session(), new Date())
    await page.getByRole('button', { name: 'With second factor' }).click()
    await page.getByRole('button', { name: 'Reset the second factor of Mia Member' }).click()
    await page.getByRole('alertdialog').getByRole('button', { name: 'Reset second factor' }).click()
    await page.getByText('No account has a second factor yet.').waitFor()
    await page.goto(`/admin/users/${member.id}`)
    await page.getByRole('button', { name: 'Reset password' }).waitFor()
    expect(await page.getByRole('button', { name: 'Reset second factor' }).count()).toBe(0)
  })
})
