import { createHash, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, it, onTestFinished } from 'vitest'
import { openPage } from '../support/browser.ts'
import { consoleApp, startSession } from '../support/console.ts'
import { expectSound } from '../support/looks.ts'

/** Starts the callback server of a command-line program, which records the redirects of the browser. */
async function startCommandLine() {
  const answers: URLSearchParams[] = []
  const server = createServer((request, response) => {
    answers.push(new URL(request.url ?? '', 'http://localhost').searchParams)
    response.setHeader('content-type', 'text/html').end('<!doctype html><link rel="icon" href="data:,"><title>Done</title>')
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => void server.close())
  const { port } = server.address() as AddressInfo
  const verifier = randomBytes(32).toString('base64url')
  const redirectUri = `http://127.0.0.1:${port}/callback`
  const query = new URLSearchParams({
    response_type: 'code',
    client_id: 'cli',
    redirect_uri: redirectUri,
    code_challenge: createHash('sha256').update(verifier).digest('base64url'),
    code_challenge_method: 'S256',
    state: 'a state',
    scope: 'read,write',
  })
  return { host: `127.0.0.1:${port}`, verifier, redirectUri, answers, path: `/oauth/authorize?${query}` }
}

it('signs in, approves, and returns a code that can be exchanged for a token', async () => {
  await using app = await consoleApp()
  const { email, id } = await app.member({ displayName: 'Mia Member' })
  const program = await startCommandLine()
  const page = await openPage(app.url, { tolerate: [RegExp(`another origin: http://${program.host}/`), /status of 404/] })
  await page.goto(program.path)
  await page.getByLabel('E-mail address').fill(email)
  await page.getByRole('textbox', { name: 'Password' }).fill('correct horse')
  await page.keyboard.press('Enter')
  await page.getByRole('heading', { name: 'Authorize the command line?' }).waitFor()
  const address = page.url()
  for (const text of [program.host, email, 'Also publish new versions', '(90 days)']) await page.getByText(text).first().waitFor()
  await expectSound(page, 'consent')
  await page.getByRole('button', { name: 'Approve' }).click()
  await page.waitForURL(`http://${program.host}/**`)

  const [answer] = program.answers
  expect(answer?.get('state')).toBe('a state')
  const exchanged = await app.anonymous.post('/oauth/token', {
    grant_type: 'authorization_code',
    code: answer?.get('code'),
    redirect_uri: program.redirectUri,
    code_verifier: program.verifier,
  })
  expect(exchanged.body.email).toBe(email)
  expect((await app.withToken(exchanged.body.access_token).get('/api/auth/me')).body.userId).toBe(id)

  await page.goto(address)
  await page.getByRole('heading', { name: 'This request is no longer valid' }).waitFor()
  await expectSound(page, 'consent-used')
})

it('denies a request', async () => {
  await using app = await consoleApp()
  const { email } = await app.viewer()
  const program = await startCommandLine()
  const page = await openPage(app.url, { tolerate: [RegExp(`another origin: http://${program.host}/`)] })
  await startSession(page, app.url, email)
  await page.goto(program.path)
  await page.getByText('Browse, search and download packages.').waitFor()
  expect(await page.getByText('Also publish').count()).toBe(0) // viewers cannot grant permissions that they lack
  await page.getByRole('button', { name: 'Deny' }).click()
  await page.waitForURL(`http://${program.host}/**`)
  expect(program.answers[0]?.get('error')).toBe('access_denied')
})

it('shows an error when the request does not exist', async () => {
  await using app = await consoleApp()
  const { email } = await app.member()
  const page = await openPage(app.url, { tolerate: [/status of 40[04]/] })
  await startSession(page, app.url, email)
  for (const query of ['?request_id=01234567-89ab-7def-8123-456789abcdef', '']) {
    await page.goto(`/oauth/consent${query}`)
    await page.getByRole('heading', { name: 'This request is no longer valid' }).waitFor()
    expect(await page.getByRole('button', { name: 'Approve' }).count()).toBe(0)
  }
})
