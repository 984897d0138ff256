import { expect, it } from 'vitest'
import { announceSetupCode } from '../../server/accounts/setup/service.ts'
import type { TestApp } from '../app.ts'
import { expectAccessible, openPage, screenshot } from '../support/browser.ts'
import { consoleApp } from '../support/console.ts'

const codeOf = (app: TestApp) =>
  app.lines
    .findLast((line) => line.startsWith('Setup code: '))
    ?.slice(12)
    .trim() ?? ''

// Expected errors: before the setup, the server refuses queries for the current user, and it refuses a wrong code.
const tolerate = [/status of 40[03]/]

it('sets up the server with the code from the log', async () => {
  await using app = await consoleApp({ setUp: false })
  await announceSetupCode(app.services)
  const page = await openPage(app.url, { tolerate })

  await page.goto('/packages/anything')
  await page.getByRole('heading', { level: 1, name: 'Set up Snug' }).waitFor()
  await expectAccessible(page)
  await page.getByLabel('Setup code').fill('AAAABBBBCCCC')
  await page.keyboard.press('Enter')
  await page.getByText('The code is wrong.').waitFor()
  await screenshot(page, 'setup-wrong-code')

  await page.getByLabel('Setup code').fill(codeOf(app).toLowerCase().replaceAll('-', ' '))
  await page.getByRole('button', { name: 'Continue' }).click()
  await page.getByRole('heading', { name: 'Your account' }).waitFor()
  await page.reload()
  await page.getByLabel('E-mail address').fill('ada@example.com')
  await page.getByLabel('Name', { exact: true }).fill('Ada Lovelace')
  await page.getByRole('textbox', { name: 'Password' }).fill('password')
  await page.getByRole('button', { name: 'Finish setup' }).click()
  await page.getByText('is one of the most common passwords').waitFor()
  await expectAccessible(page)

  await page.getByRole('textbox', { name: 'Password' }).fill('difference engine')
  await page.getByLabel('Name of the registry').fill('Analytical Packages')
  await page.getByRole('button', { name: 'Finish setup' }).click()
  await page.getByText('You are signed in as ada@example.com.').waitFor()
  await expectAccessible(page)
  await screenshot(page, 'setup-done')
  await page.goto('/setup')
  await page.getByRole('heading', { name: 'Publish the first package' }).waitFor()
  expect((await app.anonymous.graphql('{ server { name } }')).body.data.server.name).toBe('Analytical Packages')
})

it('explains why the setup cannot continue from another address', async () => {
  await using app = await consoleApp({ setUp: false, env: { TRUST_PROXY: 'true' } })
  await announceSetupCode(app.services)
  await app.anonymous.post('/api/setup/verify', { code: codeOf(app) })
  const page = await openPage(app.url, { tolerate })
  await page.goto('/setup')
  await page.getByLabel('Setup code').fill(codeOf(app))
  await page.getByRole('button', { name: 'Continue' }).click()
  await page.getByRole('alert').getByText('restart the server', { exact: false }).first().waitFor()
  expect(await page.getByRole('alert').textContent()).toContain('TRUST_PROXY')
  await expectAccessible(page)
})
