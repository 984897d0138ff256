import type { Page } from 'playwright-core'
import { describe, expect, it } from 'vitest'
import { openPage, settled } from '../support/browser.ts'
import { consoleApp, overflow, startSession } from '../support/console.ts'
import { expectSound } from '../support/looks.ts'
import { OpenIdProvider } from '../support/openid-provider.ts'
import { addTotp } from '../support/totp.ts'

type App = Awaited<ReturnType<typeof consoleApp>>

/** Opens a page that may also visit the provider. */
const open = (app: App) =>
  openPage(app.url, { tolerate: [/status of (40[0139]|50[03])/, /request to another origin/, /^console: .*127\.0\.0\.1/] })

/** Returns the approximate accessible name of the focused element. */
const focused = (page: Page) =>
  page.evaluate<string>(
    '(e => e.getAttribute("aria-label") || e.labels?.[0]?.textContent.trim() || e.textContent.trim() || e.tagName)(document.activeElement)',
  )

/** Presses Tab until the element with the given name has the focus. */
async function tabTo(page: Page, name: string) {
  for (let presses = 0; presses < 40; presses++) {
    await page.keyboard.press('Tab')
    if ((await focused(page)) === name) return
  }
  throw new Error(`Tab does not reach ${name}.`)
}

const secret = 'the secret of this server at the provider'
const longLabel = 'Zusammenarbeit der Abteilungen für Softwareentwicklung Süd'
const labels = ['Acme', 'GitLab', longLabel, 'حساب الشركة الوطنية لتطوير البرمجيات والأنظمة المفتوحة', 'W'.repeat(60)]

/** Adds a provider for each label. */
async function addProviders(app: App, { issuer }: OpenIdProvider) {
  const session = await (await app.owner()).session()
  for (const [index, label] of labels.entries()) {
    const { status } = await session.post('/api/admin/oidc-providers', {
      name: `provider_${index}`,
      label,
      issuer,
      clientId: 'snug',
      clientSecret: secret,
    })
    expect(status).toBe(201)
  }
}

/** Returns the labels of buttons and links that are cut off. */
const cutLabels = (elements: Element[]) =>
  elements
    .flatMap((element) => Array.from(element.querySelectorAll('span')))
    .filter((label) => label.scrollWidth > label.clientWidth)
    .map((label) => label.textContent)

/** Fails if a button or link cuts its label off, or if the page is wider than a phone or than a window at 200 %. */
async function expectWholeLabels(page: Page, role: 'button' | 'link', name: RegExp) {
  await page.getByRole(role, { name }).first().waitFor()
  await settled(page)
  for (const width of [640, 320]) {
    await page.setViewportSize({ width, height: 450 })
    expect(await overflow(page), `overflow at ${width}`).toBeLessThanOrEqual(0)
    expect(await page.getByRole(role, { name }).evaluateAll(cutLabels)).toEqual([])
  }
}

describe('five providers with long labels', () => {
  it('have whole labels on the sign-in, invitation, security and administration pages', async () => {
    await using provider = await OpenIdProvider.start()
    await using app = await consoleApp()
    await addProviders(app, provider)
    const owner = await app.owner()
    const invited = await owner.post('/api/admin/users', { email: 'ivy@example.com', displayName: longLabel, mode: 'invite' })
    const page = await open(app)
    await page.goto('/login')
    await expectWholeLabels(page, 'link', /^Continue with/)
    await expectSound(page, 'login-five-providers')
    await page.goto((invited.body as { inviteUrl: string }).inviteUrl)
    await expectWholeLabels(page, 'button', /^Continue with/)
    await expectSound(page, 'invite-five-providers')
    await startSession(page, app.url, owner.email)
    await page.goto('/settings/security')
    await expectWholeLabels(page, 'button', /^Link/)
    await expectSound(page, 'security-five-providers')
    await page.goto('/admin/sign-in')
    await expectWholeLabels(page, 'button', /^Test/)
    await expectSound(page, 'admin-five-providers')
  })
})

describe('keyboard', () => {
  it('adds a provider, maps a group, and returns the focus after each dialog', async () => {
    await using provider = await OpenIdProvider.start()
    provider.people.ada = { email: 'ada@acme.dev', groups: ['developers'] }
    await using app = await consoleApp({ env: { TOKEN_ISSUER_HOSTS: new URL(provider.issuer).host } })
    const page = await open(app)
    const owner = await app.owner()
    await startSession(page, app.url, owner.email)
    await page.goto('/admin/sign-in')
    await page.getByText('No providers yet').waitFor()
    await tabTo(page, 'Add a provider')
    await page.keyboard.press('Enter')
    await page.getByRole('dialog', { name: 'Add a provider' }).waitFor()
    await page.keyboard.press('Escape')
    await expect.poll(() => focused(page)).toBe('Add a provider')

    await page.keyboard.press('Enter')
    const dialog = page.getByRole('dialog', { name: 'Add a provider' })
    await tabTo(page, 'Name')
    await page.keyboard.type('acme')
    // The administrator needs it at the provider, before there is a client id.
    await dialog.getByText(`${app.url}/auth/oidc/acme/callback`).waitFor()
    await expectSound(page, 'admin-add-provider-named')
    await tabTo(page, 'Copy redirect URI')
    await tabTo(page, 'Issuer')
    await page.keyboard.type('http://acme.example')
    await tabTo(page, 'Client id')
    await page.keyboard.type('snug')
    await tabTo(page, 'Client secret')
    await page.keyboard.type(secret)
    await page.keyboard.press('Enter')
    await dialog.getByText('Issuer must be the issuer of the provider', { exact: false }).waitFor()
    await expect.poll(() => focused(page)).toBe('Issuer')
    await page.keyboard.press('ControlOrMeta+a')
    await page.keyboard.type(provider.issuer)
    await tabTo(page, 'Groups claim')
    await page.keyboard.type('groups')
    await page.keyboard.press('Enter')
    await page.getByRole('article', { name: 'acme' }).waitFor()
    await dialog.waitFor({ state: 'hidden' })

    await page.getByRole('button', { name: 'Edit acme' }).press('Enter')
    const editor = page.getByRole('dialog', { name: 'Edit acme' })
    await editor.getByLabel('Issuer').fill('https://another.example')
    await editor.getByText('Enter the secret of the new issuer.').waitFor()
    await page.keyboard.press('Escape')
    await expect.poll(() => focused(page)).toBe('Edit acme')

    await page.getByRole('button', { name: 'Groups of acme' }).press('Enter')
    await tabTo(page, 'Add a rule')
    await page.keyboard.press('Enter')
    await expect.poll(() => focused(page)).toBe('Rule 1: group')
    await page.keyboard.type('developers')
    await tabTo(page, 'Rule 1: role on this server')
    await page.keyboard.press('Enter')
    await page.getByRole('option', { name: 'Member' }).press('Enter')
    await tabTo(page, 'Save')
    await page.keyboard.press('Enter')
    await page.getByText('1 rule').waitFor()
    const { oidcProviders } = (await (await owner.session()).get('/api/admin/oidc-providers')).body
    expect(oidcProviders).toMatchObject([{ name: 'acme', issuer: provider.issuer, groupRules: [{ group: 'developers', role: 'member' }] }])

    await page.getByRole('button', { name: 'Test acme' }).press('Enter')
    await page.getByRole('link', { name: 'Start a test sign-in' }).press('Enter')
    await page.getByRole('dialog', { name: 'Test sign-in' }).waitFor()
    await page.keyboard.press('Escape')
    await expect.poll(() => focused(page)).toBe('Sign-in')
  })

  it('links an identity, and accepts an invitation where only the owner has a password', async () => {
    await using provider = await OpenIdProvider.start()
    provider.people.ada = { email: 'ada@acme.dev' }
    await using app = await consoleApp({ env: { ...provider.env, PASSWORD_SIGN_IN: 'owner' } })
    const owner = await app.owner()
    const page = await open(app)
    await startSession(page, app.url, owner.email)
    await page.goto('/settings/security')
    await page.getByText('No identity is linked yet.').waitFor()
    await tabTo(page, 'Link Acme account')
    await page.keyboard.press('Enter')
    await page.getByText('Your identity is linked and signs you in.').waitFor()

    provider.person = 'ivy'
    const invited = await owner.post('/api/admin/users', { email: 'ivy@example.com', displayName: 'Ivy Invited', mode: 'invite' })
    const invitation = await open(app)
    await invitation.goto((invited.body as { inviteUrl: string }).inviteUrl)
    await invitation.getByText('Accept with your account at a provider.', { exact: false }).waitFor()
    expect(await invitation.getByText('Used to sign in.').count()).toBe(0)
    await expectSound(invitation, 'invite-owner-only')
    await tabTo(invitation, 'Continue with Acme account')
    await invitation.keyboard.press('Enter')
    await invitation.getByRole('button', { name: 'Account: Ivy Invited' }).waitFor()
  })
})

describe('failures', () => {
  it.each([
    ['/admin/sign-in', '/admin/jobs', 'Sign-in', 'No providers yet'],
    ['/settings/security', '/settings/profile', 'Security', 'You have no passkeys yet.'],
  ])('shows the message of the server on %s, and retries', async (_path, from, link, text) => {
    await using app = await consoleApp()
    const page = await open(app)
    await startSession(page, app.url, (await app.owner()).email)
    // The first answers of a page that is opened by its address are in its HTML, so the page is opened from another one.
    await page.goto(from)
    await settled(page)
    const message = 'The database does not answer.'
    const json = { errors: [{ message, extensions: { code: 'ServiceUnavailable' } }] }
    await page.route('**/graphql', (route) => route.fulfill({ status: 503, json }))
    await page.getByRole('link', { name: link, exact: true }).click()
    await page.getByRole('alert').getByText(message).first().waitFor()
    await expectSound(page, `failing-${link.toLowerCase()}`)
    await page.unroute('**/graphql')
    await page.getByRole('button', { name: 'Retry' }).first().press('Enter')
    await page.getByText(text).waitFor()
  })

  it('shows someone without phone and codes what to do, and warns when few codes are left', async () => {
    await using app = await consoleApp({ now: new Date(), env: { SIGN_IN_LIMIT: '1000' } })
    const member = await app.member()
    const { recoveryCodes } = await addTotp(await member.session(), app.clock.now ?? new Date())
    const page = await open(app)
    for (const code of recoveryCodes.slice(0, 7)) {
      await settled(page)
      await page.context().clearCookies()
      await page.goto('/login?redirect=/settings/security')
      await page.getByLabel('E-mail address').fill(member.email)
      await page.getByRole('textbox', { name: 'Password' }).fill('correct horse')
      await page.keyboard.press('Enter')
      await page.getByRole('button', { name: 'Use a recovery code' }).press('Enter')
      await page.getByText('An administrator can reset your second factor.', { exact: false }).waitFor()
      await page.getByLabel('Recovery code').fill(code)
      await page.keyboard.press('Enter')
      await page.getByRole('heading', { name: 'Security' }).waitFor()
    }
    await page.getByText('3 codes left.', { exact: false }).waitFor()
    await page.getByText('Create new codes before you need them', { exact: false }).waitFor()
    await expectSound(page, 'security-few-codes')
  })
})
