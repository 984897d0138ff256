import type { Page } from 'playwright-core'
import { describe, expect, it, onTestFinished } from 'vitest'
import type { Actor } from '../actor.ts'
import { openPage, settled } from '../support/browser.ts'
import { sharedConsole, signIn, startSession } from '../support/console.ts'
import { expectSound } from '../support/looks.ts'
import { plain } from '../support/pictures.ts'

const startShared = sharedConsole()

/** Creates the users Alice and Bob, and opens a page as Alice. */
async function openAsAlice(path: string) {
  const app = await startShared()
  const [alice, bob] = [await app.admin({ displayName: 'Alice' }), await app.member({ displayName: 'Bob' })]
  const page = await openPage(app.url, { tolerate: [/status of 40[013]/] })
  await startSession(page, app.url, alice.email)
  await page.goto(path)
  await settled(page)
  return { app, alice, bob, page, ...partsOf(page) }
}

const partsOf = (page: Page) => ({
  name: page.getByLabel('Name', { exact: true }),
  save: () => page.getByRole('button', { name: 'Save' }).click(),
  notice: page.getByRole('alertdialog', { name: 'You are signed in as Bob' }),
  refusal: page.getByRole('alert').getByText('Nothing was changed: you signed in again after this page was loaded.'),
  account: (name: string) => page.getByRole('button', { name: `Account: ${name}` }),
})

const me = async (actor: Actor) => (await actor.get('/api/auth/me')).body as { displayName: string; avatarUrl: string | null }

describe('page of a user after another user signed in with the same browser', () => {
  it('refuses changes, explains why, keeps the form, and switches to the other user after a reload', async () => {
    const test = await openAsAlice('/settings/profile')
    const { app, page, alice, bob, name, save, notice, refusal, account } = test
    const tab = await page.context().newPage()
    await tab.goto(`${app.url}/packages`)
    await tab.getByRole('button', { name: /^Account/ }).click()
    await tab.getByRole('menuitem', { name: 'Sign out' }).click()
    await tab.waitForURL('**/login')
    await signIn(tab, app.url, bob.email)
    await name.fill('Alice Anders')
    await save()
    await notice.getByText(bob.email).waitFor()
    await expectSound(page, 'other-account')
    await page.keyboard.press('Escape')
    await refusal.waitFor()
    expect(await name.inputValue()).toBe('Alice Anders')
    await save()
    await notice.getByRole('button', { name: 'Reload' }).click()
    await account('Bob').waitFor()
    expect(await name.inputValue()).toBe('Bob')
    expect([(await me(alice)).displayName, (await me(bob)).displayName]).toEqual(['Alice', 'Bob'])
    await name.fill('Bob Brown')
    await save()
    await account('Bob Brown').waitFor()
  })

  it('does not upload a picture', async () => {
    const test = await openAsAlice('/settings/profile')
    const { app, page, alice, bob, notice, refusal } = test
    const buffer = await plain({ width: 20, height: 20 }).png().toBuffer()
    await page.locator('input[type=file]').setInputFiles({ name: 'a.png', mimeType: 'image/png', buffer })
    await startSession(page, app.url, bob.email)
    await page.getByRole('button', { name: 'Upload' }).click()
    await notice.waitFor()
    await page.keyboard.press('Escape')
    await refusal.waitFor()
    expect([(await me(alice)).avatarUrl, (await me(bob)).avatarUrl]).toEqual([null, null])
    await startSession(page, app.url, alice.email)
    await page.getByRole('button', { name: 'Upload' }).click()
    await page.getByRole('button', { name: 'Choose another' }).waitFor()
    expect([(await me(alice)).avatarUrl, (await me(bob)).avatarUrl]).toEqual([expect.any(String), null])
  })

  it('does not send requests from the GraphQL explorer', async () => {
    const test = await openAsAlice('/graphql')
    const { app, page, bob, notice, account } = test
    await page.getByLabel('Query').fill('mutation { updateProfile(input: { displayName: "Carol" }) { user { id } } }')
    await startSession(page, app.url, bob.email)
    await page.getByRole('button', { name: 'Run' }).click()
    await notice.getByRole('button', { name: 'Reload' }).click()
    await account('Bob').waitFor()
    await expect.poll(() => page.getByLabel('Query').textContent()).toContain('Carol')
    expect((await me(bob)).displayName).toBe('Bob')
  })

  it('does not sign out the other user', async () => {
    const test = await openAsAlice('/packages')
    const { app, page, bob, notice, account } = test
    await startSession(page, app.url, bob.email)
    await account('Alice').click()
    await page.getByRole('menuitem', { name: 'Sign out' }).click()
    await notice.getByRole('button', { name: 'Reload' }).click()
    await account('Bob').waitFor()
    expect(new URL(page.url()).pathname).toBe('/packages')
  })

  it('does not accept a password, and cancels the action that required it', async () => {
    const test = await openAsAlice('/settings/tokens?new=1')
    const { app, page, alice, bob, name, notice } = test
    app.clock.now = new Date(Date.now() + 11 * 60_000)
    onTestFinished(() => void (app.clock.now = null))
    await name.fill('deploy')
    await page.getByRole('radio', { name: 'Administer' }).click()
    await page.getByRole('button', { name: 'Create token' }).click()
    const proof = page.getByRole('dialog', { name: 'Confirm your password' })
    await proof.getByRole('textbox', { name: 'Your password' }).fill('correct horse')
    await startSession(page, app.url, bob.email)
    await proof.getByRole('button', { name: 'Confirm' }).click()
    await notice.waitFor()
    await page.keyboard.press('Escape')
    await notice.waitFor({ state: 'hidden' }) // while the notice is open, Escape closes the notice
    await proof.getByText('Nothing was changed').waitFor()
    await page.keyboard.press('Escape')
    await proof.waitFor({ state: 'hidden' })
    expect(await name.inputValue()).toBe('deploy')
    const tokens = async (actor: Actor) => (await actor.get('/api/auth/keys')).body.keys.length as number
    expect([await tokens(alice), await tokens(bob)]).toEqual([1, 1])
  })

  it('shows the notice when the tab gets the focus, before any change', async () => {
    const test = await openAsAlice('/settings/profile')
    const { app, page, alice, bob, name, notice, account } = test
    const returnToTab = () => page.evaluate('dispatchEvent(new Event("focus"))')
    await name.fill('Alice Anders')
    await startSession(page, app.url, alice.email)
    await returnToTab()
    await settled(page)
    expect(await page.getByRole('alertdialog').count()).toBe(0)
    await startSession(page, app.url, bob.email)
    await returnToTab()
    await notice.waitFor()
    expect(await name.inputValue()).toBe('Alice Anders')
    await notice.getByRole('button', { name: 'Reload' }).click()
    await account('Bob').waitFor()
  })
})

describe('page of a user who signed in again in another tab', () => {
  it('accepts changes without a prompt', async () => {
    const test = await openAsAlice('/settings/profile')
    const { app, page, alice, name, save, account } = test
    await startSession(page, app.url, alice.email)
    await name.fill('Alice Anders')
    await save()
    await account('Alice Anders').waitFor()
    await settled(page)
    expect(await page.getByRole('alertdialog').count()).toBe(0)
  })

  it('signs out', async () => {
    const test = await openAsAlice('/packages')
    const { app, page, alice, account } = test
    await startSession(page, app.url, alice.email)
    await account('Alice').click()
    await page.getByRole('menuitem', { name: 'Sign out' }).click()
    await page.waitForURL('**/login')
    await page.reload()
    await page.getByRole('heading', { name: 'Sign in' }).waitFor()
    expect(await page.getByRole('button', { name: /^Account/ }).count()).toBe(0)
  })

  it('continues after signing in again in the dialog, even if another user signed in in the meantime', async () => {
    const test = await openAsAlice('/settings/profile')
    const { app, page, bob, name, save, account } = test
    await name.fill('Alice Anders')
    await settled(page)
    await page.context().clearCookies()
    await save()
    const dialog = page.getByRole('dialog', { name: 'Sign in again' })
    await dialog.getByRole('textbox', { name: 'Your password' }).fill('correct horse')
    await startSession(page, app.url, bob.email)
    await page.keyboard.press('Enter')
    await account('Alice Anders').waitFor()
    expect((await me(bob)).displayName).toBe('Bob')
  })
})

it('shows no data of the previous user after another user signs in', async () => {
  const test = await openAsAlice('/settings/tokens')
  const { page, bob, name, save, account } = test
  await page.getByText('svc_pat_').waitFor()
  await page.context().clearCookies()
  await page.getByRole('link', { name: 'Sessions' }).click()
  await page.getByLabel('E-mail address').fill(bob.email)
  await page.getByRole('textbox', { name: 'Password' }).fill('correct horse')
  await page.keyboard.press('Enter')
  await page.getByRole('heading', { name: 'Sessions' }).waitFor()
  await settled(page)
  await page.route('**/graphql', () => undefined) // without a response, the page can only show cached data
  await page.getByRole('link', { name: 'Tokens' }).click()
  await page.getByRole('heading', { name: 'Access tokens' }).waitFor()
  await page.getByText('Loading').waitFor()
  expect(await page.getByText('svc_pat_').count()).toBe(0)
  await page.unroute('**/graphql')
  await page.getByRole('link', { name: 'Profile' }).click()
  await name.fill('Bob Brown')
  await save()
  await account('Bob Brown').waitFor()
  expect((await me(bob)).displayName).toBe('Bob Brown')
})
