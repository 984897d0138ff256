import { expect, it } from 'vitest'
import { archivePath, changePolicies, listingPath, mirrorOf } from '../../support/mirror.ts'
import { Upstream } from '../../support/upstream.ts'

const now = new Date('2026-05-06T07:08:09Z')
const day = 86_400_000
const path = '/api/admin/mirror/exemptions'
const archive = (name: string, version: string) => `/mirror${archivePath(name, version)}`
const bloc = { packageName: 'bloc', rule: 'licenses', reason: 'Approved by Legal' }

/** Starts a mirror of `bloc`, whose license is not allowed. */
async function blocMirror() {
  const upstream = await Upstream.start()
  for (const version of ['9.2.0', '9.2.1']) upstream.publish('bloc', version, { files: { 'README.md': '# Predictable state' } })
  upstream.package('bloc').tags = ['license:mit']
  const app = await mirrorOf(upstream, { now })
  await changePolicies(app, { licenses: { mode: 'enforce', allow: ['apache-2.0'] } })
  const [admin, member] = [await app.admin(), await app.member()]
  const status = async (version: string) => (await member.get(archive('bloc', version))).status
  return { upstream, app, admin, member, status, [Symbol.asyncDispose]: () => app[Symbol.asyncDispose]() }
}

it('exempts one version until the exemption ends, and records who exempted it and why', async () => {
  await using mirror = await blocMirror()
  const { admin, member, app, status } = mirror
  const refused = await member.get(archive('bloc', '9.2.1'))
  const message = 'bloc 9.2.1 uses the MIT license, which this server does not allow.'
  expect(refused).toMatchObject({ status: 403, body: { error: { code: 'InsufficientPermissions', message } } })
  expect(refused.headers['www-authenticate']).toContain(`message="${message}"`)
  const until = new Date(now.getTime() + day).toISOString()
  const added = await admin.post(path, { ...bloc, version: '9.2.1', until })
  const exemption = { ...bloc, version: '9.2.1', until, createdAt: now.toISOString(), createdBy: { displayName: admin.user.displayName } }
  expect(added).toMatchObject({ status: 201, body: exemption })
  expect((await admin.get('/api/admin/mirror/policies')).body.exemptions).toEqual([added.body])
  expect([await status('9.2.0'), await status('9.2.1')]).toEqual([403, 200])
  expect((await member.get(`/mirror${listingPath('bloc')}`)).body.versions).toMatchObject([{ version: '9.2.1' }])
  app.clock.now = new Date(now.getTime() + day)
  expect(await status('9.2.1')).toBe(403)
  expect((await admin.get('/api/admin/mirror/policies')).body.exemptions).toEqual([])
  const { entries } = (await admin.get('/api/admin/audit-log?kind=server.mirror_exemption_added')).body
  expect(entries).toMatchObject([
    { summary: `${admin.user.displayName} exempted bloc 9.2.1 from the policy "licenses" until 2026-05-07: Approved by Legal` },
  ])
})

it('exempts a whole package from one policy only, until the exemption is removed', async () => {
  await using mirror = await blocMirror()
  const { admin, app, status } = mirror
  const { body: first } = await admin.post(path, bloc)
  expect([await status('9.2.0'), await status('9.2.1')]).toEqual([200, 200])
  const { body: second } = await admin.post(path, { ...bloc, reason: 'Approved again' })
  expect(second.id).not.toBe(first.id)
  expect((await admin.get('/api/admin/mirror/policies')).body).toMatchObject({ revision: 1, exemptions: [{ reason: 'Approved again' }] })
  await changePolicies(app, { packages: { mode: 'enforce', deny: [{ name: 'bloc', publisher: null, versions: '9.2.1' }] } })
  expect([await status('9.2.0'), await status('9.2.1')]).toEqual([200, 403])
  expect(await admin.delete(`${path}/${second.id}`)).toMatchObject({ status: 200 })
  expect(await status('9.2.0')).toBe(403)
  expect(await admin.delete(`${path}/${second.id}`)).toMatchObject({ status: 404, body: { error: { code: 'NotFound' } } })
})

it('refuses exemptions that are in the past, nameless or too many, and keeps them when policies change', async () => {
  await using mirror = await blocMirror()
  const { admin } = mirror
  const invalid = { status: 400, body: { error: { code: 'InvalidInput' } } }
  expect(await admin.post(path, { ...bloc, until: now.toISOString() })).toMatchObject(invalid)
  for (const change of [{ packageName: '../x' }, { rule: 'age' }, { reason: ' ' }, { reason: 'x'.repeat(201) }, { version: 'one' }])
    expect(await admin.post(path, { ...bloc, ...change })).toMatchObject(invalid)
  const policies = (await admin.get('/api/admin/mirror/policies')).body
  const one = { ...bloc, name: 'bloc', version: null, until: null, createdAt: now.toISOString(), userId: admin.id }
  const exemptions = Array.from({ length: 200 }, (_, index) => ({ ...one, id: String(index), name: `p${index}` }))
  await mirror.app.services.database
    .fork()
    .getConnection()
    .execute('update server_settings set value = ? where key = ?', [JSON.stringify({ ...policies, exemptions }), 'mirror_policies'])
  expect(await admin.post(path, bloc)).toMatchObject({ status: 409, body: { error: { code: 'Conflict' } } })
  expect(await admin.post(path, { ...bloc, packageName: 'p7' })).toMatchObject({ status: 201 })
  const changed = await admin.put('/api/admin/mirror/policies', { minimumAge: { ...policies.minimumAge, mode: 'audit' } })
  expect(changed.body.exemptions).toHaveLength(200)
})

it('shows administrators the README of a package that the policies refuse', async () => {
  await using mirror = await blocMirror()
  const query = '{ upstreamPackage(name: "bloc") { latest { version } readme } }'
  const readme = async (actor: typeof mirror.admin) => (await actor.graphql(query)).body.data.upstreamPackage
  expect(await readme(mirror.admin)).toMatchObject({ latest: null, readme: expect.stringContaining('Predictable state') })
  expect(await readme(mirror.member)).toEqual({ latest: null, readme: null })
  expect(await mirror.status('9.2.1')).toBe(403)
})
