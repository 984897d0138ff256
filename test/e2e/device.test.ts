import { expect, it } from 'vitest'
import { openPage, screenshot } from '../support/browser.ts'
import { consoleApp, sharedConsole, startSession } from '../support/console.ts'
import { expectSound } from '../support/looks.ts'

const startShared = sharedConsole()
type App = Awaited<ReturnType<typeof startShared>>

interface Device {
  device_code: string
  user_code: string
  verification_uri: string
  verification_uri_complete: string
}

const start = async ({ anonymous }: App, scope = 'read,write') =>
  (await anonymous.post('/oauth/device_authorization', { client_id: 'cli', scope })).body as Device

const poll = ({ anonymous }: App, { device_code }: Device) =>
  anonymous.post('/oauth/token', { grant_type: 'urn:ietf:params:oauth:grant-type:device_code', client_id: 'cli', device_code })

it('signs in, takes the code as it is typed, and approves the device, without a mouse', async () => {
  const app = await startShared()
  const { email, id } = await app.member({ displayName: 'Mia Member' })
  const device = await start(app)
  const page = await openPage(app.url)
  expect(device.verification_uri).toBe(`${app.url}/device`)
  await page.goto('/device')
  await page.getByLabel('E-mail address').fill(email)
  await page.getByRole('textbox', { name: 'Password' }).fill('correct horse')
  await page.keyboard.press('Enter')
  await page.getByRole('heading', { name: 'Connect a device' }).waitFor()
  const code = page.getByRole('textbox', { name: 'Code' })
  await code.focus()
  await page.keyboard.type(`${device.user_code.toLowerCase().replace('-', '')}x9`)
  expect(await code.inputValue()).toBe(device.user_code)
  await expectSound(page, 'device-code')
  await code.press('Enter')

  await page.getByRole('heading', { name: 'Authorize this device?' }).waitFor()
  await expect.poll(() => page.evaluate('document.activeElement.tagName')).toBe('H1')
  for (const text of [device.user_code, 'Mia Member', 'Requested from', 'Also publish new versions and manage your packages.'])
    await page.getByText(text).first().waitFor()
  await expectSound(page, 'device')
  await page.getByRole('button', { name: 'Approve' }).press('Enter')
  await page.getByRole('heading', { name: 'Device approved' }).waitFor()
  await expectSound(page, 'device-approved')
  const { access_token: token } = (await poll(app, device)).body
  expect((await app.withToken(token).get('/api/auth/me')).body.userId).toBe(id)
})

it('denies the device that its link names', async () => {
  const app = await startShared()
  const device = await start(app)
  const page = await openPage(app.url)
  await startSession(page, app.url, (await app.member()).email)
  await page.goto(new URL(device.verification_uri_complete).pathname + new URL(device.verification_uri_complete).search)
  await page.getByText(device.user_code, { exact: true }).waitFor()
  await page.getByRole('button', { name: 'Deny' }).click()
  await page.getByRole('heading', { name: 'Device denied' }).waitFor()
  await screenshot(page, 'device-denied')
  expect((await poll(app, device)).body.error).toBe('access_denied')
})

it('explains codes that are unknown, answered or too many, and takes another one', async () => {
  await using app = await consoleApp()
  const device = await start(app)
  const page = await openPage(app.url, { tolerate: [/status of 4(04|29)/] })
  const member = await app.member()
  await startSession(page, app.url, member.email)
  await page.goto('/device?user_code=bbbbbbbb')
  const code = page.getByRole('textbox', { name: 'Code' })
  await page.getByText('No device is waiting with this code').waitFor()
  expect(await code.inputValue()).toBe('BBBB-BBBB')
  await expectSound(page, 'device-unknown')
  await code.fill(device.user_code)
  await code.press('Enter')
  await page.getByRole('heading', { name: 'Authorize this device?' }).waitFor()

  // The request is answered in another tab.
  await (await member.session()).post('/oauth/device/deny', { user_code: device.user_code })
  await page.getByRole('button', { name: 'Approve' }).click()
  await page.getByText('No device is waiting with this code').waitFor()
  expect(await page.getByRole('button', { name: 'Approve' }).count()).toBe(0)
  for (let attempt = 0; attempt < 30 && (await page.getByText('Too many attempts.').count()) === 0; attempt++) {
    await code.fill(`CCCC-${'BCDFGHJKLMNPQRSTVWXZ'.charAt(attempt % 20)}CC${'BCDFGHJKLMNPQRSTVWXZ'.charAt(attempt % 19)}`)
    await Promise.all([page.waitForResponse(/graphql/), code.press('Enter')])
    await page.getByRole('button', { name: 'Continue' }).and(page.locator(':enabled')).waitFor()
  }
  await page.getByText('Too many attempts.').waitFor()
  await expectSound(page, 'device-limited')
})
