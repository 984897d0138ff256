import { describe, expect, it } from 'vitest'
import { testApp } from '../app.ts'
import { acme, error, team } from '../support/publishers.ts'

const globalId = (type: string, id: string) => Buffer.from(`${type}:${id}`).toString('base64')

describe('creation of a publisher', () => {
  it('requires a server administrator, who becomes its first admin', async () => {
    await using app = await testApp()
    const admin = await app.admin()
    const details = { description: 'Fine\ntools', websiteUrl: 'https://acme.example/x?y#z', contactEmail: 'hello@acme.example' }
    expect(await admin.post('/api/publishers', { ...acme, ...details })).toMatchObject({
      status: 201,
      body: {
        ...acme,
        ...details,
        isVerified: false,
        createdAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:]+\.\d{3}Z$/),
        members: [{ userId: admin.id, email: admin.email, displayName: admin.user.displayName, role: 'admin' }],
      },
    })
    for (const actor of [await app.member(), await app.viewer()])
      expect(await actor.post('/api/publishers', acme)).toMatchObject({ status: 403, ...error('InsufficientPermissions') })
    expect(await app.anonymous.post('/api/publishers', acme)).toMatchObject({ status: 401 })
  })

  it('answers 409 for an existing id', async () => {
    await using app = await testApp()
    const [one, two] = [await app.admin(), await app.admin()]
    await one.post('/api/publishers', acme)
    expect(await two.post('/api/publishers', acme)).toMatchObject({ status: 409, ...error('Conflict', expect.stringContaining('acme')) })
  })

  it.each(['a', '-acme', 'acme-', 'Acme', 'ac me', 'acme_x', 'ac\u00e4me', 'x'.repeat(65), '', 'verify', '../acme', 'acme\0', 'acme\n'])(
    'refuses the id %j',
    async (id) => {
      await using app = await testApp()
      const answer = await (await app.admin()).post('/api/publishers', { id, displayName: 'X' })
      expect(answer).toMatchObject({ status: 400, ...error('InvalidInput', expect.stringMatching(/^id: /)) })
    },
  )

  it('accepts ids of 2 to 64 characters and reserves domain-like ids for verification', async () => {
    await using app = await testApp()
    const admin = await app.admin()
    for (const id of ['a1', 'x'.repeat(64), 'a-b--c', '42'])
      expect(await admin.post('/api/publishers', { id, displayName: 'X' })).toMatchObject({ status: 201 })
    expect(await admin.post('/api/publishers', { id: 'acme.dev', displayName: 'X' })).toMatchObject({
      status: 400,
      ...error('InvalidInput', expect.stringContaining('domain')),
    })
  })

  it.each([
    ['displayName', ''],
    ['displayName', 'x'.repeat(101)],
    ['displayName', 'a\u202eb'],
    ['description', 'x'.repeat(4001)],
    ['description', 'a\0b'],
    ['websiteUrl', 'javascript:alert(1)'],
    ['websiteUrl', 'https://user:secret@acme.example'],
    ['websiteUrl', 'https:acme.example'],
    ['websiteUrl', 'https://'],
    ['websiteUrl', 'https://acme.example/\0'],
    ['contactEmail', 'no-address'],
    ['contactEmail', 'a\0b@acme.example'],
  ])('refuses the %s %j', async (field, value) => {
    await using app = await testApp()
    const admin = await app.admin()
    const refused = { status: 400, ...error('InvalidInput', expect.stringMatching(new RegExp(`^${field}: `))) }
    expect(await admin.post('/api/publishers', { ...acme, [field]: value })).toMatchObject(refused)
    await admin.post('/api/publishers', acme)
    expect(await admin.put('/api/publishers/acme', { [field]: value })).toMatchObject(refused)
  })
})

describe('reading of publishers', () => {
  it('shows a publisher to signed-in users, with members for its members and server administrators', async () => {
    await using t = await team()
    const own = [t.root, await t.app.owner(), t.alice, t.bob]
    for (const actor of own) {
      const { body } = await actor.get('/api/publishers/acme')
      expect(body.members.map((member: { role: string; userId: string }) => [member.userId, member.role])).toEqual(
        expect.arrayContaining([
          [t.root.id, 'admin'],
          [t.alice.id, 'admin'],
          [t.bob.id, 'member'],
        ]),
      )
      expect((await actor.get('/api/publishers/acme/members')).body).toEqual({ members: body.members })
    }
    for (const actor of [t.eve, await t.app.viewer()]) {
      const { status, body } = await actor.get('/api/publishers/acme')
      expect([status, body.id, 'members' in body]).toEqual([200, 'acme', false])
      expect(await actor.get('/api/publishers/acme/members')).toMatchObject({ status: 403, ...error('InsufficientPermissions') })
      const query =
        '{ publisher(slug: "acme") { slug members { user { email } } memberCount viewerRole viewerCanAdminister viewerCanDelete } }'
      expect((await actor.graphql(query)).body.data.publisher).toEqual({
        slug: 'acme',
        members: null,
        memberCount: null,
        viewerRole: null,
        viewerCanAdminister: false,
        viewerCanDelete: false,
      })
      const activity = await actor.graphql('{ publisher(slug: "acme") { activity(first: 1) { nodes { kind } } } }')
      expect(activity.body.errors[0].extensions.code).toBe('InsufficientPermissions')
    }
    for (const path of ['', '/acme', '/acme/members'])
      expect(await t.app.anonymous.get(`/api/publishers${path}`)).toMatchObject({ status: 401 })
  })

  it('answers 404 for an unknown publisher', async () => {
    await using t = await team()
    for (const id of ['nothing', 'ACME', '%2e%2e', 'x'.repeat(200)]) {
      for (const path of [`/api/publishers/${id}`, `/api/publishers/${id}/members`]) expect((await t.root.get(path)).status, path).toBe(404)
      expect((await t.root.put(`/api/publishers/${id}`, { displayName: 'X' })).status).toBe(404)
      expect((await t.root.delete(`/api/publishers/${id}`)).status).toBe(404)
    }
    expect((await t.root.get('/api/publishers/acme%00')).status).toBe(400)
  })

  it('lists fifty per page, filtered by part of id or name', async () => {
    await using app = await testApp()
    const admin = await app.admin()
    for (let n = 0; n < 53; n++) await admin.post('/api/publishers', { id: `p-${String(n).padStart(2, '0')}`, displayName: `Team ${n}` })
    const { body } = await admin.get('/api/publishers?page=2')
    expect(body).toMatchObject({ page: 2, pageSize: 50, totalCount: 53, totalPages: 2 })
    expect(body.publishers.map(({ id }: { id: string }) => id)).toEqual(['p-50', 'p-51', 'p-52'])
    expect(body.publishers[0]).not.toHaveProperty('members')
    expect((await admin.get('/api/publishers?query=TEAM%2042')).body).toMatchObject({ totalCount: 1, publishers: [{ id: 'p-42' }] })
    expect((await admin.get('/api/publishers?query=%25')).body).toMatchObject({ totalCount: 0, publishers: [] })
    expect((await admin.get('/api/publishers?query=%00')).status).toBe(400)
    const page = await admin.graphql(
      '{ publishers(first: 2, viewerIsMember: true, isVerified: false) { nodes { slug } totalCount pageInfo { endCursor } } }',
    )
    expect(page.body.data.publishers).toMatchObject({ totalCount: 53, nodes: [{ slug: 'p-00' }, { slug: 'p-01' }] })
    const after = { after: page.body.data.publishers.pageInfo.endCursor }
    const next = await admin.graphql('query ($after: String) { publishers(first: 1, after: $after) { nodes { slug } } }', after)
    expect(next.body.data.publishers.nodes).toEqual([{ slug: 'p-02' }])
    const others = await (await app.member()).graphql('{ publishers(first: 1, viewerIsMember: true) { totalCount } }')
    expect(others.body.data.publishers.totalCount).toBe(0)
  })

  it('finds a publisher by global id and refuses invalid ids', async () => {
    await using t = await team()
    const find = (id: string) => t.eve.graphql('query ($id: ID!) { node(id: $id) { ... on Publisher { slug } } }', { id })
    expect((await find(globalId('Publisher', 'acme'))).body.data.node).toEqual({ slug: 'acme' })
    expect((await find(globalId('Publisher', 'nothing'))).body.data.node).toBeNull()
    for (const id of [globalId('Publisher', 'ac\0me'), globalId('User', 'acme')])
      expect((await find(id)).body.errors[0].extensions.code).toBe('NotFound')
  })

  it('shows memberships only to the user and to server administrators', async () => {
    await using t = await team()
    const query = '{ viewer { memberships { role publisher { slug } } } }'
    expect((await t.alice.graphql(query)).body.data.viewer.memberships).toEqual([{ role: 'ADMIN', publisher: { slug: 'acme' } }])
    const others = 'query ($id: ID!) { user(uuid: $id) { memberships { role } } }'
    expect((await t.root.graphql(others, { id: t.bob.id })).body.data.user.memberships).toEqual([{ role: 'MEMBER' }])
    const fellow = '{ publisher(slug: "acme") { members { user { memberships { role } } } } }'
    expect(
      (await t.bob.graphql(fellow)).body.data.publisher.members.filter((m: { user: { memberships: unknown } }) => m.user.memberships),
    ).toHaveLength(1)
  })
})
