import { describe, expect, it } from 'vitest'
import { type Actor, statuses } from '../actor.ts'
import { testApp } from '../app.ts'
import { interleave, interleavings } from '../support/interleave.ts'
import { packageArchive } from '../support/archive.ts'
import { publish, publishArchive } from '../support/publish.ts'

const error = (code: string, message: unknown = expect.any(String)) => ({ body: { error: { code, message } } })
const refused = (message: string) => ({ status: 403, ...error('InsufficientPermissions', expect.stringContaining(message)) })
const setPublisher = (by: Actor, publisherId: unknown = 'acme', pkg = 'rocket') => by.put(`/api/packages/${pkg}/publisher`, { publisherId })
const owner = async (actor: Actor) => (await actor.get('/api/packages/rocket/publisher')).body.publisherId as string | null

/**
 * Creates a package of alice, who is a member of the publisher acme. bob is an admin and cleo a member of it. root created the publisher and left.
 */
async function createScene() {
  const app = await testApp()
  const [root, alice, bob, cleo] = [await app.admin(), await app.member(), await app.member(), await app.member()]
  const set = (whom: Actor, role: string, id = 'acme') => root.put(`/api/publishers/${id}/members/${whom.id}`, { role })
  const remove = (whom: Actor, id = 'acme') => root.delete(`/api/publishers/${id}/members/${whom.id}`)
  for (const id of ['acme', 'globex']) await root.post('/api/publishers', { id, displayName: id })
  await set(bob, 'admin')
  await set(alice, 'member')
  await set(cleo, 'member')
  await remove(root)
  await publish(alice, { name: 'rocket', version: '1.0.0' })
  return { app, root, alice, bob, cleo, set, remove, [Symbol.asyncDispose]: () => app[Symbol.asyncDispose]() }
}

describe("changes of a package's publisher", () => {
  it('are allowed to uploaders who are members of the publisher, and undone by null', async () => {
    await using s = await createScene()
    expect(await owner(s.cleo)).toBeNull()
    for (const role of ['member', 'admin']) {
      await s.set(s.alice, role)
      expect(await setPublisher(s.alice)).toMatchObject({ status: 200, body: { publisherId: 'acme' } })
      expect(await setPublisher(s.alice)).toMatchObject({ status: 200, body: { publisherId: 'acme' } })
      expect(await owner(await s.app.viewer())).toBe('acme')
      expect(await setPublisher(s.alice, null)).toMatchObject({ status: 200, body: { publisherId: null } })
    }
    const log = await s.root.get('/api/admin/audit-log?kind=package.publisher_changed')
    expect(log.body.entries).toHaveLength(4)
    expect(log.body.entries[3]).toMatchObject({ package: 'rocket', publisher: 'acme', agent: { userId: s.alice.id } })
  })

  it('are allowed to server administrators only if they are members', async () => {
    await using s = await createScene()
    expect(await setPublisher(s.root)).toMatchObject(refused('not a member'))
    await s.set(s.root, 'member')
    expect(await setPublisher(s.root)).toMatchObject({ status: 200 })
    // Admins of the publisher administer the package, but only its uploaders may remove it from the publisher.
    for (const actor of [s.bob, s.cleo, await s.app.member()])
      for (const target of [null, 'acme', 'globex']) expect(await setPublisher(actor, target)).toMatchObject(refused('Only uploaders'))
    expect(await setPublisher(await s.app.viewer())).toMatchObject({ status: 403 })
    expect(await setPublisher(await s.app.withScopes(s.alice, ['read']))).toMatchObject({ status: 403 })
    expect(await setPublisher(s.app.anonymous)).toMatchObject({ status: 401 })
    expect(await owner(s.alice)).toBe('acme')
  })

  it('require membership in both the new and the previous publisher', async () => {
    await using s = await createScene()
    expect(await setPublisher(s.alice, 'globex')).toMatchObject(refused('globex'))
    await setPublisher(s.alice)
    await s.remove(s.alice)
    expect(await setPublisher(s.alice, null)).toMatchObject(refused('acme'))
    await s.set(s.alice, 'admin', 'globex')
    expect(await setPublisher(s.alice, 'globex')).toMatchObject(refused('acme'))
    await s.set(s.alice, 'member')
    expect(await setPublisher(s.alice, 'globex')).toMatchObject({ status: 200, body: { publisherId: 'globex' } })
    for (const id of ['acme', 'globex'])
      expect((await s.root.get(`/api/admin/audit-log?publisher=${id}&package=rocket`)).body.entries[0].summary).toContain(id)
  })

  it('refuse unknown publishers and packages and invalid ids', async () => {
    await using s = await createScene()
    expect(await setPublisher(s.alice, 'nothing')).toMatchObject({ status: 404 })
    expect(await setPublisher(s.alice, 'acme', 'nothing')).toMatchObject({ status: 404 })
    for (const body of [
      {},
      { publisherId: 5 },
      { publisherId: '' },
      { publisherId: ['acme'] },
      { publisherId: 'x'.repeat(65) },
      { publisherId: 'a\0' },
      { publisher: 'acme' },
    ])
      expect(await s.alice.put('/api/packages/rocket/publisher', body)).toMatchObject({
        status: 400,
        ...error('InvalidInput', expect.stringContaining('publisherId')),
      })
  })

  it('never leave a package without an owner', async () => {
    await using s = await createScene()
    await setPublisher(s.alice)
    expect(await s.bob.delete(`/api/packages/rocket/uploaders/${s.alice.email}`)).toMatchObject({ status: 200 })
    await s.set(s.root, 'admin')
    expect(await setPublisher(s.root, null)).toMatchObject({
      status: 400,
      ...error('InvalidInput', 'rocket has no uploaders, so it needs a publisher. Add an uploader first.'),
    })
    expect(await owner(s.root)).toBe('acme')
    await s.root.put(`/api/packages/rocket/uploaders/${s.cleo.email}`)
    expect(await setPublisher(s.root, null)).toMatchObject({ status: 200 })
  })
})

describe('permissions of uploaders and publisher members', () => {
  it('allow uploaders, members and admins to publish, and uploaders and admins to administer', async () => {
    await using s = await createScene()
    await setPublisher(s.alice)
    await s.remove(s.alice)
    const stranger = await s.app.member()
    const may = async (actor: Actor) => (await actor.get('/api/packages/rocket/permissions')).body
    expect(await may(s.alice)).toEqual({ canPublish: true, canAdminister: true })
    expect(await may(s.bob)).toEqual({ canPublish: true, canAdminister: true })
    expect(await may(s.cleo)).toEqual({ canPublish: true, canAdminister: false })
    expect(await may(stranger)).toEqual({ canPublish: false, canAdminister: false })
    const versions = new Map([
      [s.alice, '1.1.0'],
      [s.bob, '1.2.0'],
      [s.cleo, '1.3.0'],
    ])
    for (const [actor, version] of versions) await publish(actor, { name: 'rocket', version })
    expect(await publishArchive(stranger, await packageArchive({ name: 'rocket', version: '1.4.0' }))).toMatchObject({ status: 403 })
    const option = { isUnlisted: true }
    expect(await s.bob.put('/api/packages/rocket/options', option)).toMatchObject({ status: 200 })
    expect(await s.cleo.put('/api/packages/rocket/options', option)).toMatchObject({ status: 403 })
  })

  it('are revoked with the membership and suspended while the user is disabled', async () => {
    await using s = await createScene()
    await setPublisher(s.alice)
    const archive = async (version: string) => packageArchive({ name: 'rocket', version })
    await s.root.put(`/api/admin/users/${s.bob.id}`, { isActive: false })
    expect(await s.bob.put('/api/packages/rocket/options', { isUnlisted: true })).toMatchObject({ status: 401 })
    await s.root.put(`/api/admin/users/${s.bob.id}`, { isActive: true })
    expect(await publishArchive(s.bob, await archive('1.1.0'))).toMatchObject({ status: 200 })
    await s.set(s.bob, 'admin')
    await s.set(s.cleo, 'admin')
    await s.set(s.bob, 'member')
    expect(await s.bob.put('/api/packages/rocket/options', { isUnlisted: true })).toMatchObject({ status: 403 })
    await s.remove(s.bob)
    expect(await publishArchive(s.bob, await archive('1.2.0'))).toMatchObject({ status: 403 })
  })
})

it('lists the packages of a publisher, with unlisted ones for its members only', async () => {
  await using s = await createScene()
  for (const name of ['alpha', 'beta']) {
    await publish(s.alice, { name, version: '1.0.0' })
    await setPublisher(s.alice, 'acme', name)
  }
  await s.alice.put('/api/packages/beta/options', { isUnlisted: true })
  const query = '{ publisher(slug: "acme") { packageCount packages(first: 5) { nodes { name publisher { slug } } totalCount } } }'
  const seen = async (actor: Actor) => {
    const { packageCount, packages } = (await actor.graphql(query)).body.data.publisher
    return [packageCount, packages.totalCount, ...packages.nodes.map(({ name }: { name: string }) => name)]
  }
  expect(await seen(s.cleo)).toEqual([2, 2, 'alpha', 'beta'])
  expect(await seen(await s.app.member())).toEqual([1, 1, 'alpha'])
})

it('runs the same number of statements for many publishers as for one', async () => {
  await using s = await createScene()
  const fields = 'slug packageCount memberCount viewerRole viewerCanAdminister members { role user { email } publisher { slug } }'
  const list = () =>
    s.cleo.graphql(`{ publishers(first: 50) { nodes { ${fields} } } packages(first: 50) { nodes { publisher { slug } } } }`)
  await setPublisher(s.alice)
  const before = await s.app.countQueries(list)
  for (let n = 0; n < 4; n++) {
    await s.root.post('/api/publishers', { id: `more-${n}`, displayName: 'More' })
    await s.set(s.cleo, 'member', `more-${n}`)
    await s.set(s.alice, 'member', `more-${n}`)
    await publish(s.alice, { name: `more_${n}`, version: '1.0.0' })
    await setPublisher(s.alice, `more-${n}`, `more_${n}`)
  }
  expect(await s.app.countQueries(list)).toBe(before)
})

describe('deletion of an account', () => {
  it('lists publishers that would lose their last admin and packages that would lose their owner', async () => {
    await using s = await createScene()
    const remove = () => s.root.delete(`/api/admin/users/${s.bob.id}`)
    await publish(s.bob, { name: 'moon', version: '1.0.0' })
    expect(await remove()).toMatchObject({
      status: 409,
      ...error('Conflict', expect.stringMatching(/only uploader of moon.* last admin .*acme/)),
    })
    await setPublisher(s.bob, 'acme', 'moon')
    expect(await remove()).toMatchObject({
      status: 409,
      ...error('Conflict', expect.stringMatching(/is the last admin of the publisher acme/)),
    })
    await s.set(s.cleo, 'admin')
    expect(await remove()).toMatchObject({ status: 200 })
    const { body } = await s.root.get('/api/publishers/acme/members')
    expect(body.members.map(({ userId }: { userId: string }) => userId).toSorted()).toEqual([s.alice.id, s.cleo.id].toSorted())
  })

  it('never orphans a package or a publisher during concurrent changes', async () => {
    await using s = await createScene()
    const { reads } = s.app.services.database
    await s.set(s.root, 'admin')
    for (let round = 0; round < interleavings * 2; round++) {
      const [name, person] = [`pkg_${round}`, await s.app.member()]
      await s.set(person, 'admin')
      await publish(person, { name, version: '1.0.0' })
      await setPublisher(person, 'acme', name)
      const answers = await interleave(s.app, Math.floor(round / 2), [
        () => s.root.delete(`/api/admin/users/${person.id}`),
        () => setPublisher(round % 2 ? person : s.root, null, name),
      ])
      expect(statuses(answers)).not.toContain(500)
      const orphans = await reads.all(
        'select name from packages p where publisher_id is null and not exists (select 1 from package_uploaders u where u.package_id = p.id)',
      )
      expect(orphans).toEqual([])
    }
  })
})

it("shows anonymous users only the public details of a public package's owner", async () => {
  await using app = await testApp({ env: { PUBLIC_PACKAGES_ENABLED: 'true' } })
  const [root, alice] = [await app.admin(), await app.member()]
  await root.put('/api/admin/public-packages', { enabled: true })
  await root.post('/api/publishers', { id: 'acme', displayName: 'Acme', contactEmail: 'hello@acme.example' })
  await root.put(`/api/publishers/acme/members/${alice.id}`, { role: 'member' })
  for (const name of ['rocket', 'secret']) {
    await publish(alice, { name, version: '1.0.0' })
    await setPublisher(alice, 'acme', name)
  }
  const opened = { visibility: 'public', confirm: 'rocket' }
  expect((await alice.put('/api/packages/rocket/visibility', opened)).status).toBe(200)
  const ask = (fields: string) => app.anonymous.graphql(`{ package(name: "rocket") { publisher { ${fields} } } }`)
  expect((await ask('slug displayName isVerified url')).body.data.package.publisher).toMatchObject({ slug: 'acme', displayName: 'Acme' })
  for (const field of ['contactEmail', 'members { role }', 'memberCount', 'packageCount', 'packages(first: 5) { totalCount }', 'createdAt'])
    expect((await ask(field)).body.errors[0].extensions.code, field).toBe('MissingAuthentication')
  for (const path of ['/api/publishers', '/api/publishers/acme', '/api/publishers/acme/members', '/api/packages/secret/publisher'])
    expect((await app.anonymous.get(path)).status, path).toBe(401)
})
