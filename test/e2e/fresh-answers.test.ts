import { expect, it } from 'vitest'
import { openPage } from '../support/browser.ts'
import { consoleApp, publishTo, startSession } from '../support/console.ts'

it('shows the result of a change even when a query was in flight during the change', async () => {
  await using app = await consoleApp()
  const alice = await app.member()
  await publishTo(app.url, alice.secret ?? '', { name: 'acme', version: '1.0.0' }, { name: 'acme', version: '1.1.0' })
  const page = await openPage(app.url)
  await startSession(page, app.url, alice.email)
  await page.goto('/packages/acme/versions')
  await page.getByRole('row', { name: /^1\.1\.0/ }).waitFor()
  await page.getByRole('link', { name: '1.0.0', exact: true }).click()
  await page.getByRole('heading', { name: 'acme 1.0.0' }).waitFor()

  const [read, retracted] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  let asked = 0
  await page.route('**/graphql', async (route) => {
    const { operationName, variables } = route.request().postDataJSON() as { operationName: string; variables: { exact?: boolean } }
    // The package of an exact version may be loaded in advance, because the pointer rests on its link.
    if (operationName !== 'Package' || variables.exact) return route.continue()
    asked++
    const response = await route.fetch()
    read.resolve()
    await retracted.promise
    await route.fulfill({ response }).catch(() => undefined)
    return undefined
  })
  await page.goBack()
  await page.getByRole('heading', { name: 'acme 1.1.0' }).waitFor() // cached data, while the query runs again
  await read.promise
  const row = page.getByRole('row', { name: /^1\.1\.0/ })
  await row.getByRole('button', { name: 'Actions for 1.1.0' }).click()
  await page.getByRole('menuitem', { name: /^Retract/ }).click()
  await page.getByRole('alertdialog').getByRole('button', { name: 'Retract' }).click()
  await row.getByText(/^Retracted /).waitFor()
  retracted.resolve()
  await page.getByRole('heading', { name: 'acme 1.0.0' }).waitFor()
  expect(asked).toBe(2)
})
