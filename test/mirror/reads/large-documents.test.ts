import { describe, expect, it } from 'vitest'
import { advisoryFor } from '../../support/upstream-packages.ts'
import { archivePath, changePolicies, decisionsOf, listingPath, mirrorOf, passMinutes } from '../../support/mirror.ts'
import type { UpstreamFault } from '../../support/upstream-faults.ts'
import { Upstream } from '../../support/upstream.ts'

const sendText =
  (text: string): UpstreamFault =>
  (_request, response) =>
    response.writeHead(200, { 'content-type': 'application/json' }).end(text)

async function start(env: Record<string, string> = {}) {
  const upstream = await Upstream.start()
  const app = await mirrorOf(upstream, { env })
  return { upstream, app, member: await app.member(), [Symbol.asyncDispose]: () => app[Symbol.asyncDispose]() }
}

type Body = { versions: { version: string }[] }
const versionsIn = ({ versions }: Body) => versions.map(({ version }) => version)

/** Returns the text of a listing with these pubspec fields by version. */
const listingOf = (name: string, fields: Record<string, string>, extra = '') => {
  const versions = Object.entries(fields).map(
    ([version, field]) => `{"version":"${version}","pubspec":{"name":"${name}","version":"${version}"${field}}}`,
  )
  return `{"name":"${name}"${extra},"versions":[${versions.join(',')}]}`
}
const empties = (count: number) => `[${Array(count).fill('{}').join(',')}]`

describe('a listing', () => {
  it.each([
    ['many objects', `,"o":${empties(50_000)}`],
    ['many numbers', `,"o":[${Array(50_000).fill('1').join(',')}]`],
    ['many keys', `,"o":{${Array.from({ length: 50_000 }, (_, key) => `"${key}":1`).join(',')}}`],
    ['a long text', `,"o":"${'x'.repeat(300_000)}"`],
    ['a text of quotation marks', `,"o":"${String.raw`\"`.repeat(200_000)}"`],
  ])('leaves out a version with %s, and keeps the others', async (_what, field) => {
    await using mirror = await start()
    const { upstream, app, member } = mirror
    upstream.fail(listingPath('mixed'), sendText(listingOf('mixed', { '1.0.0': '', '1.1.0': field, '1.2.0': ',"description":"fine"' })))
    const { status, body } = await member.get(`/mirror${listingPath('mixed')}`)
    expect({ status, versions: versionsIn(body) }).toEqual({ status: 200, versions: ['1.0.0', '1.2.0'] })
    expect((await member.get(`/mirror${listingPath('mixed')}/versions/1.1.0`)).status).toBe(404)
    expect((await member.get(`/mirror${listingPath('mixed')}/versions/1.2.0`)).body.pubspec.description).toBe('fine')
    expect((await decisionsOf(app)).map(({ rule, reason }) => `${rule}: ${reason}`)).toContain(
      'listing: The listing of mixed has a version with more than 10000 values or 262144 bytes, left out.',
    )
  })

  it('is refused if all versions are too large, and as soon as it has too many values', async () => {
    await using mirror = await start()
    const { upstream, app, member } = mirror
    const huge = Object.fromEntries(Array.from({ length: 100 }, (_, n) => [`1.0.${n}`, `,"o":${empties(50_000)}`]))
    upstream.fail(listingPath('huge'), sendText(listingOf('huge', huge)))
    upstream.fail(listingPath('wide'), sendText(listingOf('wide', { '1.0.0': '' }, `,"o":[${Array(1_000_001).fill('1').join(',')}]`)))
    for (const name of ['huge', 'wide'])
      for (const path of ['', '/versions/1.0.0'])
        expect((await member.get(`/mirror${listingPath(name)}${path}`)).status, name + path).toBe(503)
    const reasons = (await decisionsOf(app)).map(({ reason }) => reason)
    expect(reasons).toContain('The listing of huge has 100 versions with more than 10000 values or 262144 bytes, left out.')
    expect(reasons).toContain('The upstream server sent an unusable /api/packages/wide: the document has more than 1000000 values.')
  })

  it('is refused if it can hardly be compressed', async () => {
    await using mirror = await start()
    const random = () => Array.from({ length: 12_000 }, () => Math.random().toString(36).slice(2)).join('')
    const versions = Object.fromEntries(Array.from({ length: 60 }, (_, n) => [`1.0.${n}`, `,"o":"${random()}"`]))
    mirror.upstream.fail(listingPath('noise'), sendText(listingOf('noise', versions)))
    const { status, body } = await mirror.member.get(`/mirror${listingPath('noise')}`)
    expect({ status, message: body.error.message }).toMatchObject({
      status: 503,
      message: expect.stringContaining('the document has more than 2097152 bytes, compressed'),
    })
  })

  it('with thousands of ordinary versions is served whole', async () => {
    await using mirror = await start()
    const { upstream, member } = mirror
    const dependencies = Array.from({ length: 40 }, (_, n) => `"package_${n}":"^1.0.0"`).join(',')
    const versions = Object.fromEntries(Array.from({ length: 5000 }, (_, n) => [`1.0.${n}`, `,"dependencies":{${dependencies}}`]))
    upstream.fail(listingPath('large'), sendText(listingOf('large', versions)))
    const { status, body } = await member.get(`/mirror${listingPath('large')}`)
    expect({ status, count: (body as Body).versions.length, latest: body.latest.version }).toEqual({
      status: 200,
      count: 5000,
      latest: '1.0.4999',
    })
    for (const version of ['1.0.0', '1.0.2500', '1.0.4999'])
      expect((await member.get(`/mirror${listingPath('large')}/versions/${version}`)).body, version).toEqual(
        body.versions.find((one: { version: string }) => one.version === version),
      )
    for (const version of ['1.0.5000', '1.0', '1.0.2500 '])
      expect((await member.get(`/mirror${listingPath('large')}/versions/${encodeURIComponent(version)}`)).status, version).toBe(404)
  })
})

describe('other documents', () => {
  it('are refused if they have too many values or bytes', async () => {
    await using mirror = await start()
    const { upstream, app, member } = mirror
    upstream.publish('http', '1.0.0')
    const list = (count: number) => `[${Array(count).fill('"a"').join(',')}]`
    const advisories = (count: number) =>
      JSON.stringify({ advisories: Array.from({ length: count }, (_, n) => ({ id: `A-${n}` })), advisoriesUpdated: null })
    const sent: [kind: string, text: string, problem: string][] = [
      ['score', `{"tags":${list(3_000_000)}}`, 'bytes'],
      ['score', `{"tags":${list(20_000)}}`, 'values'],
      ['options', `{"o":${empties(20_000)}}`, 'values'],
      ['publisher', `{"publisherId":"${'x'.repeat(2_000_000)}"}`, 'bytes'],
      ['advisories', advisories(20_000), 'advisories'],
      ['advisories', `{"advisories":[{"id":"A","o":${empties(250_000)}}],"advisoriesUpdated":null}`, 'values'],
    ]
    for (const [kind, text, problem] of sent) {
      upstream.fail(`${listingPath('http')}/${kind}`, sendText(text))
      passMinutes(app, 1)
      const { status, body } = await member.get(`/mirror${listingPath('http')}/${kind}`)
      expect({ status, message: body.error.message }, kind).toMatchObject({ status: 503, message: expect.stringContaining(problem) })
    }
    upstream.fail('/api/package-name-completion-data', sendText(`{"packages":${list(500_000)}}`))
    expect((await member.get('/mirror/api/package-name-completion-data')).status).toBe(503)
    expect((await decisionsOf(app)).filter(({ rule }) => rule === 'document').length).toBe(sent.length)
    expect((await member.get(`/mirror${listingPath('http')}`)).status).toBe(200)
  })

  it('are the same for clients with and without gzip', async () => {
    await using mirror = await start()
    mirror.upstream.publish('http', '1.0.0')
    const address = await mirror.app.listen()
    for (const kind of ['score', 'options', 'publisher', 'advisories']) {
      const [packed, plain] = await Promise.all(
        ['gzip', 'identity'].map((encoding) =>
          fetch(`${address}/mirror${listingPath('http')}/${kind}`, {
            headers: { authorization: `Bearer ${mirror.member.secret}`, 'accept-encoding': encoding },
          }),
        ),
      )
      expect(packed?.headers.get('content-encoding'), kind).toBe('gzip')
      expect(plain?.headers.get('content-encoding'), kind).toBeNull()
      expect(await packed?.text(), kind).toEqual(await plain?.text())
    }
  })
})

it('does not compare versions with more advisories than it can, and refuses the package if the policy is enforced', async () => {
  await using mirror = await start()
  const { upstream, app, member } = mirror
  const versions = Object.fromEntries(Array.from({ length: 10_000 }, (_, n) => [`1.0.${n}`, '']))
  upstream.fail(listingPath('many'), sendText(listingOf('many', versions, ',"advisoriesUpdated":"2025-03-04T05:06:07Z"')))
  const advisories = Array.from({ length: 900 }, (_, n) => advisoryFor('many', { id: `GHSA-${n}`, affected: [], fixed: '0.9.0' }))
  upstream.fail(`${listingPath('many')}/advisories`, sendText(JSON.stringify({ advisories, advisoriesUpdated: '2025-03-04T05:06:07Z' })))
  expect((await member.get(`/mirror${listingPath('many')}`)).status).toBe(200)
  await changePolicies(app, { advisories: { mode: 'audit' } })
  expect((await member.get(`/mirror${listingPath('many')}`)).status).toBe(200)
  await changePolicies(app, { advisories: { mode: 'enforce' } })
  for (const path of [listingPath('many'), `${listingPath('many')}/versions/1.0.1`, archivePath('many', '1.0.1')]) {
    const { status, body } = await member.get(`/mirror${path}`)
    expect({ status, message: body.error.message }, path).toEqual({
      status: 403,
      message:
        'many is not available, because security advisories about it cannot be read: they are too many to compare them with 10000 versions.',
    })
  }
})
