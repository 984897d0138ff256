import { expect, it } from 'vitest'
import { changePolicies, decisionsOf, listingPath, mirrorOf, passMinutes, publishOwn, storedInMirror } from '../support/mirror.ts'
import { alter, failWith, reset, send, type UpstreamFault } from '../support/upstream-faults.ts'
import { Upstream } from '../support/upstream.ts'

/** A part of a Sigstore bundle, as pub.dev sends it for a version that was published with an attestation. */
const bundle = {
  mediaType: 'application/vnd.dev.sigstore.bundle.v0.3+json',
  verificationMaterial: { certificate: { rawBytes: 'MIIG' }, tlogEntries: [{ logIndex: '1', inclusionPromise: null }] },
  dsseEnvelope: { payload: 'eyJfdHlwZSI6Imh0dHBzOi8vaW4tdG90by5pby9TdGF0ZW1lbnQvdjEifQ==', payloadType: 'application/vnd.in-toto+json' },
}
const upstreamPath = (version: string) => `${listingPath('colors')}/versions/${version}/attestation`
const path = (version: string) => `/mirror${upstreamPath(version)}`

async function upstreamWithColors(): Promise<Upstream> {
  const upstream = await Upstream.start()
  for (const version of ['1.0.0', '1.1.0', '2.0.0+1']) upstream.publish('colors', version)
  upstream.version('colors', '1.0.0').attestation = bundle
  upstream.version('colors', '2.0.0+1').attestation = { ...bundle, mediaType: 'later' }
  return upstream
}

it('passes attestations on unchanged, from the cache, also while the upstream server is away', async () => {
  const upstream = await upstreamWithColors()
  await using app = await mirrorOf(upstream)
  const [member, viewer] = [await app.member(), await app.viewer()]
  const first = await member.get(path('1.0.0'))
  expect(first).toMatchObject({ status: 200, body: bundle })
  expect(first.headers['content-type']).toBe('application/json; charset=utf-8')
  expect(await viewer.get(path('1.0.0'))).toMatchObject({ status: 200, body: bundle })
  expect(await member.head(path('1.0.0'))).toMatchObject({ status: 200 })
  expect(upstream.count(upstreamPath('1.0.0'))).toBe(1)
  expect(await member.get(path('2.0.0+1'))).toMatchObject({ status: 200, body: { mediaType: 'later' } })
  expect((await storedInMirror(app)).rows).toEqual(['attestation:colors:1.0.0', 'attestation:colors:2.0.0+1', 'listing:colors'])
  await upstream.stop()
  passMinutes(app, 24 * 60)
  expect(await member.get(path('1.0.0'))).toMatchObject({
    status: 200,
    body: bundle,
    headers: { warning: expect.stringContaining('Stale') },
  })
})

it('answers 404 for versions without an attestation, and asks again after a minute', async () => {
  const upstream = await upstreamWithColors()
  await using app = await mirrorOf(upstream)
  const member = await app.member()
  for (const version of ['1.1.0', '1.1.0', '9.9.9']) expect(await member.get(path(version)), version).toMatchObject({ status: 404 })
  expect((await member.get(path('1.1.0'))).body.error.message).toBe(`${upstream.url} has no attestation of colors 1.1.0.`)
  expect(upstream.count(upstreamPath('1.1.0'))).toBe(1)
  upstream.version('colors', '1.1.0').attestation = bundle
  passMinutes(app, 2)
  expect(await member.get(path('1.1.0'))).toMatchObject({ status: 200, body: bundle })
})

it('refuses unknown packages, invalid versions, own names and callers without a token, without asking', async () => {
  const upstream = await upstreamWithColors()
  await using app = await mirrorOf(upstream)
  const member = await app.member()
  await publishOwn(app, member, { name: 'ours', version: '1.0.0' })
  expect(await app.anonymous.get(path('1.0.0'))).toMatchObject({ status: 401 })
  for (const version of ['latest', '1.0', '..%2F1.0.0', '1.0.0%2F..']) expect((await member.get(path(version))).status, version).toBe(404)
  expect(await member.get('/mirror/api/packages/ours/versions/1.0.0/attestation')).toMatchObject({ status: 403 })
  expect(upstream.count()).toBe(0)
  expect(await member.get('/mirror/api/packages/none/versions/1.0.0/attestation')).toMatchObject({ status: 404 })
  expect(upstream.count()).toBe(1)
})

it('applies the policies of the version', async () => {
  const upstream = await upstreamWithColors()
  await using app = await mirrorOf(upstream)
  const member = await app.member()
  expect(await member.get(path('1.0.0'))).toMatchObject({ status: 200 })
  await changePolicies(app, { packages: { mode: 'enforce', deny: [{ name: 'colors', publisher: null, versions: '<1.1.0' }] } })
  const refused = await member.get(path('1.0.0'))
  expect(refused).toMatchObject({ status: 403, body: { error: { code: 'InsufficientPermissions' } } })
  expect(refused.body.error).toEqual((await member.get(`/mirror${listingPath('colors')}/versions/1.0.0`)).body.error)
  expect(await decisionsOf(app)).toMatchObject([{ outcome: 'refused', rule: 'packages', version: '1.0.0', count: 2 }])
  expect(await member.get(path('2.0.0+1'))).toMatchObject({ status: 200 })
})

const faults: Record<string, UpstreamFault> = {
  'a page': send('<html></html>'),
  'a list': send('[]'),
  'a text': send('"attested"'),
  nothing: send(''),
  'deeply nested JSON': send(`{"a":${'['.repeat(100)}${']'.repeat(100)}}`),
  'more than 1 MiB': send(JSON.stringify({ padding: 'x'.repeat(1024 ** 2) })),
  'status 500': failWith(500),
  'status 403': failWith(403),
  'no answer': reset,
}

it.each(Object.keys(faults))('answers 503 and stores nothing if the upstream server sends %s', async (what) => {
  const upstream = await upstreamWithColors()
  await using app = await mirrorOf(upstream)
  const member = await app.member()
  upstream.fail(upstreamPath('1.0.0'), faults[what] ?? reset)
  expect(await member.get(path('1.0.0'))).toMatchObject({ status: 503, body: { error: { code: 'ServiceUnavailable' } } })
  expect((await storedInMirror(app)).rows).toEqual(['listing:colors'])
  upstream.heal(upstreamPath('1.0.0'))
  passMinutes(app, 1)
  expect(await member.get(path('1.0.0'))).toMatchObject({ status: 200, body: bundle })
})

it('passes on members that it does not know, whatever the content type', async () => {
  const upstream = await upstreamWithColors()
  await using app = await mirrorOf(upstream)
  upstream.fail(
    upstreamPath('1.0.0'),
    alter((document) => Object.assign(document, { later: { than: null }, list: [1, 'two', false] })),
  )
  expect((await (await app.member()).get(path('1.0.0'))).body).toEqual({ ...bundle, later: { than: null }, list: [1, 'two', false] })
  upstream.fail(upstreamPath('1.1.0'), (_request, response) =>
    response.writeHead(200, { 'content-type': bundle.mediaType }).end(JSON.stringify(bundle)),
  )
  expect(await (await app.member()).get(path('1.1.0'))).toMatchObject({ status: 200, body: bundle })
})
