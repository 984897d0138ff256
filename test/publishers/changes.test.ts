import { describe, expect, it } from 'vitest'
import { Package } from '../../server/registry/packages/entity.ts'
import type { TestApp } from '../app.ts'
import { acme, error, team } from '../support/publishers.ts'
import { publish } from '../support/publish.ts'

describe('changes of a publisher', () => {
  it('require an admin of the publisher or a server administrator and update only the given fields', async () => {
    await using t = await team()
    expect(await t.alice.put('/api/publishers/acme', { description: 'New', websiteUrl: 'http://acme.example' })).toMatchObject({
      status: 200,
      body: {
        id: 'acme',
        displayName: 'Acme',
        description: 'New',
        websiteUrl: 'http://acme.example',
        contactEmail: null,
        members: expect.any(Array),
      },
    })
    expect((await t.root.put('/api/publishers/acme', { displayName: 'Acme Corp', websiteUrl: null })).body).toMatchObject({
      displayName: 'Acme Corp',
      description: 'New',
      websiteUrl: null,
    })
    expect((await t.alice.put('/api/publishers/acme', { id: 'other', slug: 'other', isVerified: true })).body).toMatchObject({
      id: 'acme',
      isVerified: false,
    })
    for (const actor of [t.bob, t.eve, await t.app.viewer(), await t.app.withScopes(t.alice, ['read'])])
      expect(await actor.put('/api/publishers/acme', { displayName: 'Evil' })).toMatchObject({ status: 403 })
    expect(await t.app.anonymous.put('/api/publishers/acme', { displayName: 'Evil' })).toMatchObject({ status: 401 })
  })

  it('delete it for server administrators only, and not while it owns packages', async () => {
    await using t = await team()
    await publish(t.alice, { name: 'rocket', version: '1.0.0' })
    await assignPackage(t.app, 'rocket')
    for (const actor of [t.alice, t.bob, t.eve]) expect(await actor.delete('/api/publishers/acme')).toMatchObject({ status: 403 })
    expect(await t.root.delete('/api/publishers/acme')).toMatchObject({
      status: 409,
      ...error('Conflict', expect.stringContaining('rocket')),
    })
    await assignPackage(t.app, 'rocket', null)
    expect(await t.root.delete('/api/publishers/acme')).toMatchObject({ status: 200, body: { status: 'ok' } })
    expect(await t.root.get('/api/publishers/acme')).toMatchObject({ status: 404 })
    expect(await t.app.services.database.reads.all('select * from publisher_members')).toEqual([])
  })

  it('are recorded and readable by its admins', async () => {
    await using t = await team()
    await t.alice.put('/api/publishers/acme', { description: 'New', displayName: 'Acme' })
    await t.alice.put('/api/publishers/acme', { description: 'New' })
    await t.alice.put(`/api/publishers/acme/members/${t.bob.id}`, { role: 'admin' })
    await t.alice.delete(`/api/publishers/acme/members/${t.bob.id}`)
    const { body } = await t.alice.graphql(
      '{ publisher(slug: "acme") { activity(first: 10) { nodes { kind summary publisher clientIp userId } totalCount } } }',
    )
    const { nodes } = body.data.publisher.activity
    expect(nodes.map(({ kind }: { kind: string }) => kind)).toEqual([
      'publisher.member_removed',
      'publisher.member_updated',
      'publisher.updated',
      'publisher.member_added',
      'publisher.member_added',
      'publisher.created',
    ])
    expect(nodes[2].summary).toBe(`${t.alice.user.displayName} changed description of acme`)
    expect(nodes[1]).toMatchObject({ publisher: 'acme', userId: t.bob.id, clientIp: null })
    const log = await t.root.get('/api/admin/audit-log?publisher=acme&kind=publisher.updated')
    expect(log.body.entries).toHaveLength(1)
    await t.root.delete('/api/publishers/acme')
    expect((await t.root.get('/api/admin/audit-log?publisher=acme')).body.entries[0]).toMatchObject({ kind: 'publisher.deleted' })
  })

  it('of a deleted publisher are hidden from admins of a new one with the same identifier', async () => {
    await using t = await team()
    await t.root.delete('/api/publishers/acme')
    await t.root.post('/api/publishers', acme)
    await t.root.put(`/api/publishers/acme/members/${t.eve.id}`, { role: 'admin' })
    const { body } = await t.eve.graphql('{ publisher(slug: "acme") { activity(first: 10) { nodes { kind } totalCount } } }')
    expect(body.data.publisher.activity).toEqual({
      nodes: [{ kind: 'publisher.member_added' }, { kind: 'publisher.created' }],
      totalCount: 2,
    })
  })
})

/** Assigns a package to a publisher directly in the database. */
async function assignPackage({ services }: TestApp, pkg: string, publisherId: string | null = 'acme') {
  await services.database.fork().nativeUpdate(Package, { name: pkg }, { publisher: publisherId })
}
