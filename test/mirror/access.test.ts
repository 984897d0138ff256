import { describe, expect, it } from 'vitest'
import { testApp } from '../app.ts'
import { listingPath, mirrorClient, mirrorOf, passMinutes, publishOwn } from '../support/mirror.ts'
import { pubGet } from '../support/pub-get.ts'
import { Upstream } from '../support/upstream.ts'

/** All paths of the mirror, for a package with a version 1.0.0. */
const pathsOf = (name: string) => [
  `/mirror/api/packages/${name}`,
  ...['versions/1.0.0', 'versions/1.0.0/attestation', 'advisories', 'score', 'options', 'publisher'].map(
    (rest) => `/mirror/api/packages/${name}/${rest}`,
  ),
  `/mirror/api/archives/${name}-1.0.0.tar.gz`,
  `/mirror/packages/${name}/versions/1.0.0.tar.gz`,
  `/mirror/api/packages/${name}/versions/1.0.0/archive.tar.gz`,
]
const paths = [...pathsOf('colors'), '/mirror/api/package-name-completion-data']

async function upstreamWithColors(): Promise<Upstream> {
  const upstream = await Upstream.start()
  upstream.publish('colors', '1.0.0').attestation = {}
  return upstream
}

describe('the mirror', () => {
  it('does not exist without UPSTREAM_URL', async () => {
    await using app = await testApp()
    const member = await app.member()
    for (const path of [...paths, '/mirror/api/packages/versions/new'])
      for (const actor of [member, app.anonymous]) expect((await actor.get(path)).status, path).toBe(404)
  })

  it('requires a token, and its message names the page to create one', async () => {
    const upstream = await upstreamWithColors()
    await using app = await mirrorOf(upstream)
    for (const path of paths) {
      const { status, headers } = await app.anonymous.get(path)
      expect(status, path).toBe(401)
      expect(headers['www-authenticate'], path).toMatch(
        /^Bearer realm="pub", message="[^"]*http:\/\/localhost:8080\/settings\/tokens[^"]*"$/,
      )
    }
    expect(upstream.count()).toBe(0)
    const client = mirrorClient(await app.listen())
    await expect(client.listing('colors')).rejects.toMatchObject({ status: 401, message: expect.stringContaining('/settings/tokens') })
  })

  it('allows every role to read, also with a session, and no invalid token', async () => {
    const upstream = await upstreamWithColors()
    await using app = await mirrorOf(upstream)
    const member = await app.member()
    for (const actor of [await app.owner(), await app.admin(), member, await app.viewer(), await member.session()])
      for (const path of paths) expect((await actor.get(path)).status, path).toBeLessThan(400)
    for (const path of paths) expect((await app.withToken('not-a-token').get(path)).status, path).toBe(401)
  })

  it('is open to everyone with UPSTREAM_ACCESS=open, except for invalid tokens', async () => {
    const upstream = await upstreamWithColors()
    await using app = await mirrorOf(upstream, { env: { UPSTREAM_ACCESS: 'open' } })
    for (const path of paths) expect((await app.anonymous.get(path)).status, path).toBeLessThan(400)
    expect((await app.withToken('not-a-token').get('/mirror/api/packages/colors')).status).toBe(401)
    const archive = await mirrorClient(await app.listen()).download('colors', '1.0.0')
    expect(archive.equals(await upstream.version('colors', '1.0.0').archive())).toBe(true)
  })

  it('refuses uploads with the address to publish to', async () => {
    const upstream = await upstreamWithColors()
    await using app = await mirrorOf(upstream)
    const answer = await (await app.member()).get('/mirror/api/packages/versions/new')
    expect(answer).toMatchObject({ status: 403, body: { error: { code: 'InsufficientPermissions' } } })
    expect(answer.headers['www-authenticate']).toContain('Publish to http://localhost:8080')
  })

  it('leaves own, deleted and reserved names, and names in UPSTREAM_NEVER, out of the completion in editors', async () => {
    const upstream = await upstreamWithColors()
    for (const name of ['ours', 'gone', 'acme_secret']) upstream.publish(name, '9.0.0')
    await using app = await mirrorOf(upstream, { env: { UPSTREAM_NEVER: 'acme_*' } })
    const [member, admin] = [await app.member(), await app.admin()]
    for (const name of ['ours', 'gone']) await publishOwn(app, member, { name, version: '1.0.0' })
    expect((await admin.delete('/api/admin/packages/gone')).status).toBeLessThan(300)
    const names = async () => (await member.get('/mirror/api/package-name-completion-data')).body
    expect(await names()).toEqual({ packages: ['colors'] })
    await publishOwn(app, member, { name: 'colors', version: '1.0.0' })
    passMinutes(app, 11)
    expect(await names()).toEqual({ packages: [] })
  })

  it('never asks the upstream server for own, deleted and reserved names, nor for names in UPSTREAM_NEVER', async () => {
    const upstream = await Upstream.start()
    for (const name of ['ours', 'gone', 'acme_secret', 'internal']) upstream.publish(name, '9.0.0')
    await using app = await mirrorOf(upstream, { env: { UPSTREAM_NEVER: 'acme_*, internal' } })
    const [member, admin] = [await app.member(), await app.admin()]
    for (const name of ['ours', 'gone']) await publishOwn(app, member, { name, version: '1.0.0' })
    expect((await admin.delete('/api/admin/packages/gone')).status).toBeLessThan(300)
    const messages = {
      ours: 'ours is hosted here: write \\"hosted: http://localhost:8080\\"',
      gone: 'gone is hosted here',
      acme_secret: 'acme_secret is never taken from',
      internal: 'internal is never taken from',
    }
    for (const [name, message] of Object.entries(messages))
      for (const path of pathsOf(name)) {
        const answer = await member.get(path)
        expect(answer.status, path).toBe(403)
        expect(answer.headers['www-authenticate'], path).toContain(message)
        expect((await app.anonymous.get(path)).status, path).toBe(401)
      }
    expect(upstream.count()).toBe(0)
  })

  it('has packages whose name starts with an underscore, on which many others depend', async () => {
    const upstream = await upstreamWithColors()
    const name = '_fe_analyzer_shared'
    upstream.publish(name, '1.0.0').attestation = {}
    upstream.publish('analyzer', '1.0.0', { pubspec: { dependencies: { [name]: '^1.0.0' } } })
    await using app = await mirrorOf(upstream)
    const member = await app.member()
    for (const path of pathsOf(name)) expect((await member.get(path)).status, path).toBeLessThan(400)
    const { lock } = await pubGet(mirrorClient(await app.listen(), member.secret), { analyzer: 'any' })
    expect(lock).toEqual({ analyzer: '1.0.0', [name]: '1.0.0' })
  })

  it('refuses names and versions that no package can have without a request', async () => {
    const upstream = await upstreamWithColors()
    await using app = await mirrorOf(upstream)
    const member = await app.member()
    for (const name of ['..%2F..%2Fadmin', 'Colors!', 'a-b', '%00', 'x'.repeat(65), '1st'])
      for (const path of pathsOf(name)) expect((await member.get(path)).status, path).toBe(404)
    for (const path of ['versions/..%2F1.0.0', 'versions/latest', 'versions/1.0', 'unknown'])
      expect((await member.get(`/mirror${listingPath('colors')}/${path}`)).status, path).toBe(404)
    expect(upstream.count()).toBe(0)
  })
})
