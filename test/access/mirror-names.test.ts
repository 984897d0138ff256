import { expect, it } from 'vitest'
import { decoyName } from '../../server/registry/mirror/access.ts'
import type { TestApp } from '../app.ts'
import type { Actor } from '../actor.ts'
import { mirrorOf, passMinutes, publishOwn } from '../support/mirror.ts'
import { failWith, reset } from '../support/upstream-faults.ts'
import { Upstream } from '../support/upstream.ts'

const own = ['ours', 'gone', 'acme_secret', `long_${'x'.repeat(59)}`]
const documents = ['', '/versions/1.0.0', '/advisories', '/score', '/options', '/publisher', '/versions/1.0.0/attestation']
/** All paths of the mirror, for a package with a version 1.0.0. */
const pathsOf = (name: string) => [
  ...documents.map((rest) => `/mirror/api/packages/${name}${rest}`),
  `/mirror/api/archives/${name}-1.0.0.tar.gz`,
  `/mirror/packages/${name}/versions/1.0.0.tar.gz`,
  `/mirror/api/packages/${name}/versions/1.0.0/archive.tar.gz`,
]

/** Starts an open mirror on a server with a private, a deleted and an excluded name, all of which the upstream server has. */
async function openMirror(upstream: Upstream): Promise<TestApp> {
  for (const name of own) upstream.publish(name, '1.0.0')
  const app = await mirrorOf(upstream, { env: { UPSTREAM_ACCESS: 'open', UPSTREAM_NEVER: 'acme_*' } })
  const [member, admin] = [await app.member(), await app.admin()]
  for (const name of own) if (name !== 'acme_secret') await publishOwn(app, member, { name, version: '1.0.0' })
  await admin.delete('/api/admin/packages/gone')
  return app
}

let requested = 0

/** What a caller can see of a response, without what differs between any two responses. */
async function seen(actor: Actor, method: 'GET' | 'HEAD', path: string, name: string) {
  // From many networks, whose limits of unknown names are not reached.
  const { status, headers, body } = await actor.send(method, path, undefined, { ip: `198.18.${requested++ % 250}.1` })
  const { date: _date, 'x-request-id': _id, 'content-length': _length, location = '', ...rest } = headers
  const text = JSON.stringify({ ...rest, location, body: body?.error ?? body })
  return { status, text: text.replaceAll(name, '<name>').replace(/"requestId":"[^"]*"/, '') }
}

/** Compares the responses for own names with those for unknown ones of the same length, which the upstream server has never heard of. */
async function expectAlike(app: TestApp, statuses: number[]): Promise<void> {
  for (const method of ['GET', 'HEAD'] as const)
    for (const name of own) {
      const unknown = `q${name.slice(1)}`
      for (const [index, path] of pathsOf(name).entries()) {
        const other = pathsOf(unknown)[index] ?? ''
        const [hidden, missing] = [await seen(app.anonymous, method, path, name), await seen(app.anonymous, method, other, unknown)]
        expect(hidden, `${method} ${path}`).toEqual(missing)
        expect(statuses, `${method} ${path}`).toContain(hidden.status)
      }
    }
}

it('shows strangers of an open mirror the response of an unknown name for every own name', async () => {
  const upstream = await Upstream.start()
  await using app = await openMirror(upstream)
  await expectAlike(app, [404, 303])
  // An answer is kept for a minute, for own names too.
  const requests = upstream.count()
  await expectAlike(app, [404, 303])
  expect(upstream.count()).toBe(requests)
  passMinutes(app, 2)
  for (const name of ['ours', 'none']) {
    const before = upstream.count()
    await app.anonymous.get(`/mirror/api/packages/${name}`)
    expect(upstream.count(), name).toBe(before + 1)
  }
  for (const name of own) expect(upstream.mentions(name), name).toBe(false)
})

it('shows them the same failures while the upstream server is away', async () => {
  const upstream = await Upstream.start()
  await using app = await openMirror(upstream)
  await upstream.stop()
  await expectAlike(app, [503, 303])
  expect(upstream.count()).toBe(0)
})

it('passes failures for the decoy on as failures for the name', async () => {
  const upstream = await Upstream.start()
  await using app = await openMirror(upstream)
  const faults = [failWith(500), failWith(429), failWith(403), reset]
  for (const [index, fault] of faults.entries()) {
    const [name, unknown] = ['ours', `non${'abcd'[index]}`]
    const decoy = decoyName(app.services, name) ?? ''
    for (const path of [decoy, unknown]) upstream.fail(`/api/packages/${path}`, fault)
    passMinutes(app, 2)
    const hidden = await seen(app.anonymous, 'GET', `/mirror/api/packages/${name}`, name)
    expect(hidden).toEqual(await seen(app.anonymous, 'GET', `/mirror/api/packages/${unknown}`, unknown))
    expect(hidden.status).toBe(503)
    expect(hidden.text).not.toContain(decoy)
  }
})

it('answers 404 even if the upstream server has a package with the name of the decoy', async () => {
  const upstream = await Upstream.start()
  await using app = await openMirror(upstream)
  const decoy = decoyName(app.services, 'ours') ?? ''
  upstream.publish(decoy, '1.0.0')
  for (const path of pathsOf('ours')) {
    const { status, text } = await seen(app.anonymous, 'GET', path, 'ours')
    expect([404, 303], path).toContain(status)
    expect(text, path).not.toContain(decoy)
  }
})

it('waits for the upstream server before it answers strangers for an own name', async () => {
  const upstream = await Upstream.start()
  await using app = await openMirror(upstream)
  const decoy = decoyName(app.services, 'ours') ?? ''
  const { arrived, release } = upstream.hold(`/api/packages/${decoy}`)
  let isAnswered = false
  const answer = app.anonymous.get('/mirror/api/packages/ours').finally(() => (isAnswered = true))
  await arrived
  // Members do not wait.
  expect(await (await app.member()).get('/mirror/api/packages/ours')).toMatchObject({ status: 403 })
  expect(isAnswered).toBe(false)
  release()
  expect(await answer).toMatchObject({ status: 404 })
})

it('hides own names in GraphQL as well, and shows members what they saw before', async () => {
  const upstream = await Upstream.start()
  await using app = await openMirror(upstream)
  const ask = async (actor: Actor, name: string) =>
    (await actor.graphql('query ($name: String!) { upstreamPackage(name: $name) { name } }', { name })).body
  const none = { data: { upstreamPackage: null } }
  const member = await app.member()
  for (const name of own) {
    const before = upstream.count()
    expect(await ask(member, name)).toMatchObject(none)
    expect(await member.get(`/mirror/api/packages/${name}`)).toMatchObject({ status: 403 })
    expect(upstream.count()).toBe(before)
    expect(await ask(app.anonymous, name)).toMatchObject(none)
    expect(upstream.count()).toBe(before + 1)
  }
  await upstream.stop()
  passMinutes(app, 2)
  for (const name of [...own, 'none'])
    expect(await ask(app.anonymous, name)).toMatchObject({ errors: [{ extensions: { code: 'ServiceUnavailable' } }] })
  for (const name of own) expect(await ask(member, name)).toMatchObject(none)
})

it('derives decoys that are valid names, differ for each name and server, and are not excluded', async () => {
  const upstream = await Upstream.start()
  await using app = await mirrorOf(upstream, { env: { UPSTREAM_ACCESS: 'open', UPSTREAM_NEVER: 'a*, b*, c*, d*, e*, f*, g*' } })
  const decoys = [...own, 'a', 'b'].map((name) => decoyName(app.services, name))
  expect(new Set(decoys).size).toBe(6)
  for (const decoy of decoys) expect(decoy).toMatch(/^[h-p][a-p]{23,63}$/)
  expect(decoyName(app.services, own[3] ?? '')).toHaveLength(64)
  const { keys } = app.services
  expect(decoyName({ config: app.config, keys: { ...keys, decoy: keys.upload } }, 'a')).not.toBe(decoys[4])
  await using closed = await mirrorOf(upstream, { env: { UPSTREAM_ACCESS: 'open', UPSTREAM_NEVER: '*' } })
  expect(decoyName(closed.services, 'ours')).toBeNull()
  for (const name of ['ours', 'none']) expect(await closed.anonymous.get(`/mirror/api/packages/${name}`)).toMatchObject({ status: 404 })
  expect(upstream.count()).toBe(0)
})
