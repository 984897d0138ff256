import { beforeEach, describe, expect, it } from 'vitest'
import type { Actor } from '../actor.ts'
import type { TestApp } from '../app.ts'
import { lockText } from '../support/lock-text.ts'
import { changePolicies, publishOwn, decisionsOf, mirrorOf, mirrorUrl, storedInMirror } from '../support/mirror.ts'
import { publish } from '../support/publish.ts'
import { Upstream } from '../support/upstream.ts'

const now = new Date('2026-05-06T07:08:09Z')
const yesterday = new Date(now.getTime() - 86_400_000)
const path = '/mirror/api/check'
const reason = (name: string, version: string) =>
  `${name} ${version} is younger than 7 days, the minimum age on this server. It can be used from 2026-05-12 07:09 UTC.`
const tooYoung = (name: string, version: string) => ({
  policy: 'minimumAge',
  effect: 'retract',
  reason: reason(name, version),
  until: '2026-05-12T07:08:09.000Z',
})
const denied = (name: string) => ({
  policy: 'packages',
  effect: 'refuse',
  reason: `${name} 1.0.0 is denied on this server by the entry "${name}".`,
  until: null,
})
const selector = (name: string) => ({ name, publisher: null, versions: null })
type Packages = Parameters<typeof lockText>[1]

let upstream: Upstream

beforeEach(async () => {
  upstream = await Upstream.start()
  for (const name of ['evil', 'intl', 'path']) upstream.publish(name, '1.0.0')
  upstream.publish('intl', '1.1.0', { published: yesterday })
  upstream.publish('intl', '2.0.0-dev', { published: yesterday })
  upstream.publish('young', '1.0.0', { published: yesterday })
})

async function start(env: Record<string, string> = {}): Promise<TestApp> {
  const app = await mirrorOf(upstream, { now, env })
  await changePolicies(app, { minimumAge: { mode: 'enforce', days: 7 }, packages: { mode: 'enforce', deny: [selector('evil')] } })
  return app
}

const send = async (actor: Actor, packages: Packages, headers: Record<string, string> = {}) =>
  actor.post(path, await lockText(upstream, packages), { headers })

describe('the check of a lock file', () => {
  const locked: Packages = [
    { name: 'intl', version: '1.0.0', url: `${mirrorUrl}/` },
    { name: 'evil', version: '1.0.0', url: mirrorUrl },
    { name: 'path', version: '1.0.0' },
    { name: 'young', version: '1.0.0' },
    { name: 'absent', version: '1.0.0' },
    { name: 'path_provider', version: '1.0.0', url: 'https://packages.example' },
    { name: 'ours', version: '1.0.0', url: 'http://localhost:8080' },
  ]

  it('shows which policy holds a version back, and until when', async () => {
    await using app = await start()
    const reader = await app.viewer()
    const { status, headers, body } = await send(reader, locked, { 'content-type': 'application/yaml' })
    expect(status).toBe(200)
    expect(headers['content-type']).toBe('application/json; charset=utf-8')
    const one = { version: '1.0.0', dependency: 'transitive', policies: [], message: null, later: null }
    expect(body).toEqual({
      heldBack: 2,
      refused: 1,
      packages: [
        { ...one, name: 'evil', state: 'refused', policies: [denied('evil')] },
        { ...one, name: 'young', state: 'retracted', policies: [tooYoung('young', '1.0.0')] },
        { ...one, name: 'absent', state: 'unknown', message: `There is no package absent on ${upstream.url}.` },
        { ...one, name: 'intl', state: 'allowed', later: { version: '1.1.0', policies: [tooYoung('intl', '1.1.0')] } },
        { ...one, name: 'path', state: 'allowed' },
      ],
      elsewhere: 2,
      otherSources: 0,
    })
    expect(await decisionsOf(app)).toEqual([])
    const { data } = (
      await reader.graphql(
        `query ($lock: String!) { mirrorCheck(lock: $lock) { elsewhere packages { name state reason message
          verdicts { rule isEnforced effect reason until } later { version verdicts { rule } } } } }`,
        { lock: await lockText(upstream, locked) },
      )
    ).body
    expect(data.mirrorCheck.packages.map(({ name, state }: { name: string; state: string }) => [name, state])).toEqual(
      body.packages.map(({ name, state }: { name: string; state: string }) => [name, state.toUpperCase()]),
    )
    expect(data.mirrorCheck.packages[3].later).toEqual({ version: '1.1.0', verdicts: [{ rule: 'minimumAge' }] })
  })

  it('is a text with the counts in the last line if the caller prefers that', async () => {
    await using app = await start()
    const { headers, body } = await send(await app.viewer(), locked, { accept: 'text/plain' })
    expect(headers['content-type']).toBe('text/plain; charset=utf-8')
    expect(body.split('\n')).toEqual([
      `refused: evil 1.0.0: ${denied('evil').reason}`,
      `retracted: young 1.0.0: ${reason('young', '1.0.0')}`,
      `unknown: absent 1.0.0: There is no package absent on ${upstream.url}.`,
      `later: intl 1.1.0: ${reason('intl', '1.1.0')}`,
      '2 of 5 packages held back, 1 refused.',
      '',
    ])
  })

  it('counts pre-releases as later only for a locked pre-release, and needs enforced policies', async () => {
    await using app = await start()
    const reader = await app.viewer()
    const laterThan = async (version: string) => (await send(reader, [{ name: 'intl', version }])).body.packages[0]
    expect(await laterThan('1.1.0')).toMatchObject({ state: 'retracted', later: null })
    expect(await laterThan('1.0.0-dev')).toMatchObject({ state: 'unknown', later: { version: '2.0.0-dev' } })
    expect(await laterThan('3.0.0')).toMatchObject({ state: 'unknown', message: 'The mirror knows no such version.', later: null })
    await changePolicies(app, { minimumAge: { mode: 'audit' }, packages: { mode: 'off' } })
    expect((await send(reader, locked)).body).toMatchObject({ heldBack: 0, refused: 0 })
  })

  it('shows signed-in callers that own and excluded names are refused', async () => {
    await using app = await start({ UPSTREAM_NEVER: 'acme_*' })
    const member = await app.member()
    await publish(member, { name: 'ours', version: '1.0.0' })
    const requests = upstream.count()
    const packages = ['ours', 'acme_x'].map((name) => ({ name, version: '1.0.0' }))
    const { body } = await send(member, packages)
    expect(body).toMatchObject({ heldBack: 2, refused: 2 })
    expect(body.packages[1].message).toMatch(/^ours is hosted here: write "hosted: http:\/\/localhost:8080"/)
    expect(body.packages[0].message).toMatch(/UPSTREAM_NEVER/)
    expect(upstream.count()).toBe(requests)
  })

  it('uses what is in the mirror while the upstream server does not answer', async () => {
    await using app = await start()
    const reader = await app.viewer()
    await reader.get('/mirror/api/packages/young')
    await upstream.stop()
    const { body } = await send(reader, [
      { name: 'young', version: '1.0.0', sha256: 'a' },
      { name: 'path', version: '1.0.0', sha256: 'a' },
    ])
    expect(body).toMatchObject({ heldBack: 1, packages: [{ state: 'retracted' }, { name: 'path', state: 'unknown' }] })
  })
})

describe('callers of the check', () => {
  it('need what readers of the mirror need, before the body is read', async () => {
    await using app = await start()
    const text = await lockText(upstream, [{ name: 'intl', version: '1.0.0' }])
    for (const actor of [app.anonymous, app.withToken('svc_pat_wrong')])
      for (const body of [text, 'x'.repeat(900_000)]) {
        const { status, headers } = await actor.post(path, body, { headers: { 'content-type': 'text/plain' } })
        expect(status).toBe(401)
        expect(headers['www-authenticate']).toContain(`dart pub token add ${mirrorUrl}"`)
      }
    const session = await (await app.member()).session()
    expect((await session.post(path, text)).status).toBe(200)
    expect((await session.post(path, text, { headers: { 'x-csrf-token': '' } })).status).toBe(403)
    expect((await (await app.viewer()).get(path)).status).toBe(405)
  })

  it('learn nothing about own names as strangers, and cause no requests to the upstream server', async () => {
    await using app = await start({ UPSTREAM_ACCESS: 'open', UPSTREAM_NEVER: 'acme_*' })
    const member = await app.member()
    await member.get('/mirror/api/packages/young')
    await member.get('/mirror/api/packages/evil')
    for (const name of ['ours', 'evil']) await publishOwn(app, member, { name, version: '1.0.0' })
    const requests = upstream.count()
    const names = ['absent', 'acme_x', 'evil', 'intl', 'ours']
    const check = async () =>
      (
        await send(
          app.anonymous,
          [...names, 'young'].map((name) => ({ name, version: '1.0.0' })),
        )
      ).body
    const { packages } = await check()
    const unknown = { version: '1.0.0', dependency: 'transitive', state: 'unknown', policies: [], later: null }
    const message = 'It is not in the mirror yet. Policies are applied when a client reads it.'
    expect(packages).toEqual([expect.objectContaining({ name: 'young' }), ...names.map((name) => ({ ...unknown, name, message }))])
    await changePolicies(app, { minimumAge: { mode: 'off' }, packages: { mode: 'off' } })
    const without = await check()
    expect(without.packages).toEqual([
      ...names.map((name) => ({ ...unknown, name, message })),
      expect.objectContaining({ name: 'young', state: 'allowed' }),
    ])
    expect(upstream.count()).toBe(requests)
  })

  it('find no check without a mirror', async () => {
    await using app = await start({ UPSTREAM_URL: '' })
    const member = await app.member()
    expect((await member.post(path, 'packages:\n')).status).toBe(404)
    const { body } = await member.graphql('{ mirrorCheck(lock: "packages:\\n") { elsewhere } }')
    expect(body.errors[0].extensions.code).toBe('NotFound')
  })
})

describe('the body of the check', () => {
  it('may have any content type, as curl sends it, except for forms with files', async () => {
    await using app = await start()
    const reader = await app.viewer()
    const packages: Packages = [{ name: 'young', version: '1.0.0' }]
    for (const type of ['application/x-www-form-urlencoded', 'application/yaml', 'text/plain; charset=utf-8', 'application/octet-stream'])
      expect(await send(reader, packages, { 'content-type': type }), type).toMatchObject({ status: 200, body: { heldBack: 1 } })
    const form = await reader.post(path, 'x', { headers: { 'content-type': 'multipart/form-data; boundary=x' } })
    expect(form).toMatchObject({ status: 415, body: { error: { message: expect.stringContaining('--data-binary') } } })
    expect(await send(reader, packages, { 'content-encoding': 'gzip' })).toMatchObject({ status: 415 })
  })

  it('is refused with a reason if it is not a lock file of a reasonable size', async () => {
    await using app = await start()
    const reader = await app.viewer()
    const refused = async (body: string | Buffer) => {
      const { status, body: answer } = await reader.post(path, body, { headers: { 'content-type': 'text/plain' } })
      expect(answer.error.code).toBe('InvalidInput')
      return `${status} ${answer.error.message}`
    }
    const text = await lockText(upstream, [{ name: 'young', version: '1.0.0' }])
    expect(await refused('')).toMatch(/^400 The file is empty/)
    expect(await refused('name: acme\nenvironment:\n  sdk: ^3.0.0\n')).toMatch(/^400 This is a pubspec\.yaml/)
    expect(await refused(text.replaceAll('\n', ''))).toMatch(/^400 The file has no line breaks\. Send it with curl --data-binary/)
    expect(await refused('packages:\n  __proto__: {source: hosted, version: 1.0.0}\n')).toMatch(/^400 This is not a pubspec\.lock/)
    expect(await refused('packages:\n  a: &a [*a, *a]\n')).toMatch(/^400 .*anchor/)
    expect(await refused(`packages:\n${'  - '.repeat(50_000)}`)).toMatch(/^400 /)
    expect(await refused(Buffer.from([0x70, 0xff, 0xfe]))).toMatch(/^400 The body is not valid UTF-8/)
    expect(await refused(`${text}#${'x'.repeat(256 * 1024)}`)).toBe('413 The request body is larger than 262144 bytes.')
    expect(await refused('x'.repeat(1024 ** 2 + 1))).toMatch(/^413 /)
    const names = Array.from(
      { length: 1001 },
      (_, index) => `{source: hosted, version: 1.0.0, description: {url: "${mirrorUrl}"}} #${index}`,
    )
    expect(await refused(`packages:\n${names.map((entry, index) => `  p${index}: ${entry}\n`).join('')}`)).toMatch(
      /^400 The file has 1001 packages of the mirror/,
    )
  })

  it('may have names and versions that no package can have', async () => {
    await using app = await start({ UPSTREAM_ACCESS: 'open' })
    const names = ['"../../../etc/passwd"', 'constructor', 'Ünïcode', `"${'a'.repeat(300)}"`, '"a\\nb"']
    const text = `packages:\n${names.map((name) => `  ${name}: {source: hosted, version: 1.0.0}\n`).join('')}`
    const byPubDev = text.replaceAll('version: 1.0.0', `version: 1.0.0, description: {url: "${mirrorUrl}/"}`)
    for (const actor of [await app.viewer(), app.anonymous]) {
      const { status, body } = await actor.post(path, byPubDev, { headers: { 'content-type': 'text/plain' } })
      expect(status).toBe(200)
      expect(body).toMatchObject({ heldBack: 0, refused: 0 })
      for (const { state } of body.packages) expect(state).toBe('unknown')
    }
    expect((await storedInMirror(app)).rows).toEqual([])
  })
})
