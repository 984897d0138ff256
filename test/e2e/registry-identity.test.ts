import { expect, it } from 'vitest'
import { openPage, settled } from '../support/browser.ts'
import { consoleApp, publishTo, startSession } from '../support/console.ts'
import { expectSound } from '../support/looks.ts'
import { plain } from '../support/pictures.ts'

it('shows the name, description and logo that an administrator chose, in titles, the header and on the sign-in page', async () => {
  await using app = await consoleApp({ path: '/registry' })
  const admin = await app.admin()
  await publishTo(app.url, admin.secret ?? '', { name: 'kit', version: '1.0.0' })
  const page = await openPage(app.url)
  await startSession(page, app.url, admin.email)
  await page.goto(`${app.url}/admin/settings/registry`)
  await page.getByLabel('Name').fill('Acme Packages')
  await page.getByLabel('Description').fill('What Acme shares.')
  await page.getByRole('button', { name: 'Save' }).click()
  await page.getByRole('link', { name: 'Acme Packages, home' }).waitFor()
  await expect.poll(() => page.title()).toBe('Registry · Administration · Acme Packages')
  const buffer = await plain({ width: 300, height: 200 }).png().toBuffer()
  await page.locator('input[type=file]').setInputFiles({ name: 'logo.png', mimeType: 'image/png', buffer })
  await page.getByRole('button', { name: 'Upload' }).click()
  const logo = page.getByRole('banner').locator('img[src*="/registry/api/logo?v="]')
  await logo.waitFor()
  await expectSound(page, 'admin-registry')
  await page.getByRole('link', { name: 'Acme Packages, home' }).click()
  await page.getByRole('heading', { name: 'Acme Packages', level: 1 }).waitFor()
  await page.getByText('What Acme shares.').waitFor()
  await expect.poll(() => page.title()).toBe('Acme Packages')

  const visitor = await openPage(app.url)
  await visitor.goto(`${app.url}/login`)
  await visitor.getByRole('main').getByText('Acme Packages').waitFor()
  await visitor.getByRole('main').getByText('What Acme shares.').waitFor()
  await visitor.getByRole('main').locator('img[src*="/registry/api/logo?v="]').waitFor()
  expect(await visitor.title()).toBe('Sign in · Acme Packages')
  await expectSound(visitor, 'sign-in-identity')

  await page.goto(`${app.url}/admin/settings/registry`)
  await page.getByRole('button', { name: 'Remove' }).click()
  await logo.waitFor({ state: 'detached' })
  await page.getByLabel('Name').fill('')
  await page.getByRole('button', { name: 'Save' }).click()
  await page.getByRole('link', { name: 'Snug, home' }).waitFor()
  await settled(page)
  const summaries = (await admin.get('/registry/api/admin/audit-log?kind=server.settings_updated')).body.entries
  expect(summaries).toHaveLength(4)
})
