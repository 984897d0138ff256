import { expect, it } from 'vitest'
import { openPage } from '../support/browser.ts'
import { consoleApp, startSession } from '../support/console.ts'
import { packageArchive } from '../support/archive.ts'
import { expectSound } from '../support/looks.ts'
import { publishOwn } from '../support/mirror.ts'
import { publishArchive } from '../support/publish.ts'
import { Upstream } from '../support/upstream.ts'

it('asks administrators to approve a name of the mirrored server, and frees it with the package', async () => {
  const upstream = await Upstream.start()
  for (const name of ['http', 'path']) upstream.publish(name, '0.9.0')
  await using app = await consoleApp({ env: { UPSTREAM_URL: upstream.url } })
  const [alice, admin] = [await app.member(), await app.admin()]
  const archive = await packageArchive({ name: 'http', version: '1.0.0' })
  expect(await publishArchive(alice, archive)).toMatchObject({ status: 400 })
  await publishOwn(app, alice, { name: 'path', version: '1.0.0' })
  await admin.delete('/api/admin/packages/path')
  const page = await openPage(app.url)
  await startSession(page, app.url, admin.email)
  await page.goto('/admin/names')
  await page.getByText(`Needs approval: ${upstream.url} has a package of this name, which the mirror could then no longer serve.`).waitFor()
  await page.getByText('Also a package of the mirrored server, which is refused until you free the name').waitFor()
  await expectSound(page, 'admin-mirrored-names')
  await page.getByRole('button', { name: 'Free the name path' }).click()
  const question = page.getByRole('alertdialog', { name: 'Free the name path?' })
  await question.getByText('The mirror then serves the package of the mirrored server with this name again.').waitFor()
  await question.getByRole('button', { name: 'Free the name' }).click()
  await page.getByText('No reserved names').waitFor()
  await page.getByRole('button', { name: 'Approve http' }).click()
  await page.getByText('No confusable names').waitFor()
  expect(await publishArchive(alice, archive)).toMatchObject({ status: 200 })

  await page.goto('/admin/packages')
  await page.getByRole('button', { name: 'Delete http' }).click()
  const dialog = page.getByRole('alertdialog', { name: 'Delete http?' })
  await dialog.getByRole('checkbox', { name: 'Free the name at once' }).check()
  await expectSound(page, 'delete-and-free')
  await dialog.getByLabel('Name of the package').fill('http')
  await dialog.getByRole('button', { name: 'Delete' }).click()
  await dialog.waitFor({ state: 'hidden' })
  expect((await admin.get('/api/admin/reserved-names')).body.names).toEqual([])
  for (const name of ['http', 'path']) expect(await alice.get(`/mirror/api/packages/${name}`)).toMatchObject({ status: 200 })
})
