import { expect, it } from 'vitest'
import { openPage } from '../support/browser.ts'
import { consoleApp, startSession } from '../support/console.ts'
import { expectSound } from '../support/looks.ts'
import { Upstream } from '../support/upstream.ts'

it.each([
  ['Autolinker', 'AutoLink'],
  ['_Mixed', '_mi'],
  ['_fe_shared', '_FE_shared'],
])('finds the upstream package %s from the text %s', async (name, text) => {
  const upstream = await Upstream.start()
  for (const other of [name, 'colors']) upstream.publish(other, '1.0.0')
  await using app = await consoleApp({ env: { UPSTREAM_URL: upstream.url } })
  const page = await openPage(app.url, { tolerate: [/status of 404/] })
  await startSession(page, app.url, (await app.member()).email)
  await page.goto('/mirror')
  await page.getByRole('searchbox', { name: /Search packages of/ }).fill(text)
  await page.getByRole('link', { name }).click()
  await page.getByRole('heading', { name, exact: true }).waitFor()
  expect(new URL(page.url()).pathname).toBe(`/mirror/packages/${name}`)

  await page.getByRole('combobox', { name: 'Search packages' }).fill(text)
  await page.getByRole('option', { name }).waitFor()
  await expectSound(page, 'upstream-names')
  await page.goto(`/packages/${name}`)
  await page.getByRole('link', { name, exact: true }).waitFor()
})
