import { once } from 'node:events'
import type { ServerResponse } from 'node:http'
import { gzipSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import { testApp } from '../app.ts'
import { runJobs } from '../support/jobs.ts'
import { dartFiles, zipOf } from '../support/sdk-archives.ts'
import { SdkSite } from '../support/sdk-site.ts'

const installs = '/api/admin/sdk/installs'
const wanted = { version: '3.11.0', channel: 'stable' }

async function open() {
  const site = await SdkSite.open()
  const zip = await site.addDart('3.11.0', { archive: await zipOf(dartFiles('3.11.0', { ballast: 200_000 })) })
  await site.addFlutter('3.41.0', '3.11.0')
  const app = await testApp({ env: site.env })
  return { site, zip, app, admin: await app.admin() }
}

const redirectToFile = (response: ServerResponse) => void response.writeHead(302, { location: 'file:///etc/passwd' }).end()
async function sendEndlessBody(response: ServerResponse): Promise<void> {
  const chunk = Buffer.alloc(1024 * 1024, ' ')
  const closed = once(response, 'close')
  while (!response.destroyed) if (!response.write(chunk)) await Promise.race([once(response, 'drain'), closed])
}
const sendTooManyReleases = (response: ServerResponse) => {
  const release = { channel: 'stable', version: '3.0.0', archive: 'a', sha256: 'b' }
  response.end(JSON.stringify({ releases: Array.from({ length: 20_001 }, () => release) }))
}
const sendTruncatedBody = (response: ServerResponse) => {
  response.writeHead(200, { 'content-length': 1000 }).write('{"releases": []}')
  setTimeout(() => response.destroy(), 10)
}

describe('answers of a misbehaving site', () => {
  it.each<[string, (response: ServerResponse) => unknown, RegExp]>([
    ['a redirect to a file of the server', redirectToFile, /cannot be read/],
    ['an endless body', sendEndlessBody, /longer than \d+ KiB/],
    ['too many releases', sendTooManyReleases, /has an unexpected format|returns no listing|is not a SHA-256/],
    ['a truncated body', sendTruncatedBody, /cannot be read/],
  ])('give 503 soon: %s', async (_what, misbehave, message) => {
    const { site, app, admin } = await open()
    await using _ = app
    site.interfere = (_request, response) => (void misbehave(response), true)
    const refused = { status: 503, body: { error: { code: 'ServiceUnavailable', message: expect.stringMatching(message) } } }
    for (const kind of ['dart', 'flutter'])
      expect(await admin.get(`/api/admin/sdk/releases?channel=stable&kind=${kind}`)).toMatchObject(refused)
    expect((await admin.post(installs, wanted)).status).toBe(503)
    expect((await admin.get(installs)).body.installs).toEqual([])
  })
})

describe('an archive', () => {
  it.each<[string, (response: ServerResponse, file: Buffer, count: number) => unknown, string, RegExp]>([
    ['a redirect to a file of the server', redirectToFile, 'downloading', /cannot be read: it redirects to "file:.*Retrying soon/],
    [
      'an enormous Content-Length',
      (response) => response.writeHead(200, { 'content-length': 2 ** 52 }).write('PK'),
      'failed',
      /larger than the expected/,
    ],
    [
      'a content encoding, which is not decoded',
      (response) => {
        const bomb = gzipSync(Buffer.alloc(50_000_000))
        response.writeHead(200, { 'content-encoding': 'gzip', 'content-length': bomb.length }).end(bomb)
      },
      'failed',
      /^The SHA-256 of/,
    ],
    [
      'fewer and other bytes than expected',
      (response, file) => response.writeHead(200, { 'content-length': file.length - 10 }).end(file.subarray(10)),
      'failed',
      /^The SHA-256 of/,
    ],
    [
      'one byte per connection',
      (response, file, count) => {
        const range = count === 1 ? {} : { 'content-range': `bytes ${count - 1}-${file.length - 1}/${file.length}` }
        response.writeHead(count === 1 ? 200 : 206, { ...range, etag: '"one"', 'content-length': file.length - count + 1 })
        response.write(file.subarray(count - 1, count))
        setTimeout(() => response.destroy(), 10)
      },
      'downloading',
      /Retrying soon/,
    ],
  ])('is refused: %s', async (_what, misbehave, status, message) => {
    const { site, zip, app, admin } = await open()
    await using _ = app
    let count = 0
    site.interfere = (request, response, file) => request.url === zip && !!file && (void misbehave(response, file, ++count), true)
    const { id } = (await admin.post(installs, wanted)).body
    await runJobs(app)
    const progress = (await admin.get(`${installs}/${id}/progress`)).body
    expect(progress).toMatchObject({ status })
    expect(progress.log.at(-1)).toMatch(message)
    expect(count).toBe(1)
  })
})
