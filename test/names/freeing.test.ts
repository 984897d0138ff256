import { expect, it } from 'vitest'
import { testApp } from '../app.ts'
import { packageArchive } from '../support/archive.ts'
import { interleave } from '../support/interleave.ts'
import { listingPath, mirrorOf, publishOwn } from '../support/mirror.ts'
import { finish, publish, publishArchive, upload } from '../support/publish.ts'
import { Upstream } from '../support/upstream.ts'

const ways = {
  'REST, package': 'DELETE /api/admin/packages/http?freeName=true',
  'REST, last version': 'DELETE /api/admin/packages/http/versions/1.0.0?freeName=true',
  'GraphQL, package': 'mutation { deletePackage(input: { package: "http", freeName: true }) }',
  'GraphQL, last version': 'mutation { deleteVersion(input: { package: "http", version: "1.0.0", freeName: true }) }',
}

it.each(Object.entries(ways))('frees the name along with the package (%s), and the mirror serves it again', async (_way, request) => {
  const upstream = await Upstream.start()
  upstream.publish('http', '0.9.0')
  await using app = await mirrorOf(upstream)
  const [alice, admin] = [await app.member(), await app.admin()]
  const mirrored = async () => (await alice.get(`/mirror${listingPath('http')}`)).status
  expect(await mirrored()).toBe(200)
  await publishOwn(app, alice, { name: 'http', version: '1.0.0' })
  expect(await mirrored()).toBe(403)
  const [method = '', path = ''] = request.split(' ')
  const { status } = method === 'DELETE' ? await admin.delete(path) : await admin.graphql(request)
  expect(status).toBe(200)
  expect(await mirrored()).toBe(200)
  expect((await admin.get('/api/admin/reserved-names')).body.names).toEqual([])
  const { entries } = (await admin.get('/api/admin/audit-log?kind=package.name_freed')).body
  expect(entries).toMatchObject([{ package: 'http', summary: `${admin.user.displayName} freed the name http` }])
  // The next package of this name waits again, and cannot reuse the deleted version.
  const next = await publishArchive(alice, await packageArchive({ name: 'http', version: '1.1.0' }))
  expect(next).toMatchObject({ status: 400, body: { error: { code: 'PackageRejected' } } })
  await admin.put('/api/admin/confusable-names/http')
  expect(await publishArchive(alice, await packageArchive({ name: 'http', version: '1.0.0' }))).toMatchObject({ status: 409 })
  await publish(alice, { name: 'http', version: '1.1.0' })
})

it('reserves the name without the option, and while versions are left', async () => {
  const upstream = await Upstream.start()
  for (const name of ['http', 'path']) upstream.publish(name, '0.9.0')
  await using app = await mirrorOf(upstream)
  const [alice, admin] = [await app.member(), await app.admin()]
  await publishOwn(app, alice, { name: 'path', version: '1.0.0' })
  await publish(alice, { name: 'path', version: '1.1.0' })
  expect(await admin.delete('/api/admin/packages/path/versions/1.0.0?freeName=true')).toMatchObject({ status: 200 })
  expect(await alice.get(`/mirror${listingPath('path')}`)).toMatchObject({ status: 403 })
  await admin.delete('/api/admin/packages/path?freeName=false')
  expect(await alice.get(`/mirror${listingPath('path')}`)).toMatchObject({ status: 403 })
  await publish(alice, { name: 'ours', version: '1.0.0' })
  await admin.delete('/api/admin/packages/ours')
  await alice.get('/mirror/api/package-name-completion-data')
  expect((await admin.get('/api/admin/reserved-names')).body.names).toMatchObject([
    { name: 'ours', isUpstream: false },
    { name: 'path', isUpstream: true },
  ])
  // Freeing the name later does not approve it for packages here.
  expect(await admin.delete('/api/admin/reserved-names/path')).toMatchObject({ status: 200 })
  expect(await alice.get(`/mirror${listingPath('path')}`)).toMatchObject({ status: 200 })
  expect(await publishArchive(alice, await packageArchive({ name: 'path', version: '2.0.0' }))).toMatchObject({ status: 400 })
  for (const actor of [alice, await app.viewer()])
    expect(await actor.delete('/api/admin/packages/http?freeName=true')).toMatchObject({ status: 403 })
})

it('shows administrators whether the upstream server has the name of a package, without asking it', async () => {
  const upstream = await Upstream.start()
  for (const name of ['http', 'path']) upstream.publish(name, '0.9.0')
  await using app = await mirrorOf(upstream)
  const [alice, admin] = [await app.member(), await app.admin()]
  await alice.get(`/mirror${listingPath('http')}`)
  for (const name of ['http', 'path']) await publishOwn(app, alice, { name, version: '1.0.0' })
  const requests = upstream.count()
  const query = '{ http: package(name: "http") { isUpstreamName } path: package(name: "path") { isUpstreamName } }'
  expect((await admin.graphql(query)).body.data).toEqual({ http: { isUpstreamName: true }, path: { isUpstreamName: false } })
  expect((await alice.graphql(query)).body.errors).toMatchObject([{ extensions: { code: 'InsufficientPermissions' } }, {}])
  expect(upstream.count()).toBe(requests)
  await using plain = await testApp()
  await publish(await plain.member(), { name: 'http', version: '1.0.0' })
  expect((await (await plain.admin()).graphql('{ package(name: "http") { isUpstreamName } }')).body.data.package.isUpstreamName).toBe(false)
})

it('publishes nothing under a name that is deleted and freed concurrently, unless the name was checked', async () => {
  const upstream = await Upstream.start()
  upstream.publish('http', '0.9.0')
  await using app = await mirrorOf(upstream)
  const [alice, admin] = [await app.member(), await app.admin()]
  for (let round = 0; round < 12; round++) {
    await publishOwn(app, alice, { name: 'http', version: `1.${round}.0` })
    const next = await upload(alice, await packageArchive({ name: 'http', version: `1.${round}.1` }))
    const [, deletion] = await interleave(app, round, [
      () => finish(alice, next),
      () => admin.delete('/api/admin/packages/http?freeName=true'),
    ])
    expect(deletion.status).toBe(200)
    // A publish that came first was deleted, too.
    expect(await alice.get('/api/packages/http')).toMatchObject({ status: 404 })
  }
})
