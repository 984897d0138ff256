import { expect, it } from 'vitest'
import { insertRows } from '../../server/platform/db/statements.ts'
import { similarNames } from '../../server/registry/names/service.ts'
import { testApp } from '../app.ts'
import { packageArchive } from '../support/archive.ts'
import { makePublic, publicApp } from '../support/public-packages.ts'
import { finish, publish, publishArchive, upload } from '../support/publish.ts'
import { interleave, interleavings } from '../support/interleave.ts'

const reserved = (name: string) => ({
  status: 409,
  body: {
    error: {
      code: 'Conflict',
      message: `The name ${name} is reserved: a package of this name was deleted. Ask an administrator of this server to free the name.`,
    },
  },
})

it('reserves the name of a deleted package until an administrator frees it', async () => {
  await using app = await testApp()
  const [alice, bob, admin] = [await app.member(), await app.member(), await app.admin()]
  await publish(alice, { name: 'acme', version: '1.0.0' })
  await publish(alice, { name: 'other', version: '1.0.0' })
  await admin.delete('/api/admin/packages/acme')
  await admin.delete('/api/admin/packages/other/versions/1.0.0')
  const next = await packageArchive({ name: 'acme', version: '1.4.1' })
  for (const actor of [alice, bob, admin, await app.owner()]) expect(await publishArchive(actor, next)).toMatchObject(reserved('acme'))
  expect(await alice.get('/api/packages/acme')).toMatchObject({ status: 404 })

  const person = { userId: admin.id, email: admin.email, displayName: admin.user.displayName }
  const entry = (name: string) => ({ name, reservedAt: expect.stringMatching(/Z$/), isUpstream: false, reservedBy: person })
  const page = (names: object[]) => ({ names, page: 1, pageSize: 50, totalCount: names.length, totalPages: 1 })
  expect((await admin.get('/api/admin/reserved-names')).body).toEqual(page([entry('acme'), entry('other')]))
  expect((await admin.get('/api/admin/reserved-names?q=CM')).body).toEqual(page([entry('acme')]))
  expect(await admin.delete('/api/admin/reserved-names/acme')).toMatchObject({ status: 200, body: { status: 'ok' } })
  expect(await admin.delete('/api/admin/reserved-names/acme')).toMatchObject({ status: 404, body: { error: { code: 'NotFound' } } })
  expect(await admin.delete('/api/admin/reserved-names/A-b')).toMatchObject({ status: 400, body: { error: { code: 'InvalidInput' } } })
  await publish(bob, next)
  expect(await publishArchive(bob, await packageArchive({ name: 'acme', version: '1.0.0' }))).toMatchObject({ status: 409 })
  const freed = (await admin.get('/api/admin/audit-log?kind=package.name_freed')).body.entries
  expect(freed).toMatchObject([{ package: 'acme', summary: `${admin.user.displayName} freed the name acme` }])
})

it('lists and frees names for administrators only', async () => {
  await using app = await testApp()
  const [alice, admin] = [await app.member(), await app.admin()]
  const writer = await app.withScopes(admin, ['write'])
  for (const [method, path] of [
    ['GET', 'reserved-names'],
    ['DELETE', 'reserved-names/acme'],
    ['GET', 'confusable-names'],
    ['PUT', 'confusable-names/acme'],
    ['DELETE', 'confusable-names/acme'],
  ] as const) {
    expect({ path, ...(await app.anonymous.send(method, `/api/admin/${path}`)) }).toMatchObject({ path, status: 401 })
    for (const actor of [alice, writer, await app.viewer()])
      expect({ path, ...(await actor.send(method, `/api/admin/${path}`)) }).toMatchObject({ path, status: 403 })
  }
})

it('reserves the name in the same transaction that deletes the package', async () => {
  await using app = await testApp()
  const [alice, bob, admin] = [await app.member(), await app.member(), await app.admin()]
  for (let round = 0; round < interleavings; round++) {
    const name = `acme${'abcdefghij'[round % 10]}${'abcdefghij'[Math.floor(round / 10)]}`
    const uploads = await Promise.all([
      upload(alice, await packageArchive({ name, version: '1.0.0' })),
      upload(bob, await packageArchive({ name, version: '1.1.0' })),
    ])
    await interleave(app, round, [
      () => finish(alice, uploads[0]).then(() => admin.delete(`/api/admin/packages/${name}`)),
      () => finish(bob, uploads[1]),
      () => admin.delete(`/api/admin/packages/${name}`),
    ])
    const { reads } = app.services.database
    expect(await reads.all('select name from packages p where exists (select 1 from reserved_names r where r.name = p.name)')).toEqual([])
  }
})

it('warns of a new name that is confusable with another one until an administrator approves it', async () => {
  await using app = await testApp()
  const [alice, bob, admin] = [await app.member(), await app.member(), await app.admin()]
  await publish(alice, { name: 'http_kit', version: '1.0.0' })
  const warning = 'Warning: this name could be confused with http_kit. Make sure that it is the name you meant.'
  const similar = ['http_kits', 'htp_kit', 'htto_kit', 'htpt_kit', 'httpkit', 'http2_kit', '_', 'http__kit_2'].filter(
    (name) => name !== '_',
  )
  for (const name of similar) {
    const { status, body } = await publishArchive(bob, await packageArchive({ name, version: '1.0.0' }))
    expect({ name, status, message: body.success.message }).toMatchObject({
      name,
      status: 200,
      message: expect.stringContaining(' Warning: '),
    })
    if (name === 'http_kits') expect(body.success.message).toContain(warning)
  }
  for (const name of ['http_client', 'kit_http', 'httq_kits_x'])
    expect((await publishArchive(bob, await packageArchive({ name, version: '1.0.0' }))).body.success.message).not.toContain('Warning')
  const again = await publishArchive(bob, await packageArchive({ name: 'http_kits', version: '1.1.0' }))
  expect(again.body.success.message).not.toContain('Warning')

  const ask = async (actor: typeof alice) =>
    (await actor.graphql('{ package(name: "http_kits") { confusableWith } }')).body.data.package.confusableWith
  for (const actor of [bob, admin, alice, await app.viewer()]) expect(await ask(actor)).toEqual(['http_kit'])
  const listed = (await admin.get('/api/admin/confusable-names?q=kits')).body
  expect(listed).toMatchObject({
    names: [{ name: 'http_kits', similarNames: ['http_kit'], requestedBy: { userId: bob.id }, isPublished: true }],
    totalCount: 1,
  })
  expect((await admin.get('/api/admin/confusable-names')).body.totalCount).toBe(similar.length)
  expect(await admin.delete('/api/admin/confusable-names/http_kits')).toMatchObject({ status: 404 })
  expect(await admin.put('/api/admin/confusable-names/http_kits')).toMatchObject({ status: 200 })
  expect([await ask(bob), (await admin.get('/api/admin/confusable-names?q=kits')).body.totalCount]).toEqual([null, 0])
})

it('holds a confusable name for review by an administrator when configured', async () => {
  await using app = await testApp({ env: { CONFUSABLE_NAMES: 'review' } })
  const [alice, bob, admin] = [await app.member(), await app.member(), await app.admin()]
  await publish(alice, { name: 'http_kit', version: '1.0.0' })
  const archive = await packageArchive({ name: 'httpkit', version: '1.0.0' })
  const refused = { status: 400, body: { error: { code: 'PackageRejected', message: expect.stringContaining('an administrator') } } }
  expect(await publishArchive(bob, archive)).toMatchObject(refused)
  expect(await publishArchive(admin, archive)).toMatchObject(refused)
  expect(await alice.get('/api/packages/httpkit')).toMatchObject({ status: 404 })
  expect((await admin.get('/api/admin/confusable-names')).body.names).toMatchObject([
    { name: 'httpkit', similarNames: ['http_kit'], requestedBy: { userId: admin.id }, isPublished: false },
  ])
  expect(await admin.delete('/api/admin/confusable-names/httpkit')).toMatchObject({ status: 200 })
  expect((await admin.get('/api/admin/confusable-names')).body.names).toEqual([])
  expect(await publishArchive(bob, archive)).toMatchObject(refused)
  await admin.put('/api/admin/confusable-names/httpkit')
  const published = await publishArchive(bob, archive)
  expect(published.status).toBe(200)
  expect(published.body.success.message).not.toContain('Warning')
  // Deleting a package deletes its approval. Freeing the name approves it again.
  await admin.delete('/api/admin/packages/httpkit')
  expect((await admin.get('/api/admin/confusable-names')).body.totalCount).toBe(0)
  expect(await publishArchive(bob, await packageArchive({ name: 'httpkit', version: '2.0.0' }))).toMatchObject({ status: 409 })
  await admin.delete('/api/admin/reserved-names/httpkit')
  const freed = await publishArchive(bob, await packageArchive({ name: 'httpkit', version: '2.0.0' }))
  expect([freed.status, freed.body.success.message]).toEqual([200, expect.not.stringContaining('Warning')])
})

it('treats reserved names as existing and accepts a freed name despite similar ones', async () => {
  for (const CONFUSABLE_NAMES of ['warn', 'review']) {
    await using app = await testApp({ env: { CONFUSABLE_NAMES } })
    const [alice, bob, admin] = [await app.member(), await app.member(), await app.admin()]
    await publish(alice, { name: 'legacy_tools', version: '1.0.0' })
    await admin.delete('/api/admin/packages/legacy_tools')
    for (const name of ['legacytools', 'legacy_tool', 'legacy_tools2']) {
      const { status, body } = await publishArchive(bob, await packageArchive({ name, version: '1.0.0' }))
      const message = expect.stringContaining('could be confused with legacy_tool')
      if (CONFUSABLE_NAMES === 'warn') expect({ name, status, body }).toMatchObject({ name, status: 200, body: { success: { message } } })
      else expect({ name, status, body }).toMatchObject({ name, status: 400, body: { error: { code: 'PackageRejected', message } } })
    }
    const listed = (await admin.get('/api/admin/confusable-names?q=legacytools')).body.names
    expect(listed).toMatchObject([{ name: 'legacytools', similarNames: ['legacy_tools'], isPublished: CONFUSABLE_NAMES === 'warn' }])

    await admin.put('/api/admin/confusable-names/legacytools')
    await publishArchive(bob, await packageArchive({ name: 'legacytools', version: '1.1.0' }))
    await admin.delete('/api/admin/reserved-names/legacy_tools')
    const freed = await publishArchive(alice, await packageArchive({ name: 'legacy_tools', version: '2.0.0' }))
    expect([freed.status, freed.body.success.message]).toEqual([200, expect.not.stringContaining('Warning')])
  }
})

it('warns only readers who may see the other package', async () => {
  await using app = await publicApp()
  const [alice, bob, admin] = [await app.member(), await app.member(), await app.admin()]
  for (const name of ['http_kit', 'http_kit2', 'http_kit3']) await publish(alice, { name, version: '1.0.0' })
  await admin.delete('/api/admin/packages/http_kit3')
  await publish(bob, { name: 'httpkit', version: '1.0.0' })
  const ask = async (actor: typeof alice) =>
    (await actor.graphql('{ package(name: "httpkit") { confusableWith confusableWithReserved } }')).body.data.package
  const people = [alice, bob, admin, await app.viewer(), await app.withScopes(alice, ['read'])]
  const everything = { confusableWith: ['http_kit', 'http_kit2'], confusableWithReserved: ['http_kit3'] }
  const nothing = { confusableWith: null, confusableWithReserved: null }
  expect(await ask(app.anonymous)).toBeNull()
  for (const [names, anonymous] of [
    [['httpkit'], nothing],
    [['http_kit2'], { confusableWith: ['http_kit2'], confusableWithReserved: null }],
  ] as const) {
    await makePublic(app, ...names)
    for (const actor of people) expect(await ask(actor)).toEqual(everything)
    expect(await ask(app.anonymous)).toEqual(anonymous)
  }
  await admin.delete('/api/admin/reserved-names/http_kit3')
  await admin.put('/api/admin/confusable-names/httpkit')
  for (const actor of [...people, app.anonymous]) expect(await ask(actor)).toEqual(nothing)
})

it('never publishes two confusable new names concurrently', async () => {
  await using app = await testApp({ env: { CONFUSABLE_NAMES: 'review' } })
  const [alice, bob] = [await app.member(), await app.member()]
  for (let round = 0; round < 50; round++) {
    const name = Array.from({ length: 8 }, (_, at) => 'qwertyuiopasdfghjklzxcvbnm'[(round * 7 + at * (round + 3)) % 26]).join('')
    const uploads = await Promise.all([
      upload(alice, await packageArchive({ name, version: '1.0.0' })),
      upload(bob, await packageArchive({ name: `${name}_2`, version: '1.0.0' })),
    ])
    const answers = await Promise.all([finish(alice, uploads[0]), finish(bob, uploads[1])])
    expect(answers.filter(({ status }) => status === 200).length).toBeLessThan(2)
  }
})

it('finds similar names by index lookups, however many packages there are', async () => {
  await using app = await testApp()
  const { database } = app.services
  const em = database.fork()
  const names = Array.from(
    { length: 20_000 },
    (_, n) => `package_${n.toString(26).replace(/\d/g, (digit) => 'qrstuvwxyz'[Number(digit)] ?? 'q')}`,
  )
  for (let from = 0; from < names.length; from += 1000) {
    const rows = names.slice(from, from + 1000).map((name, at) => [`00000000-0000-7000-8000-${String(from + at).padStart(12, '0')}`, name])
    await em.execute(
      `insert into packages (id, created_at, name, skeleton, updated_at, description, latest_version)
       values ${rows.map(() => `(?, '2026-01-01', ?, ?, '2026-01-01', '', '1.0.0')`).join(', ')}`,
      rows.flatMap(([id = '', name = '']) => [id, name, name.replaceAll('_', '')]),
    )
  }
  const search = async () => {
    expect(await app.countQueries(() => similarNames(em, 'a'.repeat(64)))).toBe(1)
    expect(await similarNames(em, 'package1')).toEqual([])
    expect(await similarNames(em, 'packageq')).toEqual(['package_q', 'package_qr'].slice(0, 1))
  }
  // The time of the database counts too, which may be another process.
  const started = performance.now()
  await search()
  expect(performance.now() - started).toBeLessThan(20_000)
})

it('names five of thousands of similar packages', async () => {
  await using app = await testApp()
  const { database } = app.services
  const em = database.fork()
  const alike = Array.from({ length: 5000 }, (_, n) => `tool_${1000 + n}`)
  await insertRows(
    em,
    'reserved_names',
    alike.map((name) => ({ name, skeleton: 'tool', reserved_at: new Date() })),
  )
  const found = await similarNames(em, 'tool')
  expect(found).toHaveLength(5)
  expect(found).toEqual(alike.filter((name) => found.includes(name)))
})
