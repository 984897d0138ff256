import type { Page } from 'playwright-core'
import { describe, expect, it } from 'vitest'
import { Session } from '../../server/accounts/sessions/entity.ts'
import { openPage, settled } from '../support/browser.ts'
import { consoleApp, startSession } from '../support/console.ts'
import { expectSound } from '../support/looks.ts'
import { codeAt } from '../support/totp.ts'
import { VirtualAuthenticator } from '../support/virtual-authenticator.ts'

type App = Awaited<ReturnType<typeof consoleApp>>

/** The time between two codes, in milliseconds. A used code is not accepted again. */
const stepMs = 30_000

/** Returns the code that the app shows next, after moving the clock to it. */
function nextCode(app: App, secret: string): string {
  app.clock.now = new Date((app.clock.now ?? new Date()).getTime() + stepMs)
  return codeAt(secret, app.clock.now)
}

/** Adds an authenticator app on the security page. Returns its secret and the recovery codes. */
async function addApp(app: App, page: Page): Promise<{ secret: string; codes: string[] }> {
  await page.getByRole('button', { name: 'Add an app' }).click()
  const dialog = page.getByRole('dialog', { name: 'Add an authenticator app' })
  await dialog.getByRole('img', { name: 'QR code' }).waitFor()
  await expectSound(page, 'totp-setup')
  const secret = ((await dialog.locator('[data-secret]').textContent()) ?? '').replaceAll(/\s/g, '')
  await dialog.getByLabel('Code').fill('000000')
  await page.keyboard.press('Enter')
  await dialog.getByText(/The code is wrong/).waitFor()
  await dialog.getByLabel('Code').fill(nextCode(app, secret))
  await page.keyboard.press('Enter')
  const sheet = page.getByRole('dialog', { name: 'Save your recovery codes' })
  const codes = ((await sheet.locator('[data-secret]').textContent()) ?? '').trim().split(/\s+/)
  await expectSound(page, 'recovery-codes')
  await page.keyboard.press('Escape') // must not lose the codes
  await sheet.getByLabel('I have saved them').click()
  await sheet.getByRole('button', { name: 'Done' }).click()
  await sheet.waitFor({ state: 'hidden' })
  return { secret, codes }
}

/** Enters e-mail address and password on the sign-in page. */
async function enterPassword(page: Page, email: string) {
  await settled(page)
  await page.context().clearCookies()
  await page.goto('/login?redirect=/settings/security')
  await page.getByLabel('E-mail address').fill(email)
  await page.getByRole('textbox', { name: 'Password' }).fill('correct horse')
  await page.keyboard.press('Enter')
}

async function openSecurity(app: App, options: Parameters<App['member']>[0] = {}) {
  const member = await app.member(options)
  const page = await openPage(app.url, { tolerate: [/status of 40[0139]/] })
  await startSession(page, app.url, member.email)
  await page.goto('/settings/security')
  return { member, page }
}

describe('authenticator app', () => {
  it('is set up with the keyboard, signs in with a code or a recovery code, and is removed', async () => {
    await using app = await consoleApp({ now: new Date(), env: { SIGN_IN_LIMIT: '1000' } })
    const { page, member } = await openSecurity(app)
    const { secret, codes } = await addApp(app, page)
    expect(new Set(codes).size).toBe(10)
    await page.getByText('10 codes left.', { exact: false }).waitFor()

    await enterPassword(page, member.email)
    const code = page.getByLabel('Code', { exact: true })
    await code.waitFor()
    expect(await page.evaluate('document.activeElement.autocomplete + " " + document.activeElement.inputMode')).toBe(
      'one-time-code numeric',
    )
    await expectSound(page, 'login-code')
    await page.keyboard.type('123456')
    await page.keyboard.press('Enter')
    await page.getByRole('alert').getByText('The code is wrong or was used already.').waitFor()
    await code.fill(nextCode(app, secret))
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: 'Security' }).waitFor()

    await enterPassword(page, member.email)
    await page.getByRole('button', { name: 'Use a recovery code' }).click()
    await page.getByLabel('Recovery code').fill(codes[0]?.toUpperCase() ?? '')
    await page.keyboard.press('Enter')
    await page.getByText('9 codes left.', { exact: false }).waitFor()

    await enterPassword(page, member.email)
    await page.getByRole('button', { name: 'Use a recovery code' }).click()
    await page.getByLabel('Recovery code').fill(codes[0] ?? '')
    await page.keyboard.press('Enter')
    await page.getByRole('alert').getByText('The code is wrong or was used already.').waitFor()
    await page.getByRole('button', { name: 'Back' }).click()
    expect(await page.getByRole('textbox', { name: 'Password' }).inputValue()).toBe('')
    await enterPassword(page, member.email)
    await code.fill(nextCode(app, secret))
    await page.keyboard.press('Enter')

    await page.getByRole('button', { name: 'New codes' }).click()
    await page.getByRole('button', { name: 'Create codes' }).click()
    const sheet = page.getByRole('dialog', { name: 'Save your recovery codes' })
    const renewed = ((await sheet.locator('[data-secret]').textContent()) ?? '').trim().split(/\s+/)
    expect(renewed.filter((one) => codes.includes(one))).toEqual([])
    await sheet.getByLabel('I have saved them').click()
    await sheet.getByRole('button', { name: 'Done' }).click()
    await page.getByText('10 codes left.', { exact: false }).waitFor()

    await page.getByRole('button', { name: 'Remove the authenticator app' }).click()
    await page.getByRole('alertdialog').getByRole('button', { name: 'Remove' }).click()
    await page.getByRole('button', { name: 'Add an app' }).waitFor()
    await enterPassword(page, member.email)
    await page.getByRole('heading', { name: 'Security' }).waitFor()
  })

  it('keeps what was entered when the session ends and a code is needed to sign in again', async () => {
    await using app = await consoleApp({ now: new Date() })
    const { page, member } = await openSecurity(app)
    const { secret } = await addApp(app, page)
    await page.goto('/settings/tokens?new=1')
    await page.getByLabel('Name', { exact: true }).fill('build server')
    await settled(page)
    await page.context().clearCookies()
    await page.getByRole('button', { name: 'Create token' }).click()
    const dialog = page.getByRole('dialog', { name: 'Sign in again' })
    await dialog.getByRole('textbox', { name: 'Your password' }).fill('correct horse')
    await page.keyboard.press('Enter')
    await dialog.getByLabel('Code', { exact: true }).fill(nextCode(app, secret))
    await page.keyboard.press('Enter')
    await page.getByText(/^svc_pat_\w{38}$/).waitFor()
    const { keys } = (await member.get('/api/auth/keys')).body as { keys: { name: string }[] }
    expect(keys.map(({ name }) => name)).toContain('build server')
  })
})

describe('required second factor', () => {
  it('closes the console until the user has set up an authenticator app, then continues', async () => {
    await using app = await consoleApp({ now: new Date(), env: { REQUIRE_SECOND_FACTOR: 'all' } })
    const member = await app.member()
    const page = await openPage(app.url, { tolerate: [/status of 40[013]/] })
    await startSession(page, app.url, member.email)
    await page.goto('/settings/tokens')
    await page.getByText('This server requires a second factor.').waitFor()
    expect(new URL(page.url()).pathname).toBe('/settings/security')
    expect(await page.getByRole('navigation', { name: 'Settings' }).count()).toBe(0)
    await expectSound(page, 'required-factor')
    await addApp(app, page)
    await page.getByRole('button', { name: 'Continue' }).click()
    await page.getByRole('heading', { name: 'Access tokens' }).waitFor()
  })

  it('is proved with an existing passkey', async () => {
    await using app = await consoleApp({ env: { REQUIRE_SECOND_FACTOR: 'all' } })
    const { page } = await openSecurity(app)
    await VirtualAuthenticator.add(page)
    await page.getByRole('button', { name: 'Add a passkey' }).click()
    await page.keyboard.press('Enter')
    await page.getByText('Your account has a second factor now.').waitFor()
    await settled(page)
    // As after a sign-in through a provider.
    await app.services.database.fork().nativeUpdate(Session, {}, { hasSecondFactor: false })
    await page.goto('/settings/profile')
    await page.getByText('Confirm with a passkey to continue.').waitFor()
    await page.getByRole('button', { name: 'Use a passkey' }).click()
    await page.getByRole('heading', { name: 'Profile' }).waitFor()
    expect(new URL(page.url()).pathname).toBe('/settings/profile')
  })

  it('is not required of members if only administrators need one', async () => {
    await using app = await consoleApp({ env: { REQUIRE_SECOND_FACTOR: 'admins' } })
    const { page } = await openSecurity(app)
    await page.getByRole('navigation', { name: 'Settings' }).waitFor()
    expect(await page.getByText('This server requires a second factor.').count()).toBe(0)
  })
})
