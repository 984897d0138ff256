import { randomBytes } from 'node:crypto'
import { crc32 } from 'node:zlib'
import sharp from 'sharp'
import { expect, it } from 'vitest'
import type { Actor } from '../actor.ts'
import { type TestApp, testApp } from '../app.ts'
import { animation, colourAt, form, halves, plain } from '../support/pictures.ts'

const path = '/api/auth/avatar'
const small = { width: 640, height: 480 }

async function upload(actor: Actor, bytes: Buffer | string, how: Parameters<typeof form>[1] = {}, headers: Record<string, string> = {}) {
  const { body, options } = await form(bytes, how)
  return actor.post(path, body, { headers: { ...options.headers, ...headers } })
}

/** Expects a refused picture to leave no trace: no row, no tag and no audit entry. */
async function expectNothing(app: TestApp, actor: Actor) {
  expect(await app.anonymous.get(`/api/users/${actor.id}/avatar`)).toMatchObject({ status: 404, body: { error: { code: 'NotFound' } } })
  expect((await actor.get('/api/auth/me')).body.avatarUrl).toBeNull()
  const { reads } = app.services.database
  expect(await reads.all('select user_id from avatars')).toEqual([])
  expect(await reads.all("select id from audit_entries where kind = 'user.updated'")).toEqual([])
}

it.each(['png', 'jpeg', 'webp'] as const)('accepts a %s and returns its center, 512 pixels square', async (format) => {
  await using app = await testApp()
  const alice = await app.member()
  const picture = await (await halves({ width: 1200, height: 600 })).toFormat(format).toBuffer()
  const { status, body } = await upload(alice, picture, { name: 'whatever.txt', type: 'text/plain' })
  expect(status).toBe(200)
  expect(body.avatarUrl).toMatch(new RegExp(`^/api/users/${alice.id}/avatar\\?v=[0-9a-f]{16}$`))
  expect((await alice.get('/api/auth/me')).body).toEqual(body)
  expect((await alice.graphql('{ me { avatarUrl } }')).body.data.me.avatarUrl).toBe(body.avatarUrl)
  const shown = await app.anonymous.get(body.avatarUrl)
  expect(shown).toMatchObject({ status: 200, headers: { 'content-type': 'image/png', 'content-length': String(shown.raw.length) } })
  expect(await sharp(shown.raw).metadata()).toMatchObject({ format: 'png', width: 512, height: 512 })
  expect([await colourAt(shown.raw, 10, 256), await colourAt(shown.raw, 500, 256)]).toEqual(['red', 'blue'])
  const [entry] = (await (await app.admin()).get('/api/admin/audit-log?kind=user.updated')).body.entries
  expect(entry).toMatchObject({ summary: `${alice.user.displayName} changed their picture`, agent: { userId: alice.id } })
})

it('is immutable under its versioned URL and revalidated under the plain one', async () => {
  await using app = await testApp()
  const alice = await app.member()
  const bare = `/api/users/${alice.id}/avatar`
  const first = (await upload(alice, await plain(small).png().toBuffer())).body.avatarUrl
  const shown = await app.anonymous.get(first)
  expect(shown.headers['cache-control']).toBe('public, immutable, max-age=31536000')
  expect((await app.anonymous.get(bare)).headers['cache-control']).toBe('public, no-cache')
  expect(await app.anonymous.get(bare, { headers: { 'if-none-match': String(shown.headers.etag) } })).toMatchObject({
    status: 304,
    body: '',
  })
  const unchanged = await app.anonymous.head(bare, { headers: { 'if-none-match': String(shown.headers.etag) } })
  // A length of 0 would claim that the picture has no bytes.
  expect([unchanged.status, unchanged.headers['content-length']]).toEqual([304, undefined])
  expect(await app.anonymous.head(first)).toMatchObject({ status: 200, headers: { 'content-length': String(shown.raw.length) }, body: '' })
  const second = (await upload(alice, await plain(small, 'blue').png().toBuffer())).body.avatarUrl
  expect(second).not.toBe(first)
  const stale = await app.anonymous.get(first)
  expect(stale.headers['cache-control']).toBe('public, no-cache')
  expect(await colourAt(stale.raw, 1, 1)).toBe('blue')
})

it('is deleted by its owner and along with the account', async () => {
  await using app = await testApp()
  const [alice, bob, admin] = [await app.member(), await app.member(), await app.admin()]
  const picture = await plain(small).png().toBuffer()
  await upload(alice, picture)
  const removed = await alice.delete(path)
  expect(removed).toMatchObject({ status: 200, body: { userId: alice.id, avatarUrl: null } })
  expect(await app.anonymous.get(`/api/users/${alice.id}/avatar`)).toMatchObject({ status: 404 })
  expect(await alice.delete(path)).toMatchObject({ status: 200, body: removed.body })
  expect((await admin.get('/api/admin/audit-log?kind=user.updated')).body.entries).toHaveLength(2)
  await upload(bob, picture)
  await admin.put(`/api/admin/users/${bob.id}`, { isActive: false })
  expect(await app.anonymous.get(`/api/users/${bob.id}/avatar`)).toMatchObject({ status: 200 })
  await admin.delete(`/api/admin/users/${bob.id}`)
  expect(await app.anonymous.get(`/api/users/${bob.id}/avatar`)).toMatchObject({ status: 404 })
})

it('is rotated upright and contains no metadata', async () => {
  await using app = await testApp()
  const alice = await app.member()
  const taken = (await halves({ width: 600, height: 600 }))
    .withExif({ IFD0: { Copyright: 'home address', Make: 'SecretCam' } })
    .withMetadata({ orientation: 6 })
  const picture = await taken.jpeg({ quality: 95 }).toBuffer()
  expect(picture.includes('SecretCam') || (await sharp(picture).metadata()).orientation === 6).toBe(true)
  const { raw } = await app.anonymous.get((await upload(alice, picture)).body.avatarUrl)
  expect([await colourAt(raw, 256, 10), await colourAt(raw, 256, 500)]).toEqual(['red', 'blue'])
  const { exif, icc, xmp, iptc, orientation } = await sharp(raw).metadata()
  expect({ exif, icc, xmp, iptc, orientation }).toEqual({})
  expect(raw.includes('home address')).toBe(false)
})

it('is the first frame of an animation', async () => {
  await using app = await testApp()
  const alice = await app.member()
  const { raw } = await app.anonymous.get((await upload(alice, await animation(small))).body.avatarUrl)
  expect(await sharp(raw).metadata()).toMatchObject({ format: 'png', width: 512, height: 512 })
  expect(await colourAt(raw, 256, 256)).toBe('red')
})

it.each<[string, () => Promise<Buffer> | Buffer]>([
  ['text', () => Buffer.from('hello')],
  ['an empty file', () => Buffer.alloc(0)],
  [
    'an SVG drawing',
    () => Buffer.from('<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"><image href="file:///etc/passwd"/></svg>'),
  ],
  ['a GIF', () => plain(small).gif().toBuffer()],
  ['a TIFF', () => plain(small).tiff().toBuffer()],
  ['a valid signature followed by noise', () => Buffer.concat([Buffer.from('\x89PNG\r\n\x1a\n', 'latin1'), randomBytes(5000)])],
  [
    'half of a picture',
    async () =>
      plain(small)
        .jpeg()
        .toBuffer()
        .then((bytes) => bytes.subarray(0, 300)),
  ],
  [
    'a truncated picture',
    async () =>
      (
        await sharp(randomBytes(300 * 300 * 3), { raw: { width: 300, height: 300, channels: 3 } })
          .png()
          .toBuffer()
      ).subarray(0, 100_000),
  ],
  ['5,000 by 5,001 pixels', () => plain({ width: 5000, height: 5001 }).png().toBuffer()],
  ['a header that claims 3,600 megapixels', () => decompressionBomb(60_000, 60_000)],
])('refuses %s and stores nothing', async (_what, make) => {
  await using app = await testApp()
  const alice = await app.member()
  expect(await upload(alice, await make())).toMatchObject({
    status: 400,
    body: { error: { code: 'InvalidInput', message: expect.stringMatching(/^file: /) } },
  })
  await expectNothing(app, alice)
})

it('accepts a picture of the maximum size and refuses one byte more', async () => {
  await using app = await testApp()
  const alice = await app.member()
  const picture = await plain({ width: 5000, height: 5000 }).png().toBuffer()
  const padded = (size: number) => Buffer.concat([picture, Buffer.alloc(size - picture.length)])
  expect(await upload(alice, padded(5 * 1024 * 1024 + 1))).toMatchObject({ status: 413, body: { error: { code: 'InvalidInput' } } })
  expect(await upload(alice, padded(6 * 1024 * 1024))).toMatchObject({ status: 413, headers: { connection: 'close' } })
  await expectNothing(app, alice)
  expect(await upload(alice, padded(5 * 1024 * 1024))).toMatchObject({ status: 200 })
})

it('refuses requests that are not multipart forms with one picture', async () => {
  await using app = await testApp()
  const alice = await app.member()
  const picture = await plain(small).png().toBuffer()
  for (const type of ['image/png', 'application/octet-stream', 'application/json', 'application/x-www-form-urlencoded']) {
    const answer = await alice.post(path, picture, { headers: { 'content-type': type } })
    expect(answer, type).toMatchObject({
      status: 415,
      body: { error: { code: 'InvalidInput', message: 'Send the body as multipart/form-data.' } },
    })
  }
  expect(await alice.post(path)).toMatchObject({ status: 415 })
  expect(await upload(alice, picture, { field: 'avatar' })).toMatchObject({
    status: 400,
    body: { error: { message: expect.stringMatching(/^file: is required/) } },
  })
  const { body, options } = await form(picture)
  expect(await alice.post(path, body.subarray(0, body.length - 60), options)).toMatchObject({
    status: 400,
    body: { error: { code: 'InvalidInput' } },
  })
  expect(await alice.post(path, body, { headers: { 'content-type': 'multipart/form-data' } })).toMatchObject({ status: 400 })
  await expectNothing(app, alice)
})

it('requires the owner, with a write token or with a session and the CSRF token', async () => {
  await using app = await testApp()
  const [alice, viewer] = [await app.member(), await app.viewer()]
  const picture = await plain(small).png().toBuffer()
  expect(await upload(app.anonymous, picture)).toMatchObject({ status: 401 })
  const reader = await app.withScopes(alice, ['read'])
  for (const answer of [await upload(reader, picture), await reader.delete(path), await upload(viewer, picture)]) {
    expect(answer).toMatchObject({ status: 403, body: { error: { code: 'InsufficientPermissions' } } })
  }
  const browser = await alice.session()
  const forged = { headers: { 'x-csrf-token': 'forged' } }
  for (const answer of [await upload(browser, picture, {}, forged.headers), await browser.delete(path, forged)]) {
    expect(answer).toMatchObject({ status: 403, body: { error: { code: 'CsrfMismatch' } } })
  }
  await expectNothing(app, alice)
  expect(await upload(browser, picture)).toMatchObject({ status: 200 })
  expect(await upload(await viewer.session(), picture)).toMatchObject({ status: 200 })
  for (const id of ['x', '..%2f..%2fetc', '00000000-0000-7000-8000-000000000000'])
    expect(await app.anonymous.get(`/api/users/${id}/avatar`)).toMatchObject({ status: 404 })
})

it('is served below the path of SERVER_URL and handles concurrent changes', async () => {
  await using app = await testApp({ env: { SERVER_URL: 'https://example.com/pub' } })
  const alice = await app.member()
  const pictures = await Promise.all(['red', 'blue', 'red', 'blue'].map((colour) => plain(small, colour).png().toBuffer()))
  const answers = await Promise.all(
    pictures.map(async (picture) => {
      const { body, options } = await form(picture)
      return alice.post(`/pub${path}`, body, options)
    }),
  )
  expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200])
  const { avatarUrl } = (await alice.get('/pub/api/auth/me')).body
  expect(avatarUrl).toMatch(new RegExp(`^/pub/api/users/${alice.id}/avatar\\?v=`))
  expect((await app.anonymous.get(avatarUrl)).headers['cache-control']).toContain('immutable')
})

/** Returns a PNG of a few bytes that claims the given dimensions. */
function decompressionBomb(width: number, height: number): Buffer {
  const header = Buffer.alloc(13)
  header.writeUInt32BE(width, 0)
  header.writeUInt32BE(height, 4)
  header.set([8, 2, 0, 0, 0], 8)
  const chunk = (type: string, data: Buffer) => {
    const named = Buffer.concat([Buffer.from(type, 'latin1'), data])
    const [length, sum] = [Buffer.alloc(4), Buffer.alloc(4)]
    length.writeUInt32BE(data.length)
    sum.writeUInt32BE(crc32(named))
    return Buffer.concat([length, named, sum])
  }
  return Buffer.concat([
    Buffer.from('\x89PNG\r\n\x1a\n', 'latin1'),
    chunk('IHDR', header),
    chunk('IDAT', Buffer.alloc(100)),
    chunk('IEND', Buffer.alloc(0)),
  ])
}
