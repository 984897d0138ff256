import type { Page } from 'playwright-core'
import { expect, it } from 'vitest'
import { openPage, settled } from '../support/browser.ts'
import { consoleApp, publishTo, startSession } from '../support/console.ts'
import { makePublic, setSwitch } from '../support/public-packages.ts'

/** Maximum number of bytes that a page may transfer with an empty browser cache, including headers: with Brotli, and with gzip. */
const maxBytes = {
  'gzip, deflate, br, zstd': { '/login': 145_000, '/': 142_000, '/packages/acme': 150_000, '/packages': 190_000 },
  'gzip, deflate': { '/login': 168_000, '/': 165_000, '/packages/acme': 178_000, '/packages': 218_000 },
}
const signedOut = ['/login', '/', '/packages/acme', '/packages'] as const
const signedIn = ['/', '/packages/acme', '/packages'] as const

/** The texts of all operations. A page loads them after ten seconds, which on a busy machine is before the measurement ends. */
const loadedLater = { address: /\/assets\/documents-[^/]+\.json$/, seconds: 10 }

/** Counts the bytes that the page transfers while `work` runs and until all requests have ended. `largest` lists them by URL. */
async function measureTransfer(page: Page, work: () => Promise<unknown>): Promise<{ total: number; largest: [string, number][] }> {
  const session = await page.context().newCDPSession(page)
  const addresses = new Map<string, string>()
  const sizes = new Map<string, number>()
  const underWay = new Set<string>()
  const late = new Set<string>()
  let began = Number.POSITIVE_INFINITY
  session.on('Network.requestWillBeSent', ({ requestId, request, timestamp }) => {
    began = Math.min(began, timestamp)
    if (loadedLater.address.test(request.url) && timestamp - began >= loadedLater.seconds) late.add(requestId)
    addresses.set(requestId, request.url)
    underWay.add(requestId)
  })
  // Event streams stay open.
  session.on(
    'Network.responseReceived',
    ({ requestId, response }) => response.mimeType === 'text/event-stream' && underWay.delete(requestId),
  )
  session.on('Network.loadingFinished', ({ requestId, encodedDataLength }) => {
    sizes.set(requestId, encodedDataLength)
    underWay.delete(requestId)
  })
  session.on('Network.loadingFailed', ({ requestId }) => void underWay.delete(requestId))
  await session.send('Network.enable')
  await session.send('Network.clearBrowserCache')
  await work()
  await settled(page)
  await expect.poll(() => [...underWay].map((id) => addresses.get(id))).toEqual([])
  const largest = [...sizes]
    .filter(([id]) => !late.has(id))
    .map(([id, size]): [string, number] => [addresses.get(id) ?? id, size])
    .toSorted((a, b) => b[1] - a[1])
  return { total: largest.reduce((sum, [, size]) => sum + size, 0), largest }
}

type Visit = { app: { url: string }; encodings: keyof typeof maxBytes; path: (typeof signedOut)[number]; email?: string | undefined }

/** Measures the first load of a page. */
async function firstLoad({ app, encodings, path, email }: Visit) {
  const page = await openPage(app.url, { extraHTTPHeaders: { 'accept-encoding': encodings } })
  if (email) await startSession(page, app.url, email)
  const { total, largest } = await measureTransfer(page, async () => {
    await page.goto(path)
    await page.getByRole('heading', { level: 1 }).first().waitFor()
    await page.getByRole('button', { name: 'Theme' }).waitFor()
    if (email) await page.getByRole('button', { name: /^Account/ }).waitFor()
  })
  await page.close()
  return { total, limit: maxBytes[encodings][path], files: `${path}: ${JSON.stringify(largest.slice(0, 8))}` }
}

// Browsers do not accept Brotli over plain HTTP.
it.each(['gzip, deflate, br, zstd', 'gzip, deflate'] as const)(
  'keeps the first load small, signed out and signed in: %s',
  async (encodings) => {
    await using app = await consoleApp({ env: { PUBLIC_PACKAGES_ENABLED: 'true' } })
    await setSwitch(app, true)
    const { email, secret = '' } = await app.member()
    await publishTo(app.url, secret, ...['acme', 'acme_http', 'acme_ui'].map((name) => ({ name, version: '1.0.0' })))
    await makePublic(app, 'acme', 'acme_http', 'acme_ui')
    for (const { path, as } of [...signedOut.map((path) => ({ path, as: undefined })), ...signedIn.map((path) => ({ path, as: email }))]) {
      const { total, limit, files } = await firstLoad({ app, encodings, path, email: as })
      expect(total, files).toBeLessThan(limit)
    }
  },
)

it('loads no more for administrators, while no work is running on the server', async () => {
  await using app = await consoleApp({ env: { SCORING_ENABLED: 'false' } })
  const { email, secret = '' } = await app.owner()
  await publishTo(app.url, secret, { name: 'acme', version: '1.0.0' })
  for (const path of ['/', '/packages/acme'] as const) {
    const { total, limit, files } = await firstLoad({ app, encodings: 'gzip, deflate', path, email })
    expect(total, files).toBeLessThan(limit)
  }
})

/** Maximum number of requests before a page shows its content, with an empty browser cache: the page itself and the files that it names. */
const maxRequests = 10

it.each([
  ['/', 'acme_http'],
  ['/packages', 'acme_http'],
  ['/packages/acme', 'Made for a test.'],
  ['/packages/acme/versions', '1.x'],
  ['/admin', 'Packages'],
])('shows the content of %s after few requests, and its data without any', async (path, content) => {
  await using app = await consoleApp()
  const admin = await app.admin()
  await publishTo(app.url, admin.secret ?? '', ...['acme', 'acme_http'].map((name) => ({ name, version: '1.0.0' })))
  const page = await openPage(app.url)
  await startSession(page, app.url, admin.email)
  // Without answers, only what the server has embedded in the page can be shown.
  await page.route('**/graphql', () => undefined)
  const response = await page.goto(path)
  await page.getByRole('main').getByText(content).first().waitFor()
  const files = Array.from((await response?.text())?.matchAll(/"\.\/(assets\/[^"]+)"/g) ?? [], ([, file]) => file)
  expect(1 + files.length, files.join(' ')).toBeLessThanOrEqual(maxRequests)
})
