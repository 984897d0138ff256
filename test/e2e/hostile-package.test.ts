import { once } from 'node:events'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { type AddressInfo, createServer } from 'node:net'
import type { Page } from 'playwright-core'
import { expect, it, onTestFinished } from 'vitest'
import { openPage, settled } from '../support/browser.ts'
import { consoleApp, overflow, publishTo, startSession } from '../support/console.ts'
import { apiOf, declared } from '../support/api.ts'
import { longestTurnMs } from '../support/cpu-time.ts'
import { documentVersion } from '../support/docs.ts'
import { bombPng, hostileDocument, hostilePackage, misleading } from '../support/hostile-package.ts'
import { allowImagesFrom, startImages, testDns } from '../support/image-server.ts'
import { plain } from '../support/pictures.ts'
import { makePublic, setSwitch } from '../support/public-packages.ts'
import { publishArchive } from '../support/publish.ts'
import { packageArchive } from '../support/archive.ts'
import { testApp, type TestApp } from '../app.ts'

/** Listens at an address of this machine and counts connections, of which there must be none. */
async function startTracker(host: string, port = 0) {
  const tracker = { host, port, connections: 0 }
  const server = createServer((socket) => {
    tracker.connections += 1
    socket.destroy()
  }).listen(port, host)
  await once(server, 'listening')
  onTestFinished(() => void server.close())
  tracker.port = (server.address() as AddressInfo).port
  return tracker
}

/** Starts a site with images, of which some redirect, never end or never come. */
async function startSite(tracker: number) {
  const [bomb, badge] = await Promise.all([bombPng(), plain({ width: 90, height: 20 }).png().toBuffer()])
  const targets = [`http://127.0.0.1:${tracker}/`, `http://[::1]:${tracker}/`, 'http://169.254.169.254/latest/meta-data/']
  const answers: Record<string, (response: ServerResponse) => unknown> = {
    '/badge.svg': (response) => response.end(badge),
    '/flip.png': (response) => response.end(badge),
    '/bomb.png': (response) => response.end(bomb),
    '/slow.png': () => {},
    '/endless.png': (response) => sendForever(response, badge),
    ...Object.fromEntries(
      targets.map((location, index) => [`/redirect${index}`, (response: ServerResponse) => response.writeHead(302, { location }).end()]),
    ),
  }
  const answer = ({ url = '' }: IncomingMessage, response: ServerResponse) =>
    (answers[url] ?? (() => response.writeHead(404).end()))(response)
  return { ...(await startImages(answer)), redirects: targets.map((_target, index) => `redirect${index}`) }
}

function sendForever(response: ServerResponse, start: Buffer): void {
  response.write(start)
  const more = () => {
    if (!response.destroyed) response.write(Buffer.alloc(256 * 1024), more)
  }
  more()
}

/** Starts a server with two versions of the hostile package. The second one has a README of 5 MB. */
async function startHostile() {
  const tracker = await startTracker('127.0.0.1')
  const sixth = await startTracker('::1', tracker.port)
  const site = await startSite(tracker.port)
  const other = await startTracker('127.0.0.2', site.port)
  const dns = await testDns()
  let asked = 0
  dns.addresses['site.example'] = () => ['127.0.0.1']
  dns.addresses['flip.example'] = () => [asked++ % 2 === 0 ? '127.0.0.1' : '127.0.0.2']
  const app = await consoleApp({ env: { DNS_SERVERS: dns.address, PUBLIC_PACKAGES_ENABLED: 'true' } })
  allowImagesFrom(app, (address, port) => address === '127.0.0.1' && port === site.port, 3000)
  const { email, secret = '' } = await app.member()
  const remote = `http://site.example:${site.port}`
  const addresses = { serverUrl: app.url, tracker: `http://127.0.0.1:${tracker.port}`, remote, redirects: site.redirects }
  const document = hostileDocument(addresses)
  const large = `${document}\n\n${`<b onclick="x">${'y '.repeat(500)}</b>\n\n`.repeat(5000)}`
  await publishTo(app.url, secret, await hostilePackage('1.0.0', document, addresses), await hostilePackage('2.0.0', large, addresses))
  // Preview images show only public packages.
  await setSwitch(app, true)
  await makePublic(app, 'hostile')
  return { app, email, document, trackers: [tracker, sixth, other], site }
}

/** Opens pages and records what hostile content must not cause. */
async function watchedPage(app: TestApp & { url: string }, email: string) {
  const page = await openPage(app.url, { tolerate: [/status of 404/] })
  const events: string[] = []
  page.on('dialog', (dialog) => {
    events.push(`dialog: ${dialog.message()}`)
    void dialog.dismiss()
  })
  page.context().on('page', (opened) => events.push(`window: ${opened.url()}`))
  page.on('download', (download) => events.push(`download: ${download.url()}`))
  page.on('request', (request) => {
    if (/\/(versions\/new|archives\/)/.test(request.url())) events.push(`request: ${request.url()}`)
    if (request.frame() !== page.mainFrame()) events.push(`frame: ${request.url()}`)
  })
  await startSession(page, app.url, email)
  return { page, events }
}

/** Elements at points of the header, each of which must belong to it. */
const headerHits = `[0.02, 0.3, 0.5, 0.7, 0.98].map((part) => {
  const { height } = document.querySelector('body header').getBoundingClientRect()
  return document.elementFromPoint(innerWidth * part, height / 2)?.closest('header') !== null
})`

/** Fails if a script ran, the page navigated, overflows, or covers the header. */
async function expectHarmless(page: Page, path: string): Promise<void> {
  await page.goto(path)
  await page.locator('main').waitFor()
  await settled(page)
  const at = `on ${path}`
  expect(await page.evaluate('window.pwned'), at).toBeUndefined()
  expect(await page.evaluate('location.pathname'), at).toBe(new URL(path, page.url()).pathname)
  expect(await page.evaluate('document.baseURI'), at).toBe(new URL('/', page.url()).href)
  expect(await overflow(page), `overflow ${at}`).toBeLessThanOrEqual(0)
  expect(await page.evaluate(headerHits), `header ${at}`).toEqual(Array(5).fill(true))
  expect(await page.locator(forbidden).count(), `elements ${at}`).toBe(0)
}

/** Elements that no text of a package may create. The console has forms and styles of its own elsewhere. */
const forbidden = [
  'main :is(iframe, object, embed, video, audio, base, meta, link, script, style, math, noscript, template)',
  '.document :is(form, button:not(.copy-code), [style]:not(th, td), [onerror], [onload], [onclick], [name], [srcdoc], [ping])',
  '.document [id]:not([id^="doc-"])',
].join(', ')

/** The named hosts, the protocols of links that are neither `http` nor `https`, and the number of links to evil.example. */
const linksOf = `({
  hosts: [...document.querySelectorAll('.document .link-host')].map(({ textContent }) => textContent),
  strange: [...document.querySelectorAll('.document a[href]')].map((link) => link.protocol).filter((name) => !/^https?:$/.test(name)),
  evil: [...document.querySelectorAll('.document a')].filter(({ host }) => host === 'evil.example').length,
})`

it('shows a hostile package without harm', async () => {
  const { app, email, trackers, site } = await startHostile()
  await using _app = app
  const { page, events } = await watchedPage(app, email)
  const version = '/packages/hostile/versions/1.0.0'
  const file = (path: string) => `${version}/files/${path.split('/').map(encodeURIComponent).join('/')}`
  const named = "doc/&lt;img src=x onerror=pwned&gt; 'onload='x.md"
  await expectHarmless(page, version)
  const { hosts, strange, evil } = await page.evaluate<{ hosts: string[]; strange: string[]; evil: number }>(linksOf)
  expect(hosts.filter((host) => host === '(evil.example)').length).toBe(misleading.length)
  expect(hosts.filter((host) => host === '(xn--80ak6aa92e.com)').length).toBe(2)
  expect([strange, evil]).toEqual([[], misleading.length])
  // The second version has a README of 5 MB, which must not hold up the requests of others.
  const opening = expectHarmless(page, '/packages/hostile')
  expect(await longestTurnMs(opening)).toBeLessThan(2000)
  await opening
  for (const path of [
    ...['changelog', 'example', 'license', 'install'].map((tab) => `${version}/${tab}`),
    ...['doc/hostile.svg', 'doc/cost.svg', 'doc/page.html', 'doc/bomb.png', 'doc/trojan.dart', 'lib/hostile.dart', named].map(file),
    `${file('README.md')}?view=source`,
    '/packages/hostile/versions',
    ...['', '&view=changelog', '&view=files'].map((view) => `/packages/hostile/compare?from=1.0.0&to=2.0.0${view}`),
    '/packages?q=hostile',
  ])
    await expectHarmless(page, path)
  await page.goto(file('doc/trojan.dart'))
  await expect.poll(() => page.locator('.direction-mark').count()).toBe(4)

  // The sandbox of these pages has no scripts, not even those of a test. A script or a load of a payload would fail the test at its end.
  for (const path of ['hostile.svg', 'page.html', 'shot.png']) {
    await page.goto(`/raw/hostile/1.0.0/doc/${path}`)
    expect(new URL(page.url()).pathname).toBe(`/raw/hostile/1.0.0/doc/${path}`)
  }
  await expectFeedAndPreview(page)
  expect(events).toEqual([])
  expect(trackers.filter(({ connections }) => connections > 0)).toEqual([])
  expect(new Set(site.requests.map(({ url }) => url))).toContain('/endless.png')
  // The badge and the first answer of the name whose address changes have the same content.
  const kept = await app.services.database.reads.all<{ media_type: string; count: number }>(
    'select media_type, count(distinct sha256) as count from cached_images where sha256 is not null group by media_type',
  )
  expect(kept.map((row) => [row.media_type, row.count])).toEqual([['image/png', 1]])
})

/** The feed is well-formed and holds text only; the preview image has the size that the page declares. */
async function expectFeedAndPreview(page: Page): Promise<void> {
  await page.goto('/packages?q=hostile')
  const names = await page.evaluate<string[]>(`fetch('/packages/hostile/feed.atom').then((answer) => answer.text()).then((text) =>
    [...new Set([...new DOMParser().parseFromString(text, 'application/xml').querySelectorAll('*')].map(({ localName }) => localName))].sort())`)
  expect(names).toEqual(['author', 'entry', 'feed', 'generator', 'id', 'link', 'name', 'published', 'summary', 'title', 'updated'])
  const size = `fetch('/packages/hostile/preview.png').then((answer) => answer.blob()).then(createImageBitmap).then(({ width, height }) => [width, height])`
  expect(await page.evaluate(size)).toEqual([1200, 630])
}

it('shows hostile doc comments without harm', async () => {
  const { app, email, trackers, document } = await startHostile()
  await using _app = app
  await documentVersion(
    app,
    'hostile',
    '1.0.0',
    apiOf([declared('class', 'Hostile', { doc: `${document}\n\n\`\`\`\nif (a /*\u202e } */) b();\n\`\`\`\n` })]),
  )
  const { page, events } = await watchedPage(app, email)
  await page.goto('/packages/hostile/versions/1.0.0/api/shapes/Hostile')
  await page.getByRole('heading', { name: 'Hostile class' }).waitFor()
  await settled(page)
  expect(await page.evaluate('window.pwned')).toBeUndefined()
  expect(await page.locator('.api-text :is(iframe, object, embed, form, style, script, [onerror], [onload], [name])').count()).toBe(0)
  expect(await page.evaluate(`getComputedStyle(document.querySelector('.api-text .direction-mark')).unicodeBidi`)).toBe('isolate')
  expect(await overflow(page)).toBeLessThanOrEqual(0)
  expect([events, trackers.filter(({ connections }) => connections > 0)]).toEqual([[], []])
})

it.each(['javascript:alert(1)', 'data:text/html,x', '//evil.example', 'https://pub.dev@evil.example/', 'ftp://evil.example'])(
  'refuses the home page %s',
  async (homepage) => {
    await using app = await testApp()
    const archive = await packageArchive({ name: 'hostile', version: '1.0.0', pubspec: `homepage: ${JSON.stringify(homepage)}` })
    const { status, body } = await publishArchive(await app.member(), archive)
    expect([status, body.error.message]).toEqual([400, expect.stringContaining('homepage')])
  },
)
