import { expect, it } from 'vitest'
import { DeletedPackage, DeletedPackageVersion } from '../../server/registry/restoration/entity.ts'
import { archiveRemovalKind } from '../../server/registry/packages/deletion/service.ts'
import { purgeDeleted } from '../../server/registry/restoration/service.ts'
import { Job } from '../../server/platform/jobs/entity.ts'
import type { Actor } from '../actor.ts'
import { testApp } from '../app.ts'
import { writeDownloads } from '../support/downloads.ts'
import { runJobs } from '../support/jobs.ts'
import { packageArchive } from '../support/archive.ts'
import { publish, publishArchive } from '../support/publish.ts'

const list = `{ deletedPackages(first: 20) { totalCount nodes { id name isWholePackage versionCount restorableUntil likeCount downloads visibility obstacle
  archiveBytes versions { version } publisher { slug } uploaders { displayName } deletedBy { displayName } } } }`
const listOf = async (admin: Actor) => (await admin.graphql(list)).body.data.deletedPackages.nodes
const mutation = 'mutation ($id: ID!) { restoreDeletedPackage(input: { id: $id }) { package { name visibility } } }'
const restore = (admin: Actor, id: string) => admin.graphql(mutation, { id })
const errorOf = ({ body }: { body: { errors: [{ message: string; extensions: { code: string } }] } }) => ({
  code: body.errors[0].extensions.code,
  message: body.errors[0].message,
})
const dayMs = 86_400_000
const dependency = (url: string) => `dependencies:\n  icons:\n    hosted: ${url}\n    version: ^1.0.0\n`

/** Everything that a restored package must have again. */
async function stateOf(admin: Actor) {
  const paths = ['', '/uploaders', '/likes', '/options', '/versions/1.1.0', '/versions/1.1.0/content', '/versions/1.0.0/options']
  const answers = await Promise.all(paths.map((path) => admin.get(`/api/packages/acme${path}`)))
  const search = await admin.get('/api/search?q=acme')
  const archive = await admin.get('/api/archives/acme-1.1.0.tar.gz')
  const dependents = await admin.graphql('{ package(name: "icons") { dependents(first: 5) { totalCount } } }')
  const statuses = answers.map(({ status }) => status)
  return {
    statuses,
    bodies: answers.map(({ body }) => body),
    search: search.body.packages.map((one: { package: string }) => one.package),
    archive: archive.raw,
    dependents: dependents.body,
  }
}

it('restores a deleted package with its versions, owners, likes, downloads, documents and dependencies', async () => {
  await using app = await testApp()
  const [alice, bob, admin] = [await app.member(), await app.member(), await app.admin()]
  await publish(alice, { name: 'icons', version: '1.0.0' })
  const pubspec = dependency(app.config.SERVER_URL)
  for (const version of ['1.0.0', '1.1.0', '2.0.0-dev.1']) await publish(alice, { name: 'acme', version, pubspec })
  await alice.put(`/api/packages/acme/uploaders/${bob.email}`)
  await alice.put('/api/packages/acme/versions/1.0.0/options', { isRetracted: true })
  await bob.put('/api/account/likes/acme')
  await alice.get('/api/archives/acme-1.1.0.tar.gz')
  await writeDownloads(app)
  const before = await stateOf(admin)
  expect(before).toMatchObject({
    statuses: before.statuses.map(() => 200),
    search: ['acme'],
    dependents: { data: { package: { dependents: { totalCount: 1 } } } },
  })
  await writeDownloads(app)
  expect(await admin.delete('/api/admin/packages/acme')).toMatchObject({ status: 200 })
  await runJobs(app)
  expect(await admin.get('/api/archives/acme-1.1.0.tar.gz')).toMatchObject({ status: 404 })
  const [deleted] = await listOf(admin)
  expect(deleted).toMatchObject({
    name: 'acme',
    isWholePackage: true,
    versionCount: 3,
    likeCount: 1,
    downloads: 2,
    visibility: 'PRIVATE',
    obstacle: null,
    publisher: null,
    versions: [{ version: '2.0.0-dev.1' }, { version: '1.1.0' }, { version: '1.0.0' }],
    deletedBy: { displayName: admin.user.displayName },
  })
  expect(deleted.uploaders.map(({ displayName }: { displayName: string }) => displayName).toSorted()).toEqual(
    [alice.user.displayName, bob.user.displayName].toSorted(),
  )
  expect((await restore(admin, deleted.id)).body).toMatchObject({
    data: { restoreDeletedPackage: { package: { name: 'acme', visibility: 'PRIVATE' } } },
  })
  const after = await stateOf(admin)
  expect(after).toEqual(before)
  expect(await listOf(admin)).toEqual([])
  // The name and the numbers are in use again, and bob may publish.
  expect((await admin.get('/api/admin/reserved-names')).body.names).toEqual([])
  await publish(bob, { name: 'acme', version: '1.2.0', pubspec })
  const { body } = await admin.get('/api/admin/audit-log?kind=package.restored')
  expect(body.entries).toMatchObject([
    { package: 'acme', summary: `${admin.user.displayName} restored the deleted package acme with 3 versions` },
  ])
  const analyses = await app.services.database.fork().count(Job, { kind: 'analysis', state: 'queued' })
  expect(analyses).toBe(5)
})

it('restores before the archives are removed, and a deleted version into its package', async () => {
  await using app = await testApp()
  const [alice, admin] = [await app.member(), await app.admin()]
  for (const version of ['1.0.0', '1.1.0']) await publish(alice, { name: 'acme', version })
  await admin.delete('/api/admin/packages/acme/versions/1.1.0')
  const [version] = await listOf(admin)
  expect(version).toMatchObject({ isWholePackage: false, versions: [{ version: '1.1.0' }], likeCount: null })
  await admin.delete('/api/admin/packages/acme')
  const [pkg, waiting] = await listOf(admin)
  expect(waiting).toMatchObject({ id: version.id, obstacle: 'The package acme was deleted, too. Restore the package first.' })
  expect(errorOf(await restore(admin, version.id))).toMatchObject({ code: 'Conflict', message: waiting.obstacle })
  await restore(admin, pkg.id)
  expect((await alice.get('/api/packages/acme')).body.latest.version).toBe('1.0.0')
  await restore(admin, version.id)
  expect((await alice.get('/api/packages/acme')).body.latest.version).toBe('1.1.0')
  await runJobs(app)
  for (const number of ['1.0.0', '1.1.0']) expect(await alice.get(`/api/archives/acme-${number}.tar.gz`)).toMatchObject({ status: 200 })
  const kinds = (await admin.get('/api/packages/acme/activity-log')).body.entries.map(({ kind }: { kind: string }) => kind)
  expect(kinds.slice(0, 2)).toEqual(['package.version_restored', 'package.restored'])
})

it('leaves out accounts and publishers that were deleted since, and makes the restoring administrator the uploader', async () => {
  await using app = await testApp()
  const [alice, bob, admin] = [await app.member(), await app.member(), await app.admin()]
  await publish(alice, { name: 'acme', version: '1.0.0' })
  await bob.put('/api/account/likes/acme')
  await admin.delete('/api/admin/packages/acme')
  for (const { id } of [alice, bob]) expect(await admin.delete(`/api/admin/users/${id}`)).toMatchObject({ status: 200 })
  const [deleted] = await listOf(admin)
  expect(deleted).toMatchObject({ uploaders: [], publisher: null })
  await restore(admin, deleted.id)
  const { body: likes } = await admin.get('/api/packages/acme/likes')
  expect(likes).toMatchObject({ likes: 0 })
  const { body: owners } = await admin.get('/api/packages/acme/uploaders')
  expect(owners.uploaders).toMatchObject([{ displayName: admin.user.displayName }])
})

it('refuses when the name was published again, and restores a public package as a private one', async () => {
  await using app = await testApp({ env: { PUBLIC_PACKAGES_ENABLED: 'true' } })
  const [alice, admin] = [await app.member(), await app.admin()]
  await publish(alice, { name: 'acme', version: '1.0.0' })
  await app.services.database.fork().getConnection().execute("update packages set visibility = 'public'")
  await admin.delete('/api/admin/packages/acme')
  const [deleted] = await listOf(admin)
  expect(deleted.visibility).toBe('PUBLIC')
  await admin.delete('/api/admin/reserved-names/acme')
  await publish(alice, { name: 'acme', version: '3.0.0' })
  expect(errorOf(await restore(admin, deleted.id))).toEqual({
    code: 'Conflict',
    message: 'A package with the name acme was published in the meantime. Delete it first to restore the earlier one.',
  })
  expect((await listOf(admin))[0].obstacle).toMatch(/published in the meantime/)
  await admin.delete('/api/admin/packages/acme')
  expect((await restore(admin, deleted.id)).body.data.restoreDeletedPackage.package.visibility).toBe('PRIVATE')
  expect((await alice.get('/api/packages/acme')).body.versions).toMatchObject([{ version: '1.0.0' }])
  expect(await publishArchive(alice, await packageArchive({ name: 'acme', version: '3.0.0' }))).toMatchObject({ status: 409 })
})

it('restores once when two administrators do it at the same time', async () => {
  await using app = await testApp()
  const [alice, admin] = [await app.member(), await app.admin()]
  await publish(alice, { name: 'acme', version: '1.0.0' })
  await admin.delete('/api/admin/packages/acme')
  const [deleted] = await listOf(admin)
  const answers = await Promise.all([restore(admin, deleted.id), restore(admin, deleted.id)])
  expect(answers.filter(({ body }) => body.data?.restoreDeletedPackage)).toHaveLength(1)
  const refused = answers.find(({ body }) => body.errors)
  expect(['NotFound', 'Conflict']).toContain(refused?.body.errors[0].extensions.code)
  expect((await alice.get('/api/packages/acme')).body.versions).toHaveLength(1)
})

it('forgets deleted packages after seven days, and refuses when an archive is gone', async () => {
  await using app = await testApp({ now: new Date() })
  const [alice, admin] = [await app.member(), await app.admin()]
  for (const name of ['acme', 'other']) await publish(alice, { name, version: '1.0.0' })
  await admin.delete('/api/admin/packages/acme')
  const start = app.services.now().getTime()
  app.clock.now = new Date(start + dayMs)
  await admin.delete('/api/admin/packages/other')
  await runJobs(app)
  const [other, acme] = await listOf(admin)
  app.clock.now = new Date(start + 7 * dayMs)
  expect((await listOf(admin)).map(({ name }: { name: string }) => name)).toEqual(['other'])
  expect(errorOf(await restore(admin, acme.id))).toMatchObject({ code: 'NotFound' })
  expect(await purgeDeleted(app.services)).toBe(1)
  expect(await purgeDeleted(app.services)).toBe(0)
  expect(await app.services.blobs.purge(new Date(start + 8 * dayMs))).toHaveLength(2)
  expect(errorOf(await restore(admin, other.id))).toEqual({
    code: 'Conflict',
    message: 'The archive of other 1.0.0 is no longer stored, so it cannot be restored.',
  })
  const em = app.services.database.fork()
  expect([await em.count(DeletedPackage), await em.count(DeletedPackageVersion)]).toEqual([1, 1])
})

it('shows and restores deleted packages for administrators only', async () => {
  await using app = await testApp()
  const [alice, admin] = [await app.member(), await app.admin()]
  await publish(alice, { name: 'acme', version: '1.0.0' })
  await admin.delete('/api/admin/packages/acme')
  const [deleted] = await listOf(admin)
  for (const actor of [alice, await app.viewer(), await app.withScopes(admin, ['read', 'write']), app.anonymous])
    for (const answer of [
      await actor.graphql(list),
      await restore(actor, deleted.id),
      await actor.graphql('query ($id: ID!) { node(id: $id) { id } }', { id: deleted.id }),
    ])
      expect(Object.values(answer.body.data ?? {}).filter((value) => value !== null)).toEqual([])
  expect(await listOf(admin)).toHaveLength(1)
})

it('takes the removal of the archives back, and removes them again if the restoration fails', async () => {
  await using app = await testApp()
  const [alice, admin] = [await app.member(), await app.admin()]
  for (const version of ['1.0.0', '1.1.0']) await publish(alice, { name: 'acme', version })
  const removals = () => app.services.database.fork().count(Job, { kind: archiveRemovalKind, state: 'queued' })
  expect(await admin.delete('/api/admin/packages/acme/versions/1.1.0')).toMatchObject({ status: 200 })
  expect(await removals()).toBe(1)
  const [version] = await listOf(admin)
  expect((await restore(admin, version.id)).body.errors).toBeUndefined()
  expect(await removals()).toBe(0)

  expect(await admin.delete('/api/admin/packages/acme')).toMatchObject({ status: 200 })
  const [whole] = await listOf(admin)
  const em = app.services.database.fork()
  const [kept] = await em.find(DeletedPackageVersion, { version: '1.0.0' })
  await app.services.blobs.remove(kept?.archiveSha256 ?? '', { at: new Date(), before: new Date(Date.now() + dayMs) })
  await app.services.blobs.purge(new Date(Date.now() + dayMs))
  expect(errorOf(await restore(admin, whole.id)).code).toBe('Conflict')
  expect(await removals()).toBe(1)
})

it('loads the owners of all deleted packages of a page with the same statements', async () => {
  await using app = await testApp()
  const [alice, bob, admin] = [await app.member(), await app.member(), await app.admin()]
  await admin.post('/api/publishers', { id: 'acme', displayName: 'Acme' })
  await admin.put(`/api/publishers/acme/members/${alice.id}`, { role: 'admin' })
  const query = '{ deletedPackages(first: 20) { nodes { name publisher { slug } uploaders { email } } } }'
  const counts: number[] = []
  for (const name of ['one', 'two', 'three']) {
    await publish(alice, { name, version: '1.0.0' })
    if (name === 'two') await alice.put(`/api/packages/two/uploaders/${bob.email}`)
    else await alice.put(`/api/packages/${name}/publisher`, { publisherId: 'acme' })
    expect(await admin.delete(`/api/admin/packages/${name}`)).toMatchObject({ status: 200 })
    counts.push(await app.countQueries(() => admin.graphql(query)))
  }
  expect(counts[1]).toBe(counts[2])
  const nodes = (await admin.graphql(query)).body.data.deletedPackages.nodes as {
    name: string
    publisher: object
    uploaders: { email: string }[]
  }[]
  expect(nodes.map(({ uploaders, ...rest }) => ({ ...rest, uploaders: uploaders.map(({ email }) => email).toSorted() }))).toEqual([
    { name: 'three', publisher: { slug: 'acme' }, uploaders: [alice.email] },
    { name: 'two', publisher: null, uploaders: [alice.email, bob.email].toSorted() },
    { name: 'one', publisher: { slug: 'acme' }, uploaders: [alice.email] },
  ])
})
