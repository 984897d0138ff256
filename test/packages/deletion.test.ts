import { createHash } from 'node:crypto'
import { expect, it } from 'vitest'
import { type TestApp, testApp } from '../app.ts'
import { packageArchive } from '../support/archive.ts'
import { runJobs } from '../support/jobs.ts'
import { publish, publishArchive } from '../support/publish.ts'

const here = 'http://localhost:8080'
const dependingOn = (name: string, version = '^1.0.0') => `dependencies:\n  ${name}:\n    hosted: ${here}\n    version: '${version}'\n`

const makeAllPublic = ({ services }: TestApp) =>
  services.database.fork().getConnection().execute("update packages set visibility = 'public'")
const isStored = ({ services }: TestApp, archive: Buffer) =>
  services.blobs.read(createHash('sha256').update(archive).digest('hex')).then(
    () => true,
    () => false,
  )
const auditEntries = async (app: TestApp, name: string) =>
  (await (await app.admin()).get(`/api/admin/audit-log?package=${name}`)).body.entries as {
    kind: string
    summary: string
    version: string | null
  }[]

it('deletes a package with all versions, archives and search entries', async () => {
  await using app = await testApp()
  const [alice, admin] = [await app.member(), await app.admin()]
  const archives = [
    await publish(alice, { name: 'acme', version: '1.0.0', pubspec: dependingOn('other') }),
    await publish(alice, { name: 'acme', version: '2.0.0' }),
  ]
  const kept = await publish(alice, { name: 'other', version: '1.0.0' })
  await alice.get('/api/archives/acme-1.0.0.tar.gz')
  expect(await admin.delete('/api/admin/packages/acme')).toMatchObject({ status: 200, body: { status: 'ok' } })

  for (const path of ['packages/acme', 'packages/acme/versions/1.0.0', 'archives/acme-1.0.0.tar.gz', 'archives/acme-2.0.0.tar.gz'])
    expect(await alice.get(`/api/${path}`)).toMatchObject({ status: 404, body: { error: { code: 'NotFound' } } })
  expect((await alice.get('/api/search?q=acme')).body.packages).toEqual([])
  expect((await alice.get('/api/package-names')).body.packages).toEqual(['other'])
  const { reads } = app.services.database
  for (const table of ['package_dependencies', 'version_documents', 'package_uploaders'])
    expect({ table, rows: (await reads.all(`select * from ${table}`)).length }).toEqual({
      table,
      rows: { package_dependencies: 0, version_documents: 3, package_uploaders: 1 }[table],
    })
  await runJobs(app)
  for (const archive of archives) expect(await isStored(app, archive)).toBe(false)
  expect(await isStored(app, kept)).toBe(true)
  expect((await auditEntries(app, 'acme'))[0]).toMatchObject({
    kind: 'package.deleted',
    summary: `${admin.user.displayName} deleted acme with its 2 versions`,
    version: null,
  })
  expect(await admin.delete('/api/admin/packages/acme')).toMatchObject({ status: 404, body: { error: { code: 'NotFound' } } })
})

it('deletes one version and updates everything that showed it', async () => {
  await using app = await testApp()
  const [alice, admin] = [await app.member(), await app.admin()]
  const described = (text: string) => ({
    manifest: `name: acme\nversion: ${text}\ndescription: Made for ${text}.\nenvironment:\n  sdk: '>=3.0.0 <4.0.0'\n`,
  })
  await publish(alice, { name: 'acme', version: '1.0.0', ...described('1.0.0') })
  const gone = await publish(alice, { name: 'acme', version: '1.1.0', ...described('1.1.0') })
  await publish(alice, { name: 'acme', version: '2.0.0-dev', ...described('2.0.0-dev') })
  const before = await alice.get('/api/packages/acme')
  expect(before.body.latest.version).toBe('1.1.0')
  expect(await admin.delete('/api/admin/packages/acme/versions/1.1.0')).toMatchObject({ status: 200, body: { status: 'ok' } })

  const after = await alice.get('/api/packages/acme')
  expect(after.headers.etag).not.toBe(before.headers.etag)
  expect(after.body.latest.version).toBe('1.0.0')
  expect(after.body.versions.map(({ version }: { version: string }) => version)).toEqual(['1.0.0', '2.0.0-dev'])
  const { data } = (await alice.graphql('{ package(name: "acme") { description latestPrerelease { version } } }')).body
  expect(data.package).toEqual({ description: 'Made for 1.0.0.', latestPrerelease: { version: '2.0.0-dev' } })
  expect((await alice.get('/api/search?q=1.1.0')).body.packages).toEqual([])
  expect(await alice.get('/api/archives/acme-1.1.0.tar.gz')).toMatchObject({ status: 404 })
  await runJobs(app)
  expect(await isStored(app, gone)).toBe(false)
  expect((await auditEntries(app, 'acme'))[0]).toMatchObject({
    kind: 'package.version_deleted',
    summary: `${admin.user.displayName} deleted acme 1.1.0`,
    version: '1.1.0',
  })
  expect(await admin.delete('/api/admin/packages/acme/versions/1.1.0')).toMatchObject({ status: 404 })
  expect(await admin.delete('/api/admin/packages/acme/versions/one')).toMatchObject({
    status: 400,
    body: { error: { code: 'InvalidInput' } },
  })
})

it('never accepts the number of a deleted version again, even in a new package of that name', async () => {
  await using app = await testApp()
  const [alice, bob, admin] = [await app.member(), await app.member(), await app.admin()]
  const first = await publish(alice, { name: 'acme', version: '1.0.0' })
  await publish(alice, { name: 'acme', version: '1.1.0' })
  await admin.delete('/api/admin/packages/acme/versions/1.0.0')
  const taken = {
    status: 409,
    body: { error: { code: 'Conflict', message: 'acme 1.0.0 was deleted. Its version number cannot be reused. Publish a new version.' } },
  }
  for (const archive of [first, await packageArchive({ name: 'acme', version: '1.0.0', files: { 'lib/new.dart': '' } })])
    expect(await publishArchive(alice, archive)).toMatchObject(taken)
  await admin.delete('/api/admin/packages/acme')
  await admin.delete('/api/admin/reserved-names/acme')
  expect(await publishArchive(bob, first)).toMatchObject(taken)
  await publish(bob, { name: 'acme', version: '2.0.0' })
  expect(await publishArchive(bob, first)).toMatchObject(taken)
  expect((await alice.get('/api/packages/acme')).body.versions).toHaveLength(1)
  expect((await alice.get('/api/packages/acme/uploaders')).body.uploaders).toMatchObject([{ userId: bob.id }])
})

it('deletes a package along with its last version', async () => {
  await using app = await testApp()
  const [alice, admin] = [await app.member(), await app.admin()]
  await publish(alice, { name: 'acme', version: '1.0.0' })
  expect(await admin.delete('/api/admin/packages/acme/versions/1.0.0')).toMatchObject({ status: 200 })
  expect(await alice.get('/api/packages/acme')).toMatchObject({ status: 404 })
  expect(
    (await auditEntries(app, 'acme'))
      .slice(0, 2)
      .map(({ kind }) => kind)
      .toSorted(),
  ).toEqual(['package.deleted', 'package.version_deleted'])
})

it('refuses to delete what public packages depend on unless breaking them is confirmed', async () => {
  await using app = await testApp()
  const [alice, admin] = [await app.member(), await app.admin()]
  for (const version of ['1.0.0', '1.1.0', '2.0.0']) await publish(alice, { name: 'icons', version })
  await publish(alice, { name: 'ui', version: '1.0.0', pubspec: dependingOn('icons') })
  await publish(alice, { name: 'shop', version: '1.0.0', pubspec: dependingOn('ui') })
  await makeAllPublic(app)
  const message = 'Public packages depend on icons: shop -> ui -> icons, ui -> icons. To delete it and break them, add acceptBreakage=true.'
  expect(await admin.delete('/api/admin/packages/icons')).toMatchObject({ status: 409, body: { error: { code: 'Conflict', message } } })
  expect(await admin.delete('/api/admin/packages/icons?acceptBreakage=false')).toMatchObject({ status: 409 })
  expect(await admin.delete('/api/admin/packages/icons?acceptBreakage=perhaps')).toMatchObject({ status: 400 })
  const broken = '{ package(name: "icons") { whole: brokenByDeletion one: brokenByDeletion(version: "1.1.0") } }'
  expect((await admin.graphql(broken)).body.data.package).toEqual({
    whole: [
      ['shop', 'ui', 'icons'],
      ['ui', 'icons'],
    ],
    one: [],
  })
  expect((await alice.graphql(broken)).body.errors[0].extensions.code).toBe('InsufficientPermissions')
  const absent = { message: 'There is no icons 9.9.9 on this server.', extensions: { code: 'NotFound' } }
  for (const field of ['brokenByDeletion(version: "9.9.9")', 'affectedByDeletion(version: "9.9.9") { totalCount }'])
    expect((await admin.graphql(`{ package(name: "icons") { ${field} } }`)).body.errors).toMatchObject([absent])
  // 1.1.0 still satisfies ^1.0.0. After its deletion, no version does.
  expect(await admin.delete('/api/admin/packages/icons/versions/1.0.0')).toMatchObject({ status: 200 })
  expect(await admin.delete('/api/admin/packages/icons/versions/2.0.0')).toMatchObject({ status: 200 })
  expect(await admin.delete('/api/admin/packages/icons/versions/1.1.0')).toMatchObject({ status: 409 })
  expect((await alice.get('/api/packages/icons')).body.versions).toHaveLength(1)
  expect(await admin.delete('/api/admin/packages/icons/versions/1.1.0?acceptBreakage=true')).toMatchObject({ status: 200 })
  expect((await auditEntries(app, 'icons'))[1]?.summary).toContain('accepting that it breaks shop -> ui -> icons, ui -> icons')
  expect(await alice.get('/api/packages/icons')).toMatchObject({ status: 404 })
})

it('deletes in GraphQL, for administrators only', async () => {
  await using app = await testApp()
  const [alice, admin] = [await app.member(), await app.admin()]
  for (const version of ['1.0.0', '2.0.0']) await publish(alice, { name: 'acme', version })
  const version = 'mutation { deleteVersion(input: { package: "acme", version: "1.0.0" }) }'
  const whole = 'mutation { deletePackage(input: { package: "acme" }) }'
  const limited = await app.withScopes(admin, ['write'])
  for (const actor of [alice, limited]) {
    for (const mutation of [version, whole])
      expect((await actor.graphql(mutation)).body.errors[0].extensions.code).toBe('InsufficientPermissions')
    expect(await actor.delete('/api/admin/packages/acme')).toMatchObject({ status: 403 })
  }
  expect((await admin.graphql(version)).body).toEqual({ data: { deleteVersion: true }, extensions: { cost: expect.any(Number) } })
  expect((await admin.graphql(whole)).body).toEqual({ data: { deletePackage: true }, extensions: { cost: expect.any(Number) } })
  expect((await admin.graphql(whole)).body.errors[0].extensions.code).toBe('NotFound')
})
