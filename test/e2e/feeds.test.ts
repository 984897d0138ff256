import { expect, it } from 'vitest'
import { openPage, settled } from '../support/browser.ts'
import { consoleApp, publishTo, startSession } from '../support/console.ts'

it("links to a package's feed, which is well-formed XML", async () => {
  await using app = await consoleApp()
  const alice = await app.member()
  await publishTo(app.url, alice.secret ?? '', { name: 'acme', version: '1.0.0' })
  const page = await openPage(app.url)
  await startSession(page, app.url, alice.email)
  await page.goto('/packages/acme')
  const link = page.getByRole('link', { name: 'Feed: Versions of acme' })
  expect(await link.getAttribute('href')).toBe(`${app.url}/packages/acme/feed.atom`)
  // The XML parser of the browser is strict and supports namespaces.
  const feed: unknown = await page.evaluate(`(async () => {
    const address = document.querySelector('link[rel="alternate"][type="application/atom+xml"]').href
    const xml = new DOMParser().parseFromString(await (await fetch(address)).text(), 'application/xml')
    const texts = (name) => [...xml.getElementsByTagNameNS('http://www.w3.org/2005/Atom', name)].map((element) => element.textContent)
    return { faults: xml.querySelectorAll('parsererror').length, titles: texts('title'), ids: texts('id') }
  })()`)
  expect(feed).toEqual({
    faults: 0,
    titles: ['Versions of acme', 'acme 1.0.0'],
    ids: [`${app.url}/packages/acme/feed.atom`, `${app.url}/packages/acme/versions/1.0.0`],
  })
  await page.goto('/packages')
  await page.getByRole('link', { name: 'acme' }).waitFor()
  const everything = page.locator('link[type="application/atom+xml"]')
  expect(await everything.getAttribute('href')).toBe(`${app.url}/feed.atom`)
  await settled(page)
})
