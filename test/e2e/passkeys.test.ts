import type { Page } from 'playwright-core'
import { describe, expect, it } from 'vitest'
import { openPage, settled } from '../support/browser.ts'
import { consoleApp, startSession } from '../support/console.ts'
import { expectSound } from '../support/looks.ts'
import { VirtualAuthenticator } from '../support/virtual-authenticator.ts'

type App = Awaited<ReturnType<typeof consoleApp>>

/** Signs a new member in, and opens the security page in a browser with an authenticator. */
async function openSecurity(app: App) {
  const member = await app.member()
  const page = await openPage(app.url, { tolerate: [/status of 40[0139]/] })
  const authenticator = await VirtualAuthenticator.add(page)
  await startSession(page, app.url, member.email)
  await page.goto('/settings/security')
  return { member, page, authenticator }
}

/** Adds a passkey with a name. */
async function addPasskey(page: Page, name: string) {
  await page.getByRole('button', { name: 'Add a passkey' }).click()
  const dialog = page.getByRole('dialog', { name: 'Add a passkey' })
  await dialog.getByLabel('Name').fill(name)
  await page.keyboard.press('Enter')
  await page.getByRole('button', { name: `Remove ${name}` }).waitFor()
  await dialog.waitFor({ state: 'hidden' })
}

/** Removes the cookies of the session and opens the sign-in page. */
async function leave(page: Page, path = '/login') {
  await settled(page)
  await page.context().clearCookies()
  await page.goto(path)
}

const passkeyButton = (page: Page) => page.getByRole('button', { name: 'Sign in with a passkey' })

describe('passkeys', () => {
  it('are added, renamed and removed on the security page', async () => {
    await using app = await consoleApp()
    const { page } = await openSecurity(app)
    const stored = async () => (await page.request.get(`${app.url}/api/auth/passkeys`)).json()
    await page.getByText('You have no passkeys yet.').waitFor()
    await expectSound(page, 'security-empty')
    await addPasskey(page, 'Laptop')
    await page.getByText('Added the passkey Laptop.').waitFor({ state: 'attached' })
    await expectSound(page, 'security-passkey')
    await page.getByRole('button', { name: 'Rename Laptop' }).click()
    await page.getByRole('dialog', { name: 'Rename “Laptop”' }).getByLabel('Name').fill('Work laptop')
    await page.keyboard.press('Enter')
    await page
      .getByRole('row', { name: /Work laptop/ })
      .first()
      .waitFor()
    expect(await stored()).toMatchObject({ passkeys: [{ name: 'Work laptop' }] })
    await page.getByRole('button', { name: 'Remove Work laptop' }).click()
    const question = page.getByRole('alertdialog', { name: 'Remove “Work laptop”?' })
    await question.waitFor()
    await expectSound(page, 'security-remove-passkey')
    await question.getByRole('button', { name: 'Remove passkey' }).click()
    await page.getByText('You have no passkeys yet.').waitFor()
    expect(await stored()).toMatchObject({ passkeys: [] })
  })

  it('are not registered twice by the same authenticator, and say why', async () => {
    await using app = await consoleApp()
    const { page, authenticator } = await openSecurity(app)
    await addPasskey(page, 'Laptop')
    await page.getByRole('button', { name: 'Add a passkey' }).click()
    await page.keyboard.press('Enter')
    await page.getByRole('alert').getByText('This device already has a passkey for your account.').waitFor()
    expect(await authenticator.credentials()).toHaveLength(1)
  })

  it('sign in and return to the wanted page', async () => {
    await using app = await consoleApp()
    const { page, member, authenticator } = await openSecurity(app)
    await addPasskey(page, 'Laptop')
    await authenticator.setAnswers(false) // so that the suggestion in the form stays open
    await leave(page, '/settings/profile')
    await passkeyButton(page).waitFor()
    await expectSound(page, 'login')
    await authenticator.setAnswers(true)
    await passkeyButton(page).click()
    await page.getByRole('heading', { name: 'Profile' }).waitFor()
    expect(await page.getByLabel('E-mail address').inputValue()).toBe(member.email)
    await page.goto('/settings/security')
    await page.getByText(/signed in with the passkey "Laptop"/).waitFor()
  })

  it('continue a sign-in with the password', async () => {
    await using app = await consoleApp()
    const { page, member, authenticator } = await openSecurity(app)
    await addPasskey(page, 'Laptop')
    await authenticator.setAnswers(false) // so that the suggestion in the form stays open
    await leave(page, '/login?redirect=/settings/profile')
    await page.getByLabel('E-mail address').fill(member.email)
    await page.getByRole('textbox', { name: 'Password' }).fill('correct horse')
    await authenticator.setAnswers(true)
    await page.getByRole('button', { name: 'Sign in', exact: true }).click()
    await page.getByRole('heading', { name: 'Profile' }).waitFor()
    expect(await page.getByLabel('E-mail address').inputValue()).toBe(member.email)
  })

  it('are suggested in the field for the e-mail address', async () => {
    await using app = await consoleApp()
    const { page, member } = await openSecurity(app)
    await addPasskey(page, 'Laptop')
    // The authenticator chooses the suggestion at once.
    await leave(page, '/login?redirect=/settings/profile')
    await page.getByRole('heading', { name: 'Profile' }).waitFor()
    expect(await page.getByLabel('E-mail address').inputValue()).toBe(member.email)
  })

  it('confirm that it is the user, in place of the password', async () => {
    await using app = await consoleApp()
    const { page, authenticator } = await openSecurity(app)
    await addPasskey(page, 'Laptop')
    app.clock.now = new Date(Date.now() + 11 * 60_000)
    await page.getByRole('button', { name: 'Add an app' }).click()
    const dialog = page.getByRole('dialog', { name: 'Confirm your password' })
    await dialog.getByRole('button', { name: 'Use a passkey' }).waitFor()
    await expectSound(page, 'proof-passkey')
    await authenticator.setVerified(false)
    await dialog.getByRole('button', { name: 'Use a passkey' }).click()
    await dialog
      .getByRole('alert')
      .getByText(/No passkey was used/)
      .waitFor()
    await authenticator.setVerified(true)
    await dialog.getByRole('button', { name: 'Use a passkey' }).click()
    await page.getByRole('dialog', { name: 'Add an authenticator app' }).waitFor()
  })

  it('sign in again after the session has ended, without losing input', async () => {
    await using app = await consoleApp()
    const { page, member } = await openSecurity(app)
    await addPasskey(page, 'Laptop')
    await page.goto('/settings/tokens?new=1')
    await page.getByLabel('Name', { exact: true }).fill('build server')
    await settled(page)
    await page.context().clearCookies()
    await page.getByRole('button', { name: 'Create token' }).click()
    await page.getByRole('dialog', { name: 'Sign in again' }).getByRole('button', { name: 'Use a passkey' }).click()
    await page.getByText(/^svc_pat_\w{38}$/).waitFor()
    const { keys } = (await member.get('/api/auth/keys')).body as { keys: { name: string }[] }
    expect(keys.map(({ name }) => name)).toContain('build server')
  })

  it('keep the last way to sign in', async () => {
    await using app = await consoleApp({ env: { REQUIRE_SECOND_FACTOR: 'all' } })
    const { page, authenticator } = await openSecurity(app)
    await addPasskey(page, 'Laptop')
    await page.getByRole('button', { name: 'Remove Laptop' }).click()
    const question = page.getByRole('alertdialog', { name: 'Remove “Laptop”?' })
    await question.getByRole('button', { name: 'Remove passkey' }).click()
    await question.getByRole('alert').getByText('this is your only one', { exact: false }).waitFor()
    await question.getByRole('button', { name: 'Cancel' }).click()
    await page.getByRole('button', { name: 'Remove Laptop' }).waitFor()
    expect(await authenticator.credentials()).toHaveLength(1)
  })

  it('are disabled after a copy of the authenticator was used', async () => {
    await using app = await consoleApp()
    const { page, member, authenticator } = await openSecurity(app)
    await addPasskey(page, 'Laptop')
    const [copied] = await authenticator.credentials()
    if (!copied) throw new Error('The authenticator stores no passkey.')
    await leave(page, '/login?redirect=/settings/profile')
    await page.getByRole('heading', { name: 'Profile' }).waitFor()
    const thief = await openPage(app.url, { tolerate: [/status of 401/] })
    const copy = await VirtualAuthenticator.add(thief)
    await copy.setAnswers(false)
    await copy.store(copied)
    await thief.goto('/login')
    await passkeyButton(thief).waitFor()
    await copy.setAnswers(true)
    await passkeyButton(thief).click()
    await thief.getByRole('alert').getByText('The passkey was not accepted.', { exact: false }).waitFor()
    await leave(page)
    await startSession(page, app.url, member.email)
    await page.goto('/settings/security')
    await page.getByRole('row', { name: /Laptop.*Disabled.*A copy of this passkey was used/ }).waitFor()
    await expectSound(page, 'security-copied-passkey')
  })

  it('are not accepted by a server at another origin with the same host name', async () => {
    await using app = await consoleApp()
    await using other = await consoleApp()
    const { page, authenticator } = await openSecurity(app)
    await addPasskey(page, 'Laptop')
    const [credential] = await authenticator.credentials()
    if (!credential) throw new Error('The authenticator stores no passkey.')
    expect(credential.rpId).toBe('localhost')
    const elsewhere = await openPage(other.url, { tolerate: [/status of 401/] })
    const device = await VirtualAuthenticator.add(elsewhere)
    await device.setAnswers(false)
    await device.store(credential)
    await elsewhere.goto('/login')
    await passkeyButton(elsewhere).waitFor()
    await device.setAnswers(true)
    await passkeyButton(elsewhere).click()
    await elsewhere.getByRole('alert').getByText('The passkey was not accepted.', { exact: false }).waitFor()
  })

  it('are not used by a page that was opened at another address of the server', async () => {
    await using app = await consoleApp()
    const page = await openPage(app.url.replace('localhost', '127.0.0.1'), { tolerate: [/status of 403/] })
    await VirtualAuthenticator.add(page)
    await page.goto('/login')
    await passkeyButton(page).click()
    await page.getByRole('alert').waitFor()
    expect(await page.getByRole('alert').textContent()).toContain(`Open ${app.url} and try again there.`)
  })
})
