import { expect, it } from 'vitest'
import { openPage } from '../support/browser.ts'
import { consoleApp, publishTo, startSession } from '../support/console.ts'
import { expectSound } from '../support/looks.ts'

it('marks dependencies that do not name a registry, and copies the dependency with the URL of this server', async () => {
  await using app = await consoleApp()
  const alice = await app.member()
  const tool = { name: 'tool', version: '1.0.0', pubspec: 'dependencies:\n  icons: ^1.0.0\n' }
  await publishTo(app.url, alice.secret ?? '', { name: 'icons', version: '1.0.0' }, tool)
  const page = await openPage(app.url, { permissions: ['clipboard-read', 'clipboard-write'] })
  await startSession(page, app.url, alice.email)
  await page.goto('/packages/icons/dependents')
  await page.getByRole('row', { name: /tool .*\^1\.0\.0 No registry named/ }).waitFor()
  await page.getByText(/Some of them depend on icons without naming this server/).waitFor()
  await page.goto('/packages/icons')
  await page.getByRole('button', { name: 'Copy command' }).click()
  const copied = `dart pub add 'icons:{"hosted":"${app.url}","version":"^1.0.0"}'`
  await expect.poll(() => page.evaluate(() => navigator.clipboard.readText())).toBe(copied)
  await page.goto('/packages/tool/dependencies')
  await page.getByRole('row', { name: /icons .*No registry named/ }).waitFor()
  await page.getByText(/This version depends on icons without naming this server/).waitFor()
  await expectSound(page, 'bare-dependencies')
})
