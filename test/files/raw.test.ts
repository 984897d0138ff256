import { randomBytes } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { type TestApp, testApp } from '../app.ts'
import { plain } from '../support/pictures.ts'
import { makePublic, publicApp, setSwitch } from '../support/public-packages.ts'
import { publish } from '../support/publish.ts'

const picture = await plain({ width: 40, height: 30 }).png().toBuffer()
const large = randomBytes(2_500_000)
const files = {
  'README.md': '# Acme',
  'doc/logo.png': picture,
  'doc/disguised.txt': picture,
  'doc/page.html': '<script>alert(1)</script>',
  'doc/empty.txt': '',
  'doc/ü ä+%.txt': 'umlauts',
  'doc/hostile.svg': `<?xml version="1.0"?><svg xmlns="http://www.w3.org/2000/svg" onload="alert(1)"><script>alert(2)</script>
    <foreignObject><iframe xmlns="http://www.w3.org/1999/xhtml" src="https://evil.example/"/></foreignObject>
    <image href="https://evil.example/t.png"/><rect style="fill:url(https://evil.example/x)"/><style><![CDATA[<script>alert(3)</script>]]></style>
    <style>@import "https://evil.example/y.css";</style><circle id="kept" r="5"/></svg>`,
  'large.bin': large,
}

async function published(): Promise<TestApp> {
  const app = await testApp()
  await publish(await app.member(), { name: 'acme', version: '1.0.0', files })
  return app
}

describe('a raw file', () => {
  it('is sent by its content, with headers that stop browsers from running it', async () => {
    await using app = await published()
    const reader = await app.viewer()
    const restricted = {
      'content-security-policy': "default-src 'none'; style-src 'unsafe-inline'; sandbox",
      'x-content-type-options': 'nosniff',
      'cross-origin-resource-policy': 'same-origin',
      'cache-control': 'private, immutable, max-age=31536000',
      vary: 'authorization, cookie',
    }
    const expected: [path: string, type: string, disposition: string | undefined][] = [
      ['doc/logo.png', 'image/png', undefined],
      ['doc/disguised.txt', 'image/png', undefined],
      ['doc/page.html', 'text/plain; charset=utf-8', undefined],
      ['doc/empty.txt', 'text/plain; charset=utf-8', undefined],
      ['large.bin', 'application/octet-stream', `attachment; filename="large.bin"; filename*=UTF-8''large.bin`],
    ]
    for (const [path, type, disposition] of expected) {
      const answer = await reader.get(`/raw/acme/1.0.0/${path}`)
      expect(answer).toMatchObject({ status: 200, headers: { ...restricted, 'content-type': type } })
      expect(answer.headers['content-disposition']).toBe(disposition)
      expect(answer.raw.equals(Buffer.from(files[path as keyof typeof files]))).toBe(true)
      const head = await reader.head(`/raw/acme/1.0.0/${path}`)
      expect(head).toMatchObject({ status: 200, headers: { 'content-length': String(answer.raw.length), etag: answer.headers.etag } })
      const cached = await reader.get(`/raw/acme/1.0.0/${path}`, { headers: { 'if-none-match': String(answer.headers.etag) } })
      expect(cached).toMatchObject({ status: 304, headers: restricted })
    }
  })

  it('is a download on request, under its own name', async () => {
    await using app = await published()
    const reader = await app.viewer()
    const { status, headers, raw } = await reader.get(`/raw/acme/1.0.0/${encodeURIComponent('doc/ü ä+%.txt')}?download=1`)
    expect({ status, disposition: headers['content-disposition'] }).toEqual({
      status: 200,
      disposition: `attachment; filename="_ _+_.txt"; filename*=UTF-8''%C3%BC%20%C3%A4%2B%25.txt`,
    })
    expect(raw.toString()).toBe('umlauts')
  })

  it('has no scripts, references or foreign content if it is an SVG, except as a download', async () => {
    await using app = await published()
    const reader = await app.viewer()
    const { headers, body } = await reader.get('/raw/acme/1.0.0/doc/hostile.svg')
    expect(headers['content-type']).toBe('image/svg+xml')
    expect(body).toContain('<circle id="kept" r="5">')
    expect(body).not.toMatch(/<script|onload|iframe|evil|foreignObject|@import/)
    const original = await reader.get('/raw/acme/1.0.0/doc/hostile.svg?download')
    expect(original).toMatchObject({ body: files['doc/hostile.svg'], headers: { 'content-type': 'text/plain; charset=utf-8' } })
    expect(original.headers['content-disposition']).toMatch(/^attachment/)
  })

  it('is missing outside of the archive', async () => {
    await using app = await published()
    const reader = await app.viewer()
    for (const path of [
      'nothing.md',
      '',
      'doc',
      '../README.md',
      '..%2fREADME.md',
      '/etc/passwd',
      'README.md%00',
      'constructor',
      '__proto__',
    ])
      expect(await reader.get(`/raw/acme/1.0.0/${path}`, { headers: { 'if-none-match': '*' } })).toMatchObject({ status: 404 })
    expect(await reader.get('/raw/acme/2.0.0/README.md')).toMatchObject({ status: 404, body: { error: { code: 'NotFound' } } })
    expect(await reader.get('/raw/other/1.0.0/README.md')).toMatchObject({ status: 404, body: { error: { code: 'NotFound' } } })
    expect(await reader.get('/raw/acme/latest/README.md')).toMatchObject({ status: 400, body: { error: { code: 'InvalidInput' } } })
  })

  it('is as visible as its package', async () => {
    await using app = await publicApp()
    const author = await app.member()
    for (const name of ['open', 'closed']) await publish(author, { name, version: '1.0.0', files })
    await makePublic(app, 'open')
    const path = '/raw/open/1.0.0/README.md'
    const none = await app.withScopes(author, [])
    expect(await none.get(path)).toMatchObject({ status: 403, body: { error: { code: 'InsufficientPermissions' } } })
    expect(await app.withToken('snug_wrong').get(path)).toMatchObject({ status: 401 })
    expect(await app.anonymous.get(path.replace('open', 'closed'))).toMatchObject({
      status: 401,
      body: { error: { code: 'MissingAuthentication' } },
    })
    const { status, headers } = await app.anonymous.get(path)
    expect({ status, cached: headers['cache-control'] }).toEqual({ status: 200, cached: 'no-cache' })
    await setSwitch(app, false)
    expect(await app.anonymous.get(path, { headers: { 'if-none-match': String(headers.etag) } })).toMatchObject({ status: 401 })
    expect(await author.get(path)).toMatchObject({ status: 200 })
  })

  it('is gone when the version is deleted', async () => {
    await using app = await published()
    const owner = await app.owner()
    const { headers } = await owner.get('/raw/acme/1.0.0/README.md')
    expect(await owner.delete('/api/admin/packages/acme')).toMatchObject({ status: 200 })
    const again = await owner.get('/raw/acme/1.0.0/README.md', { headers: { 'if-none-match': String(headers.etag) } })
    expect(again).toMatchObject({ status: 404 })
  })

  it('is unpacked once for concurrent requests', async () => {
    await using app = await published()
    const reader = await app.viewer()
    const opened: string[] = []
    for (const { services } of app.instances) {
      const { open, read } = services.blobs
      services.blobs.open = async (sha256, ...rest) => (opened.push(sha256), await delay(5), open(sha256, ...rest))
      services.blobs.read = async (sha256) => (opened.push(sha256), read(sha256))
    }
    const answers = await Promise.all(Array.from({ length: 20 }, () => reader.get('/raw/acme/1.0.0/doc/logo.png')))
    expect(answers.every(({ raw }) => raw.equals(picture))).toBe(true)
    expect(opened.length).toBe(app.instances.length)
  })
})

it('sends images to documents only within the limits of the image proxy', async () => {
  await using app = await testApp()
  const alice = await app.member()
  const wide = await plain({ width: 10_000, height: 5001 }).png().toBuffer()
  const damaged = Buffer.concat([picture.subarray(0, 8), Buffer.from('no header')])
  const heavy = Buffer.concat([picture, Buffer.alloc(5 * 1024 ** 2)])
  const padded = Buffer.concat([picture, Buffer.alloc(5 * 1024 ** 2 - picture.length)])
  const images = { 'a/wide.png': wide, 'a/damaged.png': damaged, 'a/heavy.png': heavy, 'a/padded.png': padded, 'a/logo.png': picture }
  await publish(alice, { name: 'acme', version: '1.0.0', files: { ...images, 'README.md': '![](a/wide.png)' } })
  const { body } = await alice.graphql('{ package(name: "acme") { version(version: "1.0.0") { readme { html } } } }')
  expect(body.data.package.version.readme.html).toContain('/raw/acme/1.0.0/a/wide.png?image')
  for (const [path, bytes] of Object.entries(images)) {
    const isShown = path === 'a/padded.png' || path === 'a/logo.png'
    for (const query of ['?image', '?image=1', '?image&x=y']) {
      const answer = await alice.get(`/raw/acme/1.0.0/${path}${query}`)
      expect({ path, status: answer.status }).toEqual({ path, status: isShown ? 200 : 404 })
      expect(isShown ? answer.raw.equals(bytes) : answer.body.error.code).toBe(isShown || 'NotFound')
      expect((await alice.head(`/raw/acme/1.0.0/${path}${query}`)).status).toBe(answer.status)
    }
    const file = await alice.get(`/raw/acme/1.0.0/${path}`)
    expect({ path, status: file.status }).toEqual({ path, status: 200 })
    expect((await alice.get(`/raw/acme/1.0.0/${path}?download&image`)).raw.equals(bytes)).toBe(true)
    const conditional = { headers: { 'if-none-match': String(file.headers.etag) } }
    expect((await alice.get(`/raw/acme/1.0.0/${path}?image`, conditional)).status).toBe(isShown ? 200 : 404)
  }
})
