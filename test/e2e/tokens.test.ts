import type { Page } from 'playwright-core'
import { expect, it } from 'vitest'
import { openPage } from '../support/browser.ts'
import { choose, consoleApp, publishTo, sharedConsole, startSession, takeSecret } from '../support/console.ts'
import { expectSound } from '../support/looks.ts'

const startShared = sharedConsole()

/** Opens the dialog for a new token of a new account. */
async function openDialog(role: 'member' | 'viewer' | 'admin' = 'member') {
  const app = await startShared()
  const actor = await app[role]()
  const page = await openPage(app.url, { tolerate: [/status of 40[03]/] })
  await startSession(page, app.url, actor.email)
  await page.goto('/settings/tokens?new=1')
  const dialog = page.getByRole('dialog', { name: 'New access token' })
  await dialog.getByLabel('Name', { exact: true }).waitFor()
  return { app, actor, page, dialog }
}

const purposesIn = (page: Page) => page.getByRole('group', { name: 'What is the token for?' }).getByRole('radio').count()
const boxes = (page: Page) =>
  page.getByRole('checkbox').evaluateAll((all) => all.filter((box) => box.getAttribute('aria-checked') === 'true').length)

it('asks for the purpose of a token, and presets the narrowest one', async () => {
  const { page, dialog, actor } = await openDialog()
  await expect.poll(() => page.evaluate('document.activeElement.role')).toBe('radio')
  expect(await purposesIn(page)).toBe(4)
  expect(await boxes(page)).toBe(2)
  const name = dialog.getByLabel('Name', { exact: true })
  expect(await name.inputValue()).toBe('My machine')
  await page.keyboard.press('ArrowDown', { delay: 100 })
  await expect.poll(() => name.inputValue()).toBe('Publish from CI')
  await dialog.getByRole('checkbox', { name: 'Read' }).focus()
  for (const label of ['Publish', 'Retract']) {
    await page.keyboard.press('Tab')
    expect(await dialog.getByRole('checkbox', { name: label }).evaluate((box) => box.matches(':focus'))).toBe(true)
  }
  await dialog.getByRole('radio', { name: 'Get packages in CI' }).click()
  await expect.poll(() => boxes(page)).toBe(1)
  await dialog.getByText('need no token').waitFor()
  expect(await dialog.getByRole('link', { name: 'trusted publishing' }).getAttribute('href')).toBe('/help/trusted-publishing')
  await expectSound(page, 'new-token-read')
  await dialog.getByRole('radio', { name: 'Manage packages by script' }).click()
  await dialog.getByRole('textbox', { name: 'Packages' }).waitFor({ state: 'hidden' })
  await dialog.getByRole('combobox', { name: 'Lifetime' }).getByText('30 days, until').waitFor()

  await dialog.getByRole('radio', { name: 'Publish from CI' }).click()
  await dialog.getByLabel('Name', { exact: true }).fill('release')
  await dialog.getByRole('checkbox', { name: 'Retract' }).click()
  await dialog.getByRole('textbox', { name: 'Packages' }).fill('acme_ui, acme_core acme_* other_* more')
  await dialog.getByRole('textbox', { name: 'Addresses' }).fill('10.0.0.0/8, 2001:db8::/32')
  await expectSound(page, 'new-token-publish')
  await dialog.getByRole('button', { name: 'Create token' }).click()
  await takeSecret(page, 'Save your token now')
  const row = page.getByRole('row', { name: /release/ })
  for (const text of ['Read, publish and retract', 'acme_ui', 'acme_*', 'and 2 more', '10.0.0.0/8', '2001:db8::/32'])
    await row.getByText(text, { exact: true }).waitFor()
  await expectSound(page, 'tokens-limited')
  const { keys } = (await actor.get('/api/auth/keys')).body as { keys: Record<string, unknown>[] }
  expect(keys.find(({ name }) => name === 'release')).toMatchObject({
    scopes: ['read', 'write'],
    actions: ['read', 'publish', 'retract'],
    packages: ['acme_ui', 'acme_core', 'acme_*', 'other_*', 'more'],
    addresses: ['10.0.0.0/8', '2001:db8::/32'],
  })
})

it('creates a token that publishes only the packages that it names', async () => {
  const { app, page, dialog } = await openDialog()
  await dialog.getByRole('radio', { name: 'Publish from CI' }).click()
  await dialog.getByLabel('Name', { exact: true }).fill('release')
  await dialog.getByRole('textbox', { name: 'Packages' }).fill('narrow_*')
  await dialog.getByRole('textbox', { name: 'Packages' }).press('Enter')
  const secret = await takeSecret(page, 'Save your token now')
  await publishTo(app.url, secret, { name: 'narrow_one', version: '1.0.0' })
  await expect(publishTo(app.url, secret, { name: 'wide', version: '1.0.0' })).rejects.toThrow(/does not cover the package wide/)
})

it('shows what the server rejects next to the field', async () => {
  const { page, dialog } = await openDialog()
  await dialog.getByLabel('Name', { exact: true }).fill('release')
  for (const [label, text, message] of [
    ['Packages', 'acme ui!', '"ui!" is not the name of a package'],
    ['Addresses', '10.0.0.0/99', '"10.0.0.0/99" is not an IP address'],
  ] as const) {
    await dialog.getByRole('textbox', { name: label }).fill(text)
    await dialog.getByRole('button', { name: 'Create token' }).click()
    await dialog.getByText(message).waitFor()
    await expect.poll(() => page.evaluate('document.activeElement.name')).toBe(label.toLowerCase())
    await dialog.getByRole('textbox', { name: label }).fill('')
  }
  await dialog.getByRole('checkbox', { name: 'Read' }).click()
  await dialog.getByRole('checkbox', { name: 'Publish' }).click()
  expect(await dialog.getByRole('button', { name: 'Create token' }).isDisabled()).toBe(true)
})

it('offers only the purposes that the role can serve', async () => {
  const viewer = await openDialog('viewer')
  expect(await purposesIn(viewer.page)).toBe(2)
  expect(await viewer.page.getByRole('checkbox').count()).toBe(0)
  await viewer.dialog.getByLabel('Name', { exact: true }).fill('reader')
  await viewer.dialog.getByRole('button', { name: 'Create token' }).click()
  await takeSecret(viewer.page, 'Save your token now')
  await viewer.page.getByRole('row', { name: /reader.*Read/ }).waitFor()
  const admin = await openDialog('admin')
  expect(await purposesIn(admin.page)).toBe(5)
})

it('shows how long tokens may live on this server', async () => {
  await using app = await consoleApp({ env: { TOKEN_MAX_DAYS: '60' } })
  const { email } = await app.member()
  const page = await openPage(app.url)
  await startSession(page, app.url, email)
  await page.goto('/settings/tokens?new=1')
  await page.getByText('This server allows at most 60 days.').waitFor()
  await page.getByRole('combobox', { name: 'Lifetime' }).click()
  await page.getByRole('option', { name: /^60 days/ }).waitFor()
  expect(await page.getByRole('option', { name: 'Never expires' }).count()).toBe(0)
})

it('rotates a token: the former secret works until the overlap ends', async () => {
  const app = await startShared()
  const member = await app.member()
  const page = await openPage(app.url)
  await startSession(page, app.url, member.email)
  await page.goto('/settings/tokens')
  const works = async (secret: string) => (await app.withToken(secret).get('/api/auth/me')).status === 200
  const rotate = async (overlap: string) => {
    await page.getByRole('button', { name: 'Rotate test' }).click()
    const dialog = page.getByRole('dialog', { name: 'Rotate “test”?' })
    await expect.poll(() => page.evaluate('document.activeElement.role')).toBe('combobox')
    await choose(page, 'The current secret keeps working', overlap)
    await expectSound(page, 'rotate-token')
    await dialog.getByRole('button', { name: 'Rotate token' }).click()
    await page.getByRole('dialog', { name: 'Save your token now' }).waitFor()
  }
  await rotate('For 3 days')
  await page.getByText('The former secret works until').waitFor()
  await expectSound(page, 'rotated-token')
  const second = await takeSecret(page, 'Save your token now')
  await page.getByText(/Former secret: in 3 days/).waitFor()
  expect([await works(member.secret ?? ''), await works(second)]).toEqual([true, true])

  await rotate('Not at all')
  const third = await takeSecret(page, 'Save your token now')
  await page.getByText(/Former secret/).waitFor({ state: 'hidden' })
  expect([await works(member.secret ?? ''), await works(second), await works(third)]).toEqual([false, false, true])
})
