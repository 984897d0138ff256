import { it } from 'vitest'
import { openPage } from '../support/browser.ts'
import { consoleApp, startSession } from '../support/console.ts'
import { startDns } from '../support/dns-server.ts'
import { expectSound } from '../support/looks.ts'

it('shows the admins of a publisher why it is no longer verified, and checks again', async () => {
  await using dns = await startDns()
  await using app = await consoleApp({ env: { DNS_SERVERS: dns.address } })
  const alice = await app.member()
  const { host, value } = (await alice.post('/api/publishers/verify/start', { domain: 'acme.dev', displayName: 'Acme' })).body
  dns.zone[host] = [[value]]
  await alice.post('/api/publishers/verify/complete', { domain: 'acme.dev' })
  const page = await openPage(app.url)
  await startSession(page, app.url, alice.email)
  await page.goto('/publishers/acme.dev/settings')
  await page.getByText('The record is checked every week').waitFor()
  dns.zone[host] = []
  await page.getByRole('button', { name: 'Check now' }).click()
  await page.getByText(`There is no TXT record: ${host} must have the value ${value}.`).first().waitFor()
  await expectSound(page, 'publisher-not-verified')
  dns.zone[host] = [[value]]
  await page.getByRole('button', { name: 'Check now' }).click()
  await page.getByText('The record is checked every week').waitFor()
})
