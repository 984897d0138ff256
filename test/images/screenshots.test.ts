import { createHash } from 'node:crypto'
import sharp from 'sharp'
import { expect, it } from 'vitest'
import { collectImages } from '../../server/registry/images/service.ts'
import { planCollection } from '../../server/platform/store/collect.ts'
import type { BlobStore } from '../../server/platform/blobs/store.ts'
import { type TestApp, testApp } from '../app.ts'
import { attributeStatements } from '../support/attributed-statements.ts'
import { halves, plain } from '../support/pictures.ts'
import { makePublic, publicApp } from '../support/public-packages.ts'
import { publish } from '../support/publish.ts'

const large = await (await halves({ width: 1200, height: 900 })).png().toBuffer()
const bomb = Buffer.from(large)
bomb.writeUInt32BE(60_000, 16)
const files = {
  'doc/a shot.png': large,
  'doc/small.jpg': await plain({ width: 40, height: 30 }).jpeg().toBuffer(),
  'doc/bomb.png': bomb,
  'doc/cut.png': large.subarray(0, 300),
}
const pubspec = `screenshots:
  - description: The start page
    path: ./doc/a shot.png
  - description: A detail
    path: doc/small.jpg
`

async function published(app: TestApp, name = 'acme'): Promise<void> {
  await publish(await app.member(), { name, version: '1.0.0+1', files, pubspec })
}

const query = `{ package(name: "acme") { displayedVersion { screenshots { description path url thumbnailUrl width height } } } }`

it('lists the screenshots of a version with their sizes', async () => {
  await using app = await testApp()
  await published(app)
  const reader = await app.viewer()
  const { body } = await reader.graphql(query)
  expect(body.data.package.displayedVersion.screenshots).toEqual([
    {
      description: 'The start page',
      path: 'doc/a shot.png',
      url: 'http://localhost:8080/raw/acme/1.0.0%2B1/doc/a%20shot.png',
      thumbnailUrl: 'http://localhost:8080/thumbnails/acme/1.0.0%2B1/doc/a%20shot.png',
      width: 1200,
      height: 900,
    },
    expect.objectContaining({ path: 'doc/small.jpg', width: 40, height: 30 }),
  ])
})

it('makes a thumbnail once, as a small WebP', async () => {
  await using app = await testApp()
  await published(app)
  const reader = await app.viewer()
  const path = '/thumbnails/acme/1.0.0%2B1/doc/a%20shot.png'
  const [first, second] = await Promise.all([reader.get(path), reader.get(path)])
  expect(first).toMatchObject({
    status: 200,
    headers: { 'content-type': 'image/webp', 'cache-control': 'private, immutable, max-age=31536000', 'x-content-type-options': 'nosniff' },
  })
  expect(await sharp(first.raw).metadata()).toMatchObject({ format: 'webp', width: 480, height: 360 })
  expect(second.raw.equals(first.raw)).toBe(true)
  for (const { services } of app.instances) delete services.state.copies
  const { result: again, statements } = await attributeStatements(() => reader.get(path))
  expect(again.raw.equals(first.raw)).toBe(true)
  expect(statements.length).toBeGreaterThan(0)
  expect(statements.filter((sql) => sql.includes('insert'))).toEqual([])
  expect(await sharp((await reader.get('/thumbnails/acme/1.0.0%2B1/doc/small.jpg')).raw).metadata()).toMatchObject({ width: 40 })
  expect((await reader.get(path, { headers: { 'if-none-match': String(first.headers.etag) } })).status).toBe(304)
})

it('makes a smaller thumbnail for lists, and no other sizes', async () => {
  await using app = await testApp()
  await published(app)
  const reader = await app.viewer()
  const { body } = await reader.graphql('{ package(name: "acme") { latest { thumbnailUrl } } }')
  const { pathname, search } = new URL(body.data.package.latest.thumbnailUrl)
  const small = await reader.get(pathname + search)
  expect(await sharp(small.raw).metadata()).toMatchObject({ format: 'webp', width: 240, height: 180 })
  expect(await sharp((await reader.get(pathname)).raw).metadata()).toMatchObject({ width: 480 })
  for (const size of ['240', '', 'large'])
    expect(await reader.get(`${pathname}?size=${size}`)).toMatchObject({ status: 400, body: { error: { code: 'InvalidInput' } } })
})

it('makes no thumbnail of damaged images, of images with too many pixels, and of other files', async () => {
  await using app = await testApp()
  await published(app)
  const reader = await app.viewer()
  for (const path of ['doc/bomb.png', 'doc/cut.png', 'pubspec.yaml', 'missing.png', '..%2fdoc/small.jpg'])
    expect([path, (await reader.get(`/thumbnails/acme/1.0.0%2B1/${path}`)).status]).toEqual([path, 404])
})

const svg =
  '<svg xmlns="http://www.w3.org/2000/svg" width="90" height="20" onload="alert(1)"><script>alert(2)</script><path d="M0 0"/></svg>'
const sanitized = '<svg xmlns="http://www.w3.org/2000/svg" width="90" height="20"><path d="M0 0"></path></svg>'

it('sends the thumbnails of SVGs as sanitized SVGs, whatever their name is', async () => {
  await using app = await testApp()
  const vectors = {
    'doc/shot.svg': svg,
    'doc/SHOT2.SVG': svg,
    'doc/wrong.png': svg,
    'doc/none': `\ufeff<?xml version="1.0"?>\n<!-- a -->\n<!DOCTYPE svg>\n${svg}`,
  }
  const others = {
    'doc/raster.svg': large,
    'doc/text.svg': 'svg',
    'doc/empty.svg': '',
    'doc/huge.svg': `${svg.slice(0, -6)}${' '.repeat(2 * 1024 ** 2)}</svg>`,
    'doc/wide.svg': Buffer.from(svg, 'utf16le'),
  }
  const shots = [...Object.keys(vectors), ...Object.keys(others)]
  const listed = shots.map((path) => `  - {description: A, path: ${path}}\n`).join('')
  await publish(await app.member(), {
    name: 'acme',
    version: '1.0.0',
    files: { ...vectors, ...others },
    pubspec: `screenshots:\n${listed}`,
  })
  const reader = await app.viewer()
  const { body } = await reader.graphql(
    '{ package(name: "acme") { displayedVersion { thumbnailUrl screenshots { path url thumbnailUrl width } } } }',
  )
  const { thumbnailUrl: inLists, screenshots } = body.data.package.displayedVersion
  const load = (url: string) => reader.get(url.replace('http://localhost:8080', ''))
  expect(inLists).toBe('http://localhost:8080/thumbnails/acme/1.0.0/doc/shot.svg?size=small')
  for (const url of [inLists, ...screenshots.slice(0, 4).map((shot: { thumbnailUrl: string }) => shot.thumbnailUrl)])
    for (const _ of ['made', 'cached'])
      expect(await load(url), url).toMatchObject({
        status: 200,
        body: sanitized,
        headers: {
          'content-type': 'image/svg+xml',
          'content-security-policy': expect.stringContaining('sandbox'),
          'x-content-type-options': 'nosniff',
        },
      })
  for (const { url, width } of screenshots.slice(0, 4)) {
    expect(width).toBe(null)
    expect((await load(url)).headers['content-type']).toBe('image/svg+xml')
  }
  const rest = screenshots.slice(4).map(async ({ thumbnailUrl }: { thumbnailUrl: string }) => (await load(thumbnailUrl)).status)
  expect(await Promise.all(rest)).toEqual([200, 404, 404, 404, 404])
})

it('shows thumbnails only to readers of the package', async () => {
  await using app = await publicApp()
  await published(app)
  const path = '/thumbnails/acme/1.0.0%2B1/doc/small.jpg'
  expect(await app.anonymous.get(path)).toMatchObject({ status: 401 })
  expect(await (await app.withScopes(await app.viewer(), [])).get(path)).toMatchObject({ status: 403 })
  await makePublic(app, 'acme')
  expect(await app.anonymous.get(path)).toMatchObject({ status: 200, headers: { 'cache-control': 'no-cache' } })
  const { body } = await app.anonymous.graphql(query)
  expect(body.data.package.displayedVersion.screenshots).toHaveLength(2)
})

it('keeps cached images apart from the archives, and deletes the least recently used ones above the limit', async () => {
  await using app = await testApp({ alone: true })
  await published(app)
  const { services, clock } = app
  const reader = await app.viewer()
  const path = '/thumbnails/acme/1.0.0%2B1/doc/'
  const older = await reader.get(`${path}small.jpg`)
  clock.now = new Date(Date.now() + 60_000)
  const newer = await reader.get(`${path}a%20shot.png`)
  expect(await hashesIn(services.blobs)).not.toContain(createHash('sha256').update(newer.raw).digest('hex'))
  clock.now = new Date(Date.now() + 48 * 3_600_000)
  const plan = { em: services.database.fork(), blobs: services.blobs, now: services.now, say: () => {} }
  expect((await planCollection(plan)).removed).toEqual([])
  expect(await collectImages(services)).toBe(0)
  expect(await collectImages(services, newer.raw.length)).toBe(1)
  expect(await hashesIn((await services.state.sideStores?.get('images')) ?? services.blobs)).toEqual([
    createHash('sha256').update(newer.raw).digest('hex'),
  ])
  expect((await reader.get(`${path}small.jpg`)).raw.equals(older.raw)).toBe(true)
})

async function hashesIn(store: BlobStore): Promise<string[]> {
  const hashes: string[] = []
  for await (const { sha256 } of store.list()) hashes.push(sha256)
  return hashes
}
