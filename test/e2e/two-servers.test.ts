import { expect, it } from 'vitest'
import { openPage } from '../support/browser.ts'
import { consoleApp, signIn } from '../support/console.ts'

it.each([
  ['ports', '', ''],
  ['ports and paths', '/one', '/two'],
])('keeps the sessions of two servers on one host with different %s apart', async (_what, onePath, twoPath) => {
  await using one = await consoleApp({ path: onePath })
  await using two = await consoleApp({ path: twoPath })
  const [ann, bob] = [await one.member({ displayName: 'Ann' }), await two.member({ displayName: 'Bob' })]
  const page = await openPage(one.url, { tolerate: [/^request to another origin/] })
  await signIn(page, one.url, ann.email)
  await signIn(page, two.url, bob.email)
  const names = (await page.context().cookies()).map(({ name }) => name.replace(/_[\da-f]{8}$/, '')).toSorted()
  expect(names).toEqual(['csrf', 'csrf', 'device', 'device', 'passkey', 'passkey', 'session', 'session'].map((name) => `svc_${name}`))
  for (const [{ url }, name] of [
    [one, 'Ann'],
    [two, 'Bob'],
    [one, 'Anna'],
  ] as const) {
    await page.goto(`${url}/settings/profile`)
    await page.getByLabel('Name', { exact: true }).fill(`${name} Miller`)
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByRole('button', { name: `Account: ${name} Miller` }).waitFor()
  }
  // Signing out of one server leaves the other session.
  await page.goto(`${one.url}/`)
  await page.getByRole('button', { name: /^Account/ }).click()
  await page.getByRole('menuitem', { name: 'Sign out' }).click()
  await page
    .getByRole('button', { name: 'Sign in', exact: true })
    .or(page.getByRole('link', { name: 'Sign in' }))
    .first()
    .waitFor()
  await page.goto(`${two.url}/settings/profile`)
  expect(await page.getByLabel('Name', { exact: true }).inputValue()).toBe('Bob Miller')
})
