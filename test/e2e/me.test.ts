import { expect, it } from 'vitest'
import { openPage } from '../support/browser.ts'
import { consoleApp, publishTo, startSession } from '../support/console.ts'
import { expectSound } from '../support/looks.ts'
import { makeOwned } from '../support/ownership.ts'

it('shows users their packages, publishers and activity', async () => {
  await using app = await consoleApp()
  const alice = await app.member({ displayName: 'Alice Author' })
  await publishTo(app.url, alice.secret ?? '', { name: 'acme', version: '1.0.0' }, { name: 'tools', version: '2.0.0' })
  const { member } = await makeOwned(app, 'acme')
  const page = await openPage(app.url)
  await startSession(page, app.url, alice.email)
  await page.goto('/')
  await page.getByRole('button', { name: /^Account/ }).click()
  await page.getByRole('menuitem', { name: 'My packages' }).click()
  await page.getByRole('heading', { name: 'My packages' }).waitFor()
  await page.getByText('2 packages').waitFor()
  await page.getByRole('link', { name: 'tools' }).waitFor()
  await expectSound(page, 'my-packages')
  await page.getByRole('navigation', { name: 'Yours' }).getByRole('link', { name: 'Publishers' }).click()
  await page.getByText('You are not a member of any publisher').waitFor()
  await expectSound(page, 'my-publishers-none')
  await page.getByRole('navigation', { name: 'Yours' }).getByRole('link', { name: 'Activity' }).click()
  await page.getByRole('row', { name: /Alice Author published acme 1\.0\.0/ }).waitFor()
  await expectSound(page, 'my-activity')

  const admin = await app.admin()
  const other = await openPage(app.url)
  await startSession(other, app.url, admin.email)
  await other.goto(`/admin/users/${member.id}`)
  await other.getByRole('heading', { name: 'Publishers' }).waitFor()
  await other.getByRole('link', { name: 'acme-corp' }).waitFor()
  await other.getByRole('link', { name: 'acme', exact: true }).waitFor()
  expect(await other.getByText('Cannot publish to any package.').count()).toBe(0)
})

it('shows instructions to users without packages', async () => {
  await using app = await consoleApp()
  const [alice, bob, vera] = [await app.member(), await app.member(), await app.viewer()]
  await publishTo(app.url, alice.secret ?? '', { name: 'acme', version: '1.0.0' })
  const page = await openPage(app.url)
  await startSession(page, app.url, bob.email)
  await page.goto('/me')
  await page.getByRole('heading', { name: 'My packages' }).waitFor()
  await page.getByRole('heading', { name: 'You have no packages yet' }).waitFor()
  await page
    .getByText(/dart pub publish/)
    .first()
    .waitFor()
  expect(new URL(page.url()).pathname).toBe('/me/packages')

  await startSession(page, app.url, vera.email)
  await page.reload()
  await page.getByText('Your role does not allow you to publish packages. Ask an administrator').waitFor()
  await page.goto('/')
  await page.getByRole('heading', { name: 'Use this registry' }).waitFor()
  expect(await page.getByText(/publish_to|dart pub publish/).count()).toBe(0)
})

it('lists liked packages, and new versions of watched packages', async () => {
  await using app = await consoleApp()
  const [alice, bob] = [await app.member(), await app.member({ displayName: 'Bob Builder' })]
  await publishTo(app.url, bob.secret ?? '', { name: 'acme', version: '1.0.0' })
  const page = await openPage(app.url)
  await startSession(page, app.url, alice.email)
  await page.goto('/me/liked')
  await page.getByText('No liked packages yet').waitFor()
  await page.goto('/me/watching')
  await page.getByText('You watch no packages yet').waitFor()
  await page.goto('/packages/acme')
  await page.getByRole('button', { name: /^Like/ }).click()
  await page.getByRole('button', { name: 'Watch acme' }).click()
  await page.getByRole('button', { name: 'Watching acme', pressed: true }).waitFor()
  await publishTo(app.url, bob.secret ?? '', { name: 'acme', version: '1.1.0' }, { name: 'zeta', version: '1.0.0' })
  await alice.graphql('mutation { watchPackage(input: { package: "zeta" }) { package { id } } }')
  await page.goto('/me/liked')
  await page.getByRole('link', { name: 'acme' }).waitFor()
  await expectSound(page, 'my-likes')
  await page.getByRole('navigation', { name: 'Yours' }).getByRole('link', { name: 'Watching' }).click()
  await page.getByRole('link', { name: 'acme 1.1.0' }).waitFor()
  expect(await page.getByRole('link', { name: 'Feed: Versions of packages that you watch' }).getAttribute('href')).toBe(
    `${app.url}/me/feed.atom`,
  )
  await expectSound(page, 'my-watches')
  await page.getByRole('button', { name: 'Watching acme' }).press('Enter')
  await page.getByRole('button', { name: 'Watching acme' }).waitFor({ state: 'detached' })
  const heading = page.getByRole('heading', { name: 'Watched packages' })
  await expect.poll(() => heading.evaluate((element) => element.matches(':focus'))).toBe(true)
  await page.getByRole('button', { name: 'Watching zeta' }).press('Enter')
  await page.getByText('You watch no packages yet').waitFor()
})
