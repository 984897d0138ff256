import { describe, expect, it } from 'vitest'
import { mirrorOf, mirrorUrl } from '../support/mirror.ts'
import { PubClient } from '../support/pub-client.ts'
import { Upstream } from '../support/upstream.ts'

const archives = (name: string) => [
  `/mirror/api/archives/${name}-1.0.0.tar.gz`,
  `/mirror/packages/${name}/versions/1.0.0.tar.gz`,
  `/mirror/api/packages/${name}/versions/1.0.0/archive.tar.gz`,
]
const documents = (name: string) => [
  `/mirror/api/packages/${name}`,
  ...['versions/1.0.0', 'advisories', 'score', 'options', 'publisher'].map((rest) => `/mirror/api/packages/${name}/${rest}`),
]
const paths = [
  ...['colors', 'absent', 'Not-A-Name', '%2e%2e', 'a'.repeat(80)].flatMap((name) => [...documents(name), ...archives(name)]),
  '/mirror/api/archives/nonsense',
  '/mirror/api/package-name-completion-data',
]

async function upstreamWithColors(): Promise<Upstream> {
  const upstream = await Upstream.start()
  upstream.publish('colors', '1.0.0')
  return upstream
}

const command = /dart pub token add (\S+?)"/

describe('challenges below the mirror', () => {
  it('name the address of the mirror in the command that adds a token', async () => {
    await using app = await mirrorOf(await upstreamWithColors())
    for (const actor of [app.anonymous, app.withToken('svc_pat_wrong')])
      for (const path of paths)
        for (const { status, headers } of [await actor.get(path), await actor.head(path)]) {
          if (status === 404) continue
          expect(status, path).toBe(401)
          expect(command.exec(String(headers['www-authenticate']))?.[1], path).toBe(mirrorUrl)
          expect(headers['www-authenticate'], path).toContain('http://localhost:8080/settings/tokens')
        }
    const refused = await app.withToken('svc_pat_wrong').get('/mirror/api/packages/versions/new')
    expect(command.exec(String(refused.headers['www-authenticate']))?.[1]).toBe(mirrorUrl)
    expect((await app.anonymous.get('/mirror/api/nothing/here')).status).toBe(404)
    expect((await app.anonymous.post('/mirror/api/packages/colors', {})).status).toBe(405)
    const own = await app.anonymous.get('/api/packages/colors')
    expect(command.exec(String(own.headers['www-authenticate']))?.[1]).toBe('http://localhost:8080')
  })

  it('name it below the path of SERVER_URL, also if that path looks like the mirror', async () => {
    for (const base of ['https://example.com/pub', 'https://example.com/mirror']) {
      await using app = await mirrorOf(await upstreamWithColors(), { env: { SERVER_URL: base } })
      const path = new URL(base).pathname
      for (const [url, hosted] of [
        [`${path}/mirror/api/packages/colors`, `${base}/mirror`],
        [`${path}/api/packages/colors`, base],
      ] as const) {
        const { status, headers } = await app.anonymous.get(url)
        expect(status, url).toBe(401)
        expect(command.exec(String(headers['www-authenticate']))?.[1], url).toBe(hosted)
      }
    }
  })
})

describe('a package client', () => {
  const headers = { 'user-agent': 'Dart pub 3.9.0' }
  const message = `This registry is at ${mirrorUrl}. Use that address.`

  it('keeps its token if it calls the mirror by another address', async () => {
    await using app = await mirrorOf(await upstreamWithColors())
    const token = (await app.viewer()).secret ?? ''
    const address = `${await app.listen()}/mirror`
    for (const hostedUrl of ['http://127.0.0.1:8080/mirror', 'http://registry.example/mirror']) {
      const client = new PubClient({ hostedUrl, serverUrl: mirrorUrl, address, token })
      await expect(client.download('colors', '1.0.0')).rejects.toMatchObject({ status: 403, message })
      expect(client.hasToken, hostedUrl).toBe(true)
    }
    expect(await new PubClient({ hostedUrl: mirrorUrl, address, token }).download('colors', '1.0.0')).toBeInstanceOf(Buffer)
  })

  it('gets the same answer for every archive that it requests without a token', async () => {
    await using app = await mirrorOf(await upstreamWithColors())
    for (const path of [...archives('colors'), ...archives('absent'), '/mirror/api/archives/nonsense']) {
      const answer = await app.anonymous.get(path, { headers })
      expect(answer, path).toMatchObject({ status: 403, body: { error: { code: 'InsufficientPermissions', message } } })
      expect((await app.anonymous.get(path, { headers: { 'user-agent': 'curl/8.5.0' } })).status, path).toBe(401)
      expect((await app.withToken('svc_pat_wrong').get(path, { headers })).status, path).toBe(401)
    }
    for (const path of documents('colors')) expect((await app.anonymous.get(path, { headers })).status, path).toBe(401)
  })

  it('needs no token for archives of an open mirror', async () => {
    await using app = await mirrorOf(await upstreamWithColors(), { env: { UPSTREAM_ACCESS: 'open' } })
    for (const path of archives('colors')) expect((await app.anonymous.get(path, { headers })).status, path).toBeLessThan(400)
  })
})
