import { expect, it } from 'vitest'
import { packPages } from '../../server/analysis/api-pages/pack.ts'
import { type TestApp, testApp } from '../app.ts'
import { apiOf, declared } from '../support/api.ts'
import { beginDocs, documentVersion, readDocsPage, storePacked, versionId } from '../support/docs.ts'
import { allowImagesFrom, startImages, testDns } from '../support/image-server.ts'
import { plain } from '../support/pictures.ts'
import { publish } from '../support/publish.ts'

const png = await plain({ width: 4, height: 3 }).png().toBuffer()

/** Publishes acme with a class whose doc comment is `doc`, and returns the page about the class. */
async function pageOf(app: TestApp, doc: string) {
  const author = await app.member()
  await publish(author, { name: 'acme', version: '1.0.0' })
  await documentVersion(app, 'acme', '1.0.0', apiOf([declared('class', 'Shown', { doc })]))
  return (await readDocsPage(author, 'shapes/Shown'))?.html ?? ''
}

const imagesOf = (html: string) => Array.from(html.matchAll(/<img [^>]*>/g), ([tag]) => tag)

it('shows images of other servers in API documentation through the image proxy', async () => {
  const dns = await testDns()
  const images = await startImages((_request, response) => response.end(png))
  dns.addresses['images.example'] = () => ['127.0.0.1']
  await using app = await testApp({ env: { DNS_SERVERS: dns.address } })
  allowImagesFrom(app, (address, port) => address === '127.0.0.1' && port === images.port)
  const url = `http://images.example:${images.port}`
  const page = await pageOf(app, `![A "shape"](${url}/a.png?b=1&c=2)\n\n<img src="${url}/d.png" width="40px" onerror="x">`)
  const [first = '', second = ''] = imagesOf(page)
  expect(first).toMatch(
    /^<img src="\/images\?url=[^"&]*&amp;signature=[\w-]{43}" alt="A &quot;shape&quot;" loading="lazy" decoding="async" \/>$/,
  )
  expect(second).toMatch(/^<img src="\/images\?url=[^"]*" alt="" width="40" loading="lazy" decoding="async" \/>$/)
  const source = /src="([^"]*)"/.exec(first)?.[1]?.replaceAll('&amp;', '&') ?? ''
  const answer = await app.anonymous.get(source)
  expect(answer).toMatchObject({ status: 200, headers: { 'content-type': 'image/png', 'cross-origin-resource-policy': 'cross-origin' } })
  expect(images.requests.map((request) => request.url)).toEqual(['/a.png?b=1&c=2'])
})

it('follows README_IMAGES in API documentation, with a different ETag for pages of dartdoc', async () => {
  const found = []
  for (const mode of ['proxy', 'direct', 'off']) {
    await using app = await testApp({ env: { README_IMAGES: mode } })
    const images = imagesOf(await pageOf(app, '![A](https://images.example/a.png)'))
    const id = await versionId(app, 'acme', '1.0.0')
    const content = '<main><img src="\u{FDD0}image:https://images.example/a.png"></main>'
    await storePacked(app, id, await beginDocs(app, id), (file) => packPages([{ path: 'index.html', content }], file), {
      name: 'dartdoc',
      version: '8.3.0',
    })
    const { headers } = await (await app.member()).get('/documentation/acme/latest/index.html')
    found.push({ images, etag: headers.etag, policy: headers['content-security-policy'] })
  }
  const [proxy, direct, off] = found
  expect(direct?.images).toEqual(['<img src="https://images.example/a.png" alt="A" loading="lazy" decoding="async" />'])
  expect(direct?.policy).toContain('/packages/ https: http:; ')
  expect(off?.images).toEqual(['<img alt="A" loading="lazy" decoding="async" />'])
  expect(off?.policy).not.toContain('https:;')
  expect(proxy?.policy).toContain('; img-src http://localhost:8080/images http://localhost:8080/packages/; ')
  expect(new Set(found.map(({ etag }) => etag)).size).toBe(3)
  expect(proxy?.images).toHaveLength(1)
})

it('shows badges of this server, and no other pages as images', async () => {
  await using app = await testApp()
  const html = await pageOf(
    app,
    '![A](http://localhost:8080/packages/acme/badges/version.svg) ![B](http://localhost:8080/api/packages/versions/new) ![C](javascript:x)',
  )
  expect(imagesOf(html)).toEqual([
    '<img src="/packages/acme/badges/version.svg" alt="A" loading="lazy" decoding="async" />',
    '<img alt="B" loading="lazy" decoding="async" />',
  ])
})
