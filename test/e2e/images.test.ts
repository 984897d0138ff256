import type { Page } from 'playwright-core'
import { expect, it } from 'vitest'
import { openPage } from '../support/browser.ts'
import { apiOf, declared } from '../support/api.ts'
import { consoleApp, overflow, publishTo, startSession } from '../support/console.ts'
import { documentVersion } from '../support/docs.ts'
import { allowImagesFrom, startImages, testDns } from '../support/image-server.ts'
import { expectSound } from '../support/looks.ts'
import { halves, plain } from '../support/pictures.ts'

const badge =
  '<svg xmlns="http://www.w3.org/2000/svg" width="90" height="20" onload="alert(1)"><script>alert(2)</script><rect width="90" height="20" fill="green"/></svg>'

/** Resolves when an image is loaded, and returns its natural width. */
async function loadedWidth(page: Page, name: string): Promise<number> {
  const image = page.getByRole('img', { name })
  await image.scrollIntoViewIfNeeded()
  await expect.poll(() => image.evaluate((element) => (element as unknown as { complete: boolean }).complete)).toBe(true)
  return image.evaluate((element) => (element as unknown as { naturalWidth: number }).naturalWidth)
}

it('shows pictures of the package, badges of other servers and screenshots, all from the own origin', async () => {
  const dns = await testDns()
  const badges = await startImages((_request, response) => response.setHeader('content-type', 'image/svg+xml').end(badge))
  dns.addresses['badges.example'] = () => ['127.0.0.1']
  await using app = await consoleApp({ env: { DNS_SERVERS: dns.address } })
  allowImagesFrom(app, (address, port) => address === '127.0.0.1' && port === badges.port)
  const author = await app.member()
  const remote = `http://badges.example:${badges.port}`
  await publishTo(app.url, author.secret ?? '', {
    name: 'painted',
    version: '1.0.0',
    pubspec: 'screenshots:\n  - description: Start page\n    path: doc/start.png\n  - description: Settings\n    path: doc/settings.png\n',
    files: {
      'README.md': `# painted\n\n![build](${remote}/build.svg)\n\n![wide logo](doc/logo.png)\n\n![gone](doc/gone.png)\n`,
      'doc/logo.png': await plain({ width: 3000, height: 200 }).png().toBuffer(),
      'doc/start.png': await (await halves({ width: 1200, height: 800 })).png().toBuffer(),
      'doc/settings.png': await plain({ width: 800, height: 1200 }).png().toBuffer(),
    },
  })
  const page = await openPage(app.url, { tolerate: [/status of 404/] })
  const foreign: string[] = []
  page.on('request', (request) => {
    if (!request.url().startsWith(app.url) && !request.url().startsWith('data:')) foreign.push(request.url())
  })
  await startSession(page, app.url, author.email)
  await page.goto('/packages/painted')
  expect(await loadedWidth(page, 'build')).toBe(90)
  expect(await loadedWidth(page, 'wide logo')).toBe(3000)
  expect(await overflow(page)).toBeLessThanOrEqual(0)
  expect(await loadedWidth(page, 'Start page')).toBe(480)

  await page.getByRole('button', { name: 'Enlarge: Start page' }).press('Enter')
  const viewer = page.getByRole('dialog', { name: 'Start page' })
  await viewer.waitFor()
  await expectSound(page, 'screenshots')
  await viewer.getByRole('button', { name: 'Close' }).press('ArrowRight')
  await page.getByRole('dialog', { name: 'Settings' }).waitFor()
  await page.getByRole('region', { name: 'Screenshots' }).press('ArrowLeft')
  await viewer.waitFor()
  await page.keyboard.press('Escape')
  await page.getByRole('dialog').waitFor({ state: 'detached' })
  expect(await page.getByRole('button', { name: 'Enlarge: Start page' }).evaluate((button) => button.matches(':focus'))).toBe(true)

  await page.goto('/packages?q=painted')
  const thumbnail = page.locator('main li img')
  await expect.poll(() => thumbnail.evaluate((image) => (image as unknown as { naturalWidth: number }).naturalWidth)).toBe(240)
  expect(foreign).toEqual([])
  expect(badges.requests.map(({ url }) => url)).toEqual(['/build.svg'])
})

it('shows SVGs as screenshots, and no broken images in place of damaged ones', async () => {
  await using app = await consoleApp()
  const author = await app.member()
  const files = { 'doc/start.SVG': badge, 'doc/settings.png': badge, 'doc/damaged.png': 'PNG', 'doc/damaged.svg': 'svg' }
  const listOf = (paths: string[]) =>
    `screenshots:\n${paths.map((path) => `  - {description: ${path.slice(4)}, path: ${path}}\n`).join('')}`
  for (const [name, paths] of [
    ['vector', Object.keys(files)],
    ['damaged', ['doc/damaged.png', 'doc/damaged.svg']],
  ] as const)
    await publishTo(app.url, author.secret ?? '', { name, version: '1.0.0', pubspec: listOf([...paths]), files })
  const page = await openPage(app.url, { tolerate: [/status of 404/] })
  await startSession(page, app.url, author.email)
  const sizes = () =>
    page.evaluate<number[]>("[...document.querySelectorAll('main img')].map(({ complete, naturalWidth }) => complete && naturalWidth)")
  await page.goto('/packages/vector')
  await expect.poll(sizes).toEqual([90, 90])
  await page.getByRole('button', { name: 'Enlarge: settings.png' }).click()
  await expect.poll(() => loadedWidth(page, 'settings.png')).toBe(90)
  await page.getByRole('dialog').getByRole('button', { name: 'Next' }).waitFor({ state: 'visible' })
  await page.keyboard.press('Escape')
  await page.goto('/packages/damaged')
  await page.locator('.document').waitFor()
  await page.getByRole('region', { name: 'Screenshots' }).waitFor({ state: 'detached' })
  await page.goto('/packages')
  await page.getByRole('link', { name: 'damaged' }).waitFor()
  await expect.poll(sizes).toEqual([90])
})

it('shows images in API documentation', async () => {
  const dns = await testDns()
  const badges = await startImages((_request, response) => response.setHeader('content-type', 'image/svg+xml').end(badge))
  dns.addresses['badges.example'] = () => ['127.0.0.1']
  await using app = await consoleApp({ path: '/registry', env: { DNS_SERVERS: dns.address } })
  allowImagesFrom(app, (address, port) => address === '127.0.0.1' && port === badges.port)
  const author = await app.member()
  await publishTo(app.url, author.secret ?? '', { name: 'painted', version: '1.0.0' })
  const doc = `![build](http://badges.example:${badges.port}/build.svg)`
  await documentVersion(app, 'painted', '1.0.0', apiOf([declared('class', 'Painted', { doc })]))
  const page = await openPage(app.url)
  await startSession(page, app.url, author.email)
  await page.goto(`${app.url}/packages/painted/api/shapes/Painted`)
  await page.getByRole('img', { name: 'build' }).waitFor()
  expect(await loadedWidth(page, 'build')).toBe(90)
})
