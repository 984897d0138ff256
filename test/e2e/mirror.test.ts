import { expect, it } from 'vitest'
import { saveDecisions } from '../../server/registry/mirror/decisions.ts'
import { mirrorPolicies } from '../../server/registry/mirror/policies/settings.ts'
import { readSetting } from '../../server/platform/settings/service.ts'
import { openPage, settled } from '../support/browser.ts'
import { consoleApp, publishTo, startSession } from '../support/console.ts'
import { lockText } from '../support/lock-text.ts'
import { expectSound } from '../support/looks.ts'
import { changePolicies } from '../support/mirror.ts'
import { Upstream } from '../support/upstream.ts'

const hour = 3_600_000
const manifest = (name: string) =>
  `name: ${name}\nversion: 1.0.0\ndescription: Uses colors.\nenvironment:\n  sdk: ^3.0.0\ndependencies:\n  colors: ^1.0.0\n`

/** Starts an upstream server with an old and a new version of `colors`, which a package of this server uses. */
async function mirroredApp() {
  const upstream = await Upstream.start()
  const files = { 'README.md': '# All the colors' }
  upstream.publish('colors', '1.0.0', { files })
  upstream.publish('colors', '1.1.0', { published: new Date(Date.now() - hour), files })
  for (const name of ['color_tools', 'paint']) upstream.publish(name, '2.0.0')
  const app = await consoleApp({ env: { UPSTREAM_URL: upstream.url } })
  const member = await app.member()
  await publishTo(app.url, member.secret ?? '', { name: 'painter', version: '1.0.0', manifest: manifest('painter') })
  return { upstream, app, member, host: new URL(upstream.url).host }
}

it('applies a policy that an administrator sets, shows what it refused, and removes a package from the mirror', async () => {
  const { upstream, app, member } = await mirroredApp()
  await using _stops = app
  const admin = await app.admin()
  expect((await member.get('/mirror/api/archives/colors-1.0.0.tar.gz')).status).toBe(200)
  const page = await openPage(app.url)
  await startSession(page, app.url, admin.email)
  await page.goto('/admin')
  await page.getByRole('navigation', { name: 'Administration' }).getByRole('link', { name: 'Mirror' }).click()
  await page.getByText('1 package, 1 archive').waitFor()
  await page.getByText('Reachable').waitFor()
  await page.getByRole('row', { name: /colors 1 / }).waitFor()
  await expectSound(page, 'mirror')

  await page.getByRole('navigation', { name: 'Mirror: sections' }).getByRole('link', { name: 'Policies' }).click()
  const age = page.getByRole('region', { name: 'Minimum age' })
  await age.getByText('It has refused nothing in the last 30 days.').waitFor()
  await age.getByText('Enforce', { exact: true }).click()
  await age.getByLabel('Days since publication').fill('3')
  await age.getByText('Are hidden', { exact: true }).click()
  await page.getByRole('button', { name: 'Save' }).click()
  await page.getByText('Saved the policies. They apply from the next request on.').waitFor()
  const stored = await readSetting(app.services.database.reads, mirrorPolicies)
  expect(stored.minimumAge).toMatchObject({ mode: 'enforce', days: 3, hide: true })

  const refused = await member.get('/mirror/api/archives/colors-1.1.0.tar.gz')
  expect(refused.status).toBe(403)
  await saveDecisions(app.services)
  await page.reload()
  await age.getByText('it refused 1 request for 1 package by 1 person').waitFor()
  await expectSound(page, 'mirror-policies')
  await age.getByRole('link', { name: 'Show the decisions' }).click()
  const decision = page.getByRole('row', { name: /colors 1\.1\.0/ })
  await decision.getByText(refused.body.error.message).waitFor()
  await decision.getByText('Refused').waitFor()
  await expectSound(page, 'mirror-decisions')

  await decision.getByRole('link', { name: 'colors 1.1.0' }).click()
  await page.getByRole('note').getByText(refused.body.error.message).waitFor()
  await page.getByRole('row', { name: /1\.1\.0 .*Refused/ }).waitFor()
  await page.getByRole('row', { name: /1\.0\.0 Latest In the mirror .*Allowed/ }).waitFor()
  await expectSound(page, 'upstream-versions')

  await page.goto('/mirror')
  await page.getByRole('button', { name: 'Actions for colors' }).press('Enter')
  await page.getByRole('menuitem', { name: 'Compare now' }).click()
  await page.getByText('Compared colors with the upstream server.').waitFor()
  await page.getByRole('button', { name: 'Actions for colors' }).press('Enter')
  await page.getByRole('menuitem', { name: 'Remove…' }).click()
  await page.getByRole('alertdialog').getByRole('button', { name: 'Remove' }).click()
  await page.getByText('Nothing is in the mirror yet').waitFor()
  expect(upstream.count('/api/archives/colors-1.1.0.tar.gz')).toBe(0)
})

it('allows what a policy refuses from the decision, the versions and the page of the package', async () => {
  const { upstream, app, member } = await mirroredApp()
  await using _stops = app
  const admin = await app.admin()
  for (const version of ['9.2.0', '9.2.1']) upstream.publish('bloc', version, { files: { 'README.md': '# Predictable state' } })
  upstream.package('bloc').tags = ['license:mit']
  await changePolicies(app, { licenses: { mode: 'enforce', allow: ['bsd-3-clause'] } })
  const status = async (version: string) => (await member.get(`/mirror/api/archives/bloc-${version}.tar.gz`)).status
  expect([await status('9.2.0'), await status('9.2.1')]).toEqual([403, 403])
  await saveDecisions(app.services)
  const page = await openPage(app.url)
  await startSession(page, app.url, admin.email)
  await page.goto('/mirror/packages/bloc')
  const note = page.getByRole('note')
  await note.getByText('bloc 9.2.1 uses the MIT license, which this server does not allow.').waitFor()
  await page.getByRole('heading', { name: 'Predictable state' }).waitFor()
  await page.getByText('README of 9.2.1, which others cannot get.').waitFor()
  await note.getByRole('button', { name: 'Allow bloc 9.2.1…' }).waitFor()
  await expectSound(page, 'upstream-refused')

  await page.goto('/mirror/decisions?q=bloc')
  const row = page.getByRole('row', { name: /bloc 9\.2\.0/ })
  await row.getByRole('button', { name: 'Allow bloc 9.2.0…' }).press('Enter')
  const dialog = page.getByRole('dialog', { name: 'Allow bloc 9.2.0?' })
  await dialog.getByLabel('Reason').fill('Approved by Legal')
  await expectSound(page, 'mirror-allow')
  await dialog.getByLabel('Reason').press('Enter')
  await row.getByText(/^Allowed until/).waitFor()
  expect([await status('9.2.0'), await status('9.2.1')]).toEqual([200, 403])

  await page.goto('/mirror/packages/bloc?show=versions')
  const version = page.getByRole('row', { name: /^9\.2\.1/ })
  await version.getByRole('button', { name: 'Allow bloc 9.2.1…' }).click()
  const second = page.getByRole('dialog', { name: 'Allow bloc 9.2.1?' })
  await second.getByText('All versions of bloc').click()
  await second.getByLabel('Reason').fill('We use it everywhere')
  await second.getByRole('button', { name: 'Allow', exact: true }).click()
  await version.getByText('Allowed', { exact: true }).waitFor()
  expect(await status('9.2.1')).toBe(200)

  await page.goto('/mirror/policies')
  const list = page.getByRole('region', { name: 'Exemptions' })
  await list.getByText('We use it everywhere').waitFor()
  await expectSound(page, 'mirror-exemptions')
  await list.getByRole('button', { name: 'Remove the exemption of bloc', exact: true }).click()
  await page.getByRole('alertdialog').getByRole('button', { name: 'Remove' }).click()
  await page.getByText('Removed the exemption of bloc.').waitFor() // until then, the dialog hides the list behind it
  await list.getByText('We use it everywhere').waitFor({ state: 'detached' })
  expect([await status('9.2.0'), await status('9.2.1')]).toEqual([200, 403])
})

it('refuses to overwrite policies that someone else has changed, and undoes a change', async () => {
  const { app } = await mirroredApp()
  await using _stops = app
  const admin = await app.admin()
  const page = await openPage(app.url, { tolerate: [/status of 409/] })
  await startSession(page, app.url, admin.email)
  await page.goto('/mirror/policies')
  const packages = page.getByRole('region', { name: 'Packages', exact: true })
  await packages.getByText('Audit', { exact: true }).click()
  await packages.getByRole('button', { name: 'Deny a package' }).press('Enter')
  await page.keyboard.type('evil_*')
  await page.keyboard.press('Tab')
  await page.keyboard.press('Tab')
  await page.keyboard.type('>=1.0.0 <2.0.0 ')
  await page.keyboard.press('Enter')
  await page.getByText('Saved the policies.').waitFor()
  const current = async () => (await readSetting(app.services.database.reads, mirrorPolicies)).packages
  const deny = [{ name: 'evil_*', publisher: null, versions: '>=1.0.0 <2.0.0' }]
  expect(await current()).toEqual({ mode: 'audit', allow: [], deny })
  await page.getByRole('button', { name: 'Undo' }).click()
  await page.getByText('Restored the former policies.').waitFor()
  expect(await current()).toEqual({ mode: 'off', allow: [], deny: [] })

  await packages.getByText('Enforce', { exact: true }).click()
  const other = await admin.put('/api/admin/mirror/policies', { licenses: { mode: 'audit', allow: [], deny: ['agpl-3.0'] } })
  expect(other.status).toBe(200)
  await page.getByRole('button', { name: 'Save' }).click()
  await page.getByText('The policies were changed in the meantime.').waitFor()
  expect((await current()).mode).toBe('off')
  await page.getByRole('button', { name: 'Discard and reload' }).click()
  const licenses = page.getByRole('region', { name: 'Licenses' })
  await expect.poll(() => licenses.getByRole('radio', { name: 'Audit' }).isChecked()).toBe(true)
  expect(await packages.getByRole('radio', { name: 'Off' }).isChecked()).toBe(true)
})

it('finds upstream packages by keyboard and shows their page, also while the upstream server is away', async () => {
  const { upstream, app, member, host } = await mirroredApp()
  await using _stops = app
  const page = await openPage(app.url, { tolerate: [/status of 404 .*colorless/] })
  await startSession(page, app.url, member.email)
  await page.goto('/mirror')
  await page.getByRole('region', { name: 'variable' }).getByText(`PUB_HOSTED_URL=${app.url}/mirror`).waitFor()
  await page.getByText(`dart pub token add ${app.url}/mirror`).waitFor()
  expect(await page.getByRole('link', { name: 'Policies' }).count()).toBe(0)
  await page.getByRole('combobox', { name: 'Search packages' }).fill('colors')
  await page.getByText(`${host} (mirrored)`).waitFor()
  await page.keyboard.press('ArrowDown')
  await page.keyboard.press('Enter')
  await page.getByRole('heading', { name: 'colors', level: 1 }).waitFor()
  await page.getByRole('heading', { name: 'All the colors' }).waitFor()
  await expectSound(page, 'upstream-package')
  await page.getByRole('button', { name: 'Used by' }).click()
  await page.getByRole('row', { name: /painter 1\.0\.0 \^1\.0\.0/ }).waitFor()
  await page.getByRole('button', { name: 'Versions' }).click()
  await page.getByRole('row', { name: /1\.1\.0 Latest .*Allowed/ }).waitFor()

  await page.goto('/packages/painter/dependencies')
  await page
    .getByRole('row', { name: /colors/ })
    .getByRole('link', { name: 'colors' })
    .click()
  await page.getByRole('heading', { name: 'colors', level: 1 }).waitFor()
  await page.goto('/packages?q=color')
  const group = page.getByRole('region', { name: `${host} (mirrored)` })
  await group.getByRole('link', { name: /color_tools/ }).waitFor()
  expect(await group.getByRole('link').count()).toBe(2)
  await settled(page)
  await expectSound(page, 'upstream-results')

  await upstream.stop()
  app.clock.now = new Date(Date.now() + hour)
  await page.goto('/mirror/packages/colors')
  await page.getByText(`${host} does not answer. This is what the mirror knew`).waitFor()
  await page.goto('/mirror/packages/painter')
  await page.getByText(`The mirror has no package painter of ${host}.`).waitFor()
})

it('explains to administrators how to turn the mirror on, and hides the pages from others', async () => {
  await using app = await consoleApp()
  const [admin, member] = [await app.admin(), await app.member()]
  const page = await openPage(app.url)
  await startSession(page, app.url, admin.email)
  await page.goto('/mirror')
  await page.getByText('Set UPSTREAM_URL and restart the server.').waitFor()
  await page.getByText('UPSTREAM_URL=https://pub.dev').waitFor()
  await expectSound(page, 'mirror-off')
  await page.goto('/admin')
  await page.getByRole('link', { name: /^Mirror pub\.dev Optional Set UPSTREAM_URL/ }).waitFor()
  await page.getByRole('navigation', { name: 'Administration' }).getByRole('link', { name: 'Mirror' }).click()
  await page.getByText('The mirror is off').waitFor()
  await startSession(page, app.url, member.email)
  for (const path of ['/mirror', '/mirror/policies', '/mirror/packages/colors']) {
    await page.goto(path)
    await page.getByRole('heading', { name: 'Not found' }).waitFor()
  }
})

it('shows which packages of a pubspec.lock the policies hold back', async () => {
  const { upstream, app, member, host } = await mirroredApp()
  await using _stops = app
  await changePolicies(app, {
    minimumAge: { mode: 'enforce', days: 7 },
    packages: { mode: 'enforce', deny: [{ name: 'paint', publisher: null, versions: null }] },
  })
  const versions = { colors: '1.0.0', paint: '2.0.0', color_tools: '2.0.0' }
  const page = await openPage(app.url)
  await startSession(page, app.url, member.email)
  await page.goto('/packages/painter/compare?view=upgrade')
  const lock = await lockText(
    upstream,
    Object.entries(versions).map(([name, version]) => ({ name, version, url: `${app.url}/mirror/` })),
  )
  await page.getByLabel('Content of pubspec.lock').fill(lock)
  await page.getByRole('button', { name: 'Check' }).click()
  const held = page.getByRole('region', { name: `Packages of ${host}` })
  await held.getByText('The policies of the mirror hold back 1 of 3 packages.').waitFor()
  await held.getByText('paint 2.0.0 is denied on this server by the entry "paint".').waitFor()
  await held.getByText('Later version').waitFor()
  await held.getByText(/^colors 1\.1\.0 is younger than 7 days/).waitFor()
  await expectSound(page, 'mirror-lock-check')
  await held.getByRole('link', { name: 'paint' }).click()
  await page.waitForURL('**/mirror/packages/paint')
})
