import type { RequestListener } from 'node:http'
import { describe, expect, it } from 'vitest'
import { publicOnly } from '../../server/platform/outbound/addresses.ts'
import { type TestApp, testApp } from '../app.ts'
import { allowImagesFrom, startImages, testDns } from '../support/image-server.ts'
import { plain } from '../support/pictures.ts'
import { publish } from '../support/publish.ts'

const png = await plain({ width: 4, height: 3 }).png().toBuffer()
const sendPng: RequestListener = (_request, response) => response.setHeader('content-type', 'text/html').end(png)

let published = 0
/** Publishes a package whose README shows images and returns the addresses from which a browser loads them. */
async function sourcesOf(app: TestApp, ...images: string[]): Promise<string[]> {
  const author = await app.member()
  const name = `shown_${++published}`
  await publish(author, { name, version: '1.0.0', files: { 'README.md': images.map((image) => `![x](<${image}>)`).join('\n') } })
  const { body } = await author.graphql(`{ package(name: "${name}") { displayedVersion { readme { html } } } }`)
  const html: string = body.data.package.displayedVersion.readme.html
  return [...html.matchAll(/<img src="([^"]*)"/g)].map(([, source = '']) => source.replaceAll('&amp;', '&'))
}

const sourceOf = async (app: TestApp, image: string): Promise<string> => (await sourcesOf(app, image))[0] ?? ''

/** Starts a server that may fetch images from `localhost` names on one port. */
async function withImages(listener: RequestListener, env: Record<string, string> = {}) {
  const dns = await testDns()
  const images = await startImages(listener)
  dns.addresses['images.example'] = () => ['127.0.0.1']
  const app = await testApp({ env: { DNS_SERVERS: dns.address, ...env } })
  const isAllowed = (address: string, port: number) => (address === '127.0.0.1' && port === images.port) || publicOnly(address, port)
  allowImagesFrom(app, isAllowed)
  const url = `http://images.example:${images.port}`
  return { app, dns, images, url, isAllowed, [Symbol.asyncDispose]: () => app[Symbol.asyncDispose]() }
}

describe('an image of another server', () => {
  it('is fetched by the server, without anything about the reader, and sent by its content', async () => {
    await using server = await withImages(sendPng)
    const source = await sourceOf(server.app, `${server.url}/badge.png?style=flat&v=1#top`)
    expect(source).toMatch(/^\/images\?url=http%3A%2F%2Fimages\.example/)
    const answer = await server.app.anonymous.get(source, { headers: { cookie: 'secret=1', referer: 'http://localhost/packages/a' } })
    expect(answer).toMatchObject({
      status: 200,
      headers: {
        'content-type': 'image/png',
        'cache-control': 'public, max-age=3600',
        'content-security-policy': "default-src 'none'; style-src 'unsafe-inline'; sandbox",
        'x-content-type-options': 'nosniff',
      },
    })
    expect(answer.raw.equals(png)).toBe(true)
    const [request] = server.images.requests
    expect(request?.url).toBe('/badge.png?style=flat&v=1')
    expect(Object.keys(request?.headers ?? {}).toSorted()).toEqual(['accept', 'accept-encoding', 'connection', 'host', 'user-agent'])
    const cached = await server.app.anonymous.get(source, { headers: { 'if-none-match': String(answer.headers.etag) } })
    expect(cached.status).toBe(304)
  })

  it('is fetched only with a signature of a document', async () => {
    await using server = await withImages(sendPng)
    const source = await sourceOf(server.app, `${server.url}/a.png`)
    const forged = [
      source.replace('a.png', 'b.png'),
      source.replace(/signature=./, 'signature=_'),
      source.replace(/&signature=.*/, ''),
      source.replace(/&signature=.*/, '&signature='),
      `${source}&signature=x`,
      `${source}&url=http://images.example:${server.images.port}/b.png`,
      '/images',
    ]
    for (const path of forged)
      expect(await (await server.app.owner()).get(path)).toMatchObject({ status: 404, body: { error: { code: 'NotFound' } } })
    expect(server.images.requests).toEqual([])
  })

  it('is fetched once for concurrent readers, and again after four hours', async () => {
    await using server = await withImages(sendPng)
    const source = await sourceOf(server.app, `${server.url}/a.png`)
    const { anonymous, clock } = server.app
    const answers = await Promise.all(Array.from({ length: 10 }, () => anonymous.get(source)))
    expect(answers.every(({ status }) => status === 200)).toBe(true)
    expect(server.images.requests.length).toBe(server.app.instances.length)
    clock.now = new Date(Date.now() + 3 * 3_600_000)
    expect(await anonymous.get(source)).toMatchObject({ status: 200 })
    expect(server.images.requests.length).toBe(server.app.instances.length)
    clock.now = new Date(Date.now() + 5 * 3_600_000)
    expect(await anonymous.get(source)).toMatchObject({ status: 200 })
    await expect.poll(() => server.images.requests.length).toBeGreaterThan(server.app.instances.length)
  })

  it('stays available while its server fails, and goes when it is deleted there', async () => {
    let status = 200
    await using server = await withImages((_request, response) => response.writeHead(status).end(png))
    const source = await sourceOf(server.app, `${server.url}/a.png`)
    const { anonymous, clock } = server.app
    expect(await anonymous.get(source)).toMatchObject({ status: 200 })
    status = 503
    clock.now = new Date(Date.now() + 5 * 3_600_000)
    expect(await anonymous.get(source)).toMatchObject({ status: 200 })
    status = 404
    clock.now = new Date(Date.now() + 10 * 3_600_000)
    await expect.poll(async () => (await anonymous.get(source)).status).toBe(404)
  })

  it('is not fetched again for some minutes after a failure', async () => {
    await using server = await withImages((_request, response) => response.writeHead(500).end())
    const source = await sourceOf(server.app, `${server.url}/a.png`)
    for (let times = 0; times < 3; times++) expect(await server.app.anonymous.get(source)).toMatchObject({ status: 404 })
    expect(server.images.requests.length).toBe(1)
    server.app.clock.now = new Date(Date.now() + 6 * 60_000)
    await server.app.anonymous.get(source)
    expect(server.images.requests.length).toBe(2)
  })

  it.each([
    ['off', null],
    ['direct', /^http:\/\/images\.example:\d+\/a\.png$/],
  ])('is not fetched with README_IMAGES=%s', async (mode, expected) => {
    await using server = await withImages(sendPng, { README_IMAGES: mode })
    const sources = await sourcesOf(server.app, `${server.url}/a.png`)
    if (expected === null) expect(sources).toEqual([])
    else expect(sources).toEqual([expect.stringMatching(expected)])
  })

  it('is sanitized if it is an SVG', async () => {
    const svg = '<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script><image href="http://127.0.0.1/"/><path d="M0 0"/></svg>'
    await using server = await withImages((_request, response) => response.end(svg))
    const { headers, body } = await server.app.anonymous.get(await sourceOf(server.app, `${server.url}/a.svg`))
    expect(headers['content-type']).toBe('image/svg+xml')
    expect(body).toBe('<svg xmlns="http://www.w3.org/2000/svg"><image></image><path d="M0 0"></path></svg>')
  })
})
