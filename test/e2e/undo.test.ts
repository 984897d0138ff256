import type { Page } from 'playwright-core'
import { expect, it } from 'vitest'
import { openPage } from '../support/browser.ts'
import { publishTo, sharedConsole, startSession } from '../support/console.ts'
import { expectSound } from '../support/looks.ts'

const consoleOf = sharedConsole()

/** Publishes a package as a new member and opens a page of it. */
async function openAsOwner(name: string, path = '') {
  const app = await consoleOf()
  const alice = await app.member()
  await publishTo(app.url, alice.secret ?? '', { name, version: '1.0.0' }, { name, version: '1.1.0' })
  const page = await openPage(app.url, { tolerate: [/status of 4/] })
  await startSession(page, app.url, alice.email)
  await page.goto(`/packages/${name}${path}`)
  return { app, alice, page }
}

const undo = (page: Page, text: string) => page.getByRole('listitem').filter({ hasText: text }).getByRole('button', { name: 'Undo' })

it('likes a package again', async () => {
  const { alice, page } = await openAsOwner('acme_liked')
  const likes = async () => (await alice.get('/api/packages/acme_liked/likes')).body.likes as number
  const heart = page.getByRole('button', { name: /^Like acme_liked/ })
  // The button shows the new state before the page has queried it again.
  const queried = Promise.withResolvers<void>()
  await heart.waitFor()
  await page.route('**/graphql', async (route) => {
    if (route.request().postData()?.includes('"operationName":"Package"')) await queried.promise
    await route.continue()
  })
  await heart.click()
  await page.getByRole('button', { name: /^Like acme_liked/, pressed: true }).waitFor()
  expect(await likes()).toBe(1)
  await heart.click()
  await expect.poll(likes).toBe(0)
  queried.resolve()
  await undo(page, 'You no longer like acme_liked.').press('Enter')
  await expect.poll(likes).toBe(1)
  await page.getByRole('button', { name: /^Like acme_liked/, pressed: true }).waitFor()
})

it('restores a version that was just retracted', async () => {
  const { alice, page } = await openAsOwner('acme_retracted', '/versions')
  const isRetracted = async () => (await alice.get('/api/packages/acme_retracted/versions/1.0.0/options')).body.isRetracted as boolean
  await page
    .getByRole('button', { name: /1\.0\.0/ })
    .last()
    .click()
  await page.getByRole('menuitem', { name: /^Retract/ }).click()
  await page.getByRole('alertdialog').getByRole('button', { name: 'Retract' }).click()
  await undo(page, 'Retracted acme_retracted 1.0.0.').focus() // keeps the message
  expect(await isRetracted()).toBe(true)
  await expectSound(page, 'undo')
  await undo(page, 'Retracted acme_retracted 1.0.0.').click()
  await expect.poll(isRetracted).toBe(false)
})

it('adds an uploader again, and reports it if that is no longer possible', async () => {
  const { app, alice, page } = await openAsOwner('acme_uploaders', '/admin')
  const bob = await app.member({ displayName: 'Bob' })
  const uploaders = async () => ((await alice.get('/api/packages/acme_uploaders/uploaders')).body.uploaders as unknown[]).length
  await page.getByLabel('Add an uploader').fill(bob.email)
  await page.getByRole('button', { name: 'Add', exact: true }).click()
  const remove = page.getByRole('button', { name: 'Remove Bob' })
  const text = 'Bob is no longer an uploader of acme_uploaders.'
  await remove.click()
  await page.getByRole('alertdialog').getByRole('button', { name: 'Remove' }).click()
  await undo(page, text).click()
  await remove.waitFor()
  await expect.poll(uploaders).toBe(2)
  await remove.click()
  await page.getByRole('alertdialog').getByRole('button', { name: 'Remove' }).click()
  await undo(page, text).last().focus() // keeps the message
  await (await app.admin()).put(`/api/admin/users/${bob.id}`, { isActive: false })
  await undo(page, text).last().click()
  await page
    .getByRole('listitem')
    .filter({ hasText: `Could not undo: ${text}` })
    .waitFor()
  expect(await uploaders()).toBe(1)
})

it('adds a member with their former role again', async () => {
  const app = await consoleOf()
  const admin = await app.admin()
  const bob = await app.member({ displayName: 'Bob Member' })
  const publisher = { id: 'harbor', displayName: 'Harbor', description: 'The sea.', contactEmail: 'sea@harbor.example' }
  await admin.post('/api/publishers', publisher)
  await admin.put(`/api/publishers/harbor/members/${bob.id}`, { role: 'admin' })
  const role = async () => {
    const { members } = (await admin.get('/api/publishers/harbor/members')).body as { members: { userId: string; role: string }[] }
    return members.find(({ userId }) => userId === bob.id)?.role
  }
  expect(await role()).toBe('admin')
  const page = await openPage(app.url)
  await startSession(page, app.url, admin.email)
  await page.goto('/publishers/harbor/members')
  await page.getByRole('button', { name: 'Remove Bob Member' }).click()
  await page.getByRole('alertdialog').getByRole('button', { name: 'Remove' }).click()
  await undo(page, 'Removed Bob Member.').waitFor()
  expect(await role()).toBeUndefined()
  await undo(page, 'Removed Bob Member.').click()
  await expect.poll(role).toBe('admin')
  await page.getByRole('button', { name: 'Remove Bob Member' }).waitFor()
})
