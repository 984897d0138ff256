import type { Page, Request } from 'playwright-core'
import { describe, expect, it } from 'vitest'
import { expectAccessible, openPage, screenshot, settled } from '../support/browser.ts'
import { consoleApp, sharedConsole, signIn, startSession, takeSecret } from '../support/console.ts'

const startShared = sharedConsole()

describe('sign-in', () => {
  it('returns to the page that required it', async () => {
    const app = await startShared()
    const { email } = await app.member()
    const page = await openPage(app.url, { tolerate: [/status of 401/] })
    await page.goto('/packages?q=http&sort=name')
    await page.getByText('Sign in to see this page.').waitFor()
    await expectAccessible(page)
    await page.getByLabel('E-mail address').fill(email)
    await page.getByRole('textbox', { name: 'Password' }).fill('wrong horse')
    await page.keyboard.press('Enter')
    await page.getByRole('alert').waitFor()
    await expectAccessible(page)
    await screenshot(page, 'login-refused')
    await page.getByRole('textbox', { name: 'Password' }).fill('correct horse')
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: 'Packages' }).waitFor()
    expect(new URL(page.url()).search).toBe('?q=http&sort=name')
  })

  it.each([
    '//evil.example/',
    '/\\evil.example',
    'https://evil.example',
    '/login?redirect=/login',
    '/nowhere',
    '//evil.example/documentation/',
    '///evil.example/documentation/',
    '/https://evil.example/documentation/',
    '/\t/evil.example/documentation/',
    '/documentation/../../api/v1/version',
    '/documentation/%2e%2e/oauth/approve',
    '/documentation\\..\\api/docs',
  ])('never redirects to %s', async (redirect) => {
    const app = await startShared()
    const { email } = await app.member()
    const page = await openPage(app.url)
    await page.goto(`/login?redirect=${encodeURIComponent(redirect)}`)
    await page.getByLabel('E-mail address').fill(email)
    await page.getByRole('textbox', { name: 'Password' }).fill('correct horse')
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: 'Publish the first package' }).waitFor()
    expect(page.url()).toBe(`${app.url}/`)
  })

  it('shows how long to wait after too many attempts', async () => {
    await using app = await consoleApp()
    const page = await openPage(app.url, { tolerate: [/status of (401|429)/] })
    await page.goto('/login')
    for (let attempt = 0; attempt < 11; attempt++) {
      await page.getByLabel('E-mail address').fill('unknown@example.com')
      await page.getByRole('textbox', { name: 'Password' }).fill('wrong horse')
      await Promise.all([page.waitForResponse(/graphql/), page.keyboard.press('Enter')])
      // The button is enabled again once the form has been cleared.
      await page.getByRole('button', { name: 'Sign in', exact: true }).and(page.locator(':enabled')).waitFor()
    }
    await page.getByText(/Try again in \d+:\d\d min/).waitFor()
    expect(await page.getByRole('alert').textContent()).toContain('RateLimitExceeded')
  })
})

describe('internationalized e-mail addresses', () => {
  const typeAndSubmit = async (page: Page, email: string) => {
    await page.goto('/login')
    await page.getByLabel('E-mail address').pressSequentially(email)
    await page.getByRole('textbox', { name: 'Password' }).fill('correct horse')
    await page.keyboard.press('Enter')
    await page.getByRole('button', { name: /^Account/ }).waitFor()
  }

  it.each([
    ['x@müller.de', ['x@müller.de', 'X@MÜLLER.de', 'x@xn--mller-kva.de']],
    ['x@xn--mller-kva.de', ['x@xn--mller-kva.de', 'x@müller.de']],
    ['rené@日本.jp', ['rené@日本.jp', 'rené@xn--wgv71a.jp']],
    ['admin@localhost', ['Admin@LOCALHOST']],
    ['x%y@acme.dev', ['x%y@acme.dev']],
  ])('invites %s and signs in with all spellings', async (email, spellings) => {
    await using app = await consoleApp()
    const admin = await app.admin()
    const page = await openPage(app.url)
    await startSession(page, app.url, admin.email)
    await page.goto('/admin/users')
    await page.getByRole('button', { name: 'Invite', exact: true }).click()
    const dialog = page.getByRole('dialog', { name: 'Invite a person' })
    await dialog.getByLabel('Name').fill('Xaver')
    await dialog.getByLabel('E-mail address').pressSequentially(email)
    await dialog.getByRole('button', { name: 'Create link' }).click()
    const invitation = await takeSecret(page, 'Hand over the invitation')
    await page.getByRole('row', { name: new RegExp(`Xaver.*${email}`) }).waitFor()
    await settled(page) // requests still in flight when the session ends would be refused
    await page.context().clearCookies()
    await page.goto(invitation)
    expect(await page.getByLabel('E-mail address').inputValue()).toBe(email)
    await page.getByRole('textbox', { name: 'Password' }).fill('correct horse')
    await page.keyboard.press('Enter')
    await page.getByRole('button', { name: /^Account|^Sign in$/ }).waitFor()
    for (const spelling of spellings) {
      await settled(page)
      await page.context().clearCookies()
      await typeAndSubmit(page, spelling)
    }
    await page.goto('/settings/profile')
    expect(await page.getByLabel('E-mail address').inputValue()).toBe(email)
  })

  it('signs up with the address as it is typed', async () => {
    await using app = await consoleApp({ env: { SIGNUP_ENABLED: 'true' } })
    const page = await openPage(app.url)
    await page.goto('/signup')
    await page.getByLabel('E-mail address').pressSequentially('Jürgen@Müller.de')
    await page.getByLabel('Name', { exact: true }).fill('Jürgen')
    await page.getByRole('textbox', { name: 'Password' }).fill('correct horse')
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: 'You can sign in now' }).waitFor()
    await typeAndSubmit(page, 'jürgen@müller.de')
    await page.goto('/settings/profile')
    expect(await page.getByLabel('E-mail address').inputValue()).toBe('Jürgen@Müller.de')
  })
})

describe('session', () => {
  it('ends with “Sign out” in the account menu', async () => {
    const app = await startShared()
    const { email } = await app.member()
    const page = await openPage(app.url)
    await signIn(page, app.url, email)
    await settled(page)
    // A query that is in flight when the session ends would be refused.
    const isLogout = (request: Request) => request.postData()?.includes('"Logout"') === true
    const signedOut = page.waitForResponse((response) => isLogout(response.request()))
    const held = page.waitForRequest(/graphql/)
    await page.route(/graphql/, async (route) => {
      if (!isLogout(route.request())) await signedOut
      await route.continue().catch(() => {}) // the page has ended the query
    })
    await page.getByRole('link', { name: 'Packages', exact: true }).first().click()
    await held
    await page.getByRole('button', { name: /^Account/ }).click()
    await page.getByRole('menuitem', { name: 'Sign out' }).click()
    await page.waitForURL('**/login')
    await page.goto('/')
    await page.getByRole('heading', { name: 'Sign in' }).waitFor()
    expect(await page.getByRole('button', { name: /^Account/ }).count()).toBe(0)
  })

  it('leads to the sign-in page after the server ended the session, and remembers the requested page', async () => {
    const app = await startShared()
    const { email } = await app.member()
    const page = await openPage(app.url, { tolerate: [/status of 401/] })
    await signIn(page, app.url, email)
    // Pending requests of the first page would redirect to the sign-in page before the click.
    await page.getByText('publish_to').waitFor()
    await settled(page)
    await page.context().clearCookies()
    await page.getByRole('link', { name: 'Packages' }).click()
    await page.getByText('Sign in to see this page.').waitFor()
    expect(new URL(page.url()).searchParams.get('redirect')).toBe('/packages')
  })

  it.each([
    ['/settings/profile', 'Security'],
    ['/settings/profile', 'Sessions'],
    ['/settings/profile', 'Tokens'],
    ['/me/activity', 'Packages'],
    ['/me/activity', 'Publishers'],
    ['/me/packages', 'Activity'],
  ])('leads to the sign-in page when the session has ended, on navigation from %s to %s', async (path, tab) => {
    const app = await startShared()
    const { email } = await app.member()
    const page = await openPage(app.url, { tolerate: [/status of 401/] })
    await startSession(page, app.url, email)
    await page.goto(path)
    await settled(page)
    await page.context().clearCookies()
    await page.getByRole('main').getByRole('link', { name: tab }).click()
    await page.getByText('Sign in to see this page.').waitFor()
    expect(new URL(page.url()).searchParams.get('redirect')).toMatch(new RegExp(`/${tab.toLowerCase()}$`))
  })

  it('keeps the content of a form when the session ends before the form is sent', async () => {
    const app = await startShared()
    const member = await app.member()
    const page = await openPage(app.url, { tolerate: [/status of 401/, /status of 400/] })
    await startSession(page, app.url, member.email)
    await page.goto('/settings/tokens?new=1')
    await page.getByLabel('Name', { exact: true }).fill('build server')
    await settled(page)
    await page.context().clearCookies()
    await page.getByRole('button', { name: 'Create token' }).click()
    const dialog = page.getByRole('dialog', { name: 'Sign in again' })
    await dialog.waitFor()
    await page.keyboard.press('Escape')
    await page.getByRole('alert').getByText('Nothing was changed: you are no longer signed in.').waitFor()
    expect(await page.getByLabel('Name', { exact: true }).inputValue()).toBe('build server')
    await page.getByRole('button', { name: 'Create token' }).press('Enter')
    const password = dialog.getByRole('textbox', { name: 'Your password' })
    await password.fill('a wrong one')
    await page.keyboard.press('Enter')
    await dialog.getByRole('alert').waitFor()
    await password.fill('correct horse')
    await page.keyboard.press('Enter')
    await page.getByText(/^svc_pat_\w{38}$/).waitFor()
    await dialog.waitFor({ state: 'hidden' })
    const { keys } = (await member.get('/api/auth/keys')).body as { keys: { name: string }[] }
    expect(keys.filter(({ name }) => name === 'build server')).toHaveLength(1)
  })
})

it('works below a base path', async () => {
  await using app = await consoleApp({ path: '/registry' })
  const { email } = await app.member()
  const page = await openPage(new URL(app.url).origin)
  await page.goto('/registry/packages')
  await page.getByRole('heading', { name: 'Sign in' }).waitFor()
  await signIn(page, app.url, email)
  await page.getByText('publish_to').waitFor()
  expect(page.url()).toBe(`${app.url}/`)
  for (const address of [app.url, `${app.url}?from=mail`]) {
    await page.goto(address)
    await page.getByText('publish_to').waitFor()
  }
  await page.goto('/registry/settings/tokens')
  await page.getByRole('heading', { name: 'Access tokens' }).waitFor()
})
