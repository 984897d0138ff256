import type { Page } from 'playwright-core'
import { expect, it } from 'vitest'
import { openPage } from '../support/browser.ts'
import { consoleApp, startSession } from '../support/console.ts'

type Body = { query?: string; operationName: string; variables: object; extensions?: object }

const unknown = { persistedQuery: { version: 1, sha256Hash: '0'.repeat(64) } }

/** Simulates a server of another release: replaces the hash that the page sends with an unknown one, or removes it. Records the bodies. */
async function sendFromOtherRelease(page: Page, extensions: object | undefined): Promise<Body[]> {
  const sent: Body[] = []
  await page.route('**/graphql', (route) => {
    const request = route.request()
    if (request.method() !== 'POST') return route.continue()
    const body = request.postDataJSON() as Body
    sent.push(body)
    return body.query === undefined ? route.continue({ postData: { ...body, extensions } }) : route.continue()
  })
  return sent
}

it('sends the hashes of operations, never their text', async () => {
  await using app = await consoleApp()
  const page = await openPage(app.url)
  const sent: Body[] = []
  page.on('request', (request) => {
    if (request.url().endsWith('/graphql')) sent.push(request.postDataJSON() as Body)
  })
  await startSession(page, app.url, (await app.member()).email)
  await page.goto('/settings/tokens')
  await page.getByRole('row', { name: /test/ }).waitFor()
  expect(sent.map(({ operationName }) => operationName)).toContain('Tokens')
  const hash = expect.stringMatching(/^[0-9a-f]{64}$/)
  for (const body of sent)
    expect(body).toEqual({
      operationName: expect.any(String),
      variables: expect.any(Object),
      extensions: { persistedQuery: { version: 1, sha256Hash: hash } },
    })
})

it.each([
  ['does not know a hash', unknown],
  ['does not support hashes, like 0.3.0', undefined],
])('works with a server of another release that %s', async (_what, extensions) => {
  await using app = await consoleApp()
  const alice = await app.member()
  const page = await openPage(app.url, { tolerate: [/status of 40[04]/] })
  await startSession(page, app.url, alice.email)
  const sent = await sendFromOtherRelease(page, extensions)
  await page.goto('/settings/profile')
  await page.getByLabel('Name', { exact: true }).fill('Alice Anders')
  await page.getByRole('button', { name: 'Save' }).click()
  await expect.poll(async () => (await alice.get('/api/auth/me')).body.displayName).toBe('Alice Anders')
  const ways = sent.flatMap(({ operationName, query }) => (operationName === 'UpdateProfile' ? [query?.split('(')[0]] : []))
  expect(ways).toEqual([undefined, 'mutation UpdateProfile'])
})

it('suggests a reload when an upgraded server knows neither hash nor text, and keeps the form', async () => {
  await using app = await consoleApp()
  const page = await openPage(app.url, { tolerate: [/status of 40[034]/] })
  await startSession(page, app.url, (await app.member()).email)
  await page.route('**/assets/documents-*.json', (route) => route.fulfill({ status: 404, body: '' }))
  await page.goto('/settings/profile')
  await page.getByLabel('Name', { exact: true }).fill('Alice Anders')
  const sent = await sendFromOtherRelease(page, unknown)
  await page.getByRole('button', { name: 'Save' }).click()
  await page.getByRole('alert').getByText('The server was upgraded after you opened the page. Reload the page.').waitFor()
  expect(await page.getByLabel('Name', { exact: true }).inputValue()).toBe('Alice Anders')
  expect(sent.filter(({ operationName }) => operationName === 'UpdateProfile')).toHaveLength(4)
})

it('retries on another instance when sessions may not send query text', async () => {
  await using app = await consoleApp({ env: { GRAPHQL_FREE_QUERIES: 'tokens' } })
  const alice = await app.member()
  const page = await openPage(app.url, { tolerate: [/status of 40[034]/] })
  await startSession(page, app.url, alice.email)
  const asked = new Set<string>()
  // The first attempt of each operation reaches an instance of another release.
  await page.route('**/graphql', (route) => {
    const { operationName, variables } = route.request().postDataJSON() as Body
    if (asked.has(operationName)) return route.continue()
    asked.add(operationName)
    return route.continue({ postData: { operationName, variables, extensions: unknown } })
  })
  await page.goto('/settings/profile')
  await page.getByLabel('Name', { exact: true }).fill('Alice Anders')
  await page.getByRole('button', { name: 'Save' }).click()
  await page.getByRole('button', { name: 'Account: Alice Anders' }).waitFor()
  expect(asked).toContain('UpdateProfile')
})
