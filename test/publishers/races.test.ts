import { expect, it } from 'vitest'
import { Publisher, PublisherMember } from '../../server/registry/publishers/entity.ts'
import { User } from '../../server/accounts/users/entity.ts'
import type { Actor } from '../actor.ts'
import { type TestApp, testApp } from '../app.ts'
import { interleave, interleavings } from '../support/interleave.ts'

/** Makes these users the admins of the publisher directly in the database. */
async function makeAdmins(app: TestApp, people: Actor[]): Promise<void> {
  const em = app.services.database.fork()
  const publisher = em.getReference(Publisher, 'acme')
  await em.upsertMany(
    PublisherMember,
    people.map(({ id }) => ({ publisher, user: em.getReference(User, id), role: 'admin' as const, createdAt: app.services.now() })),
  )
}

it('always keeps an admin during concurrent demotions and removals', async () => {
  await using app = await testApp()
  const [root, one, two] = [await app.admin(), await app.member(), await app.member()]
  await root.post('/api/publishers', { id: 'acme', displayName: 'Acme' })
  const member = (id: string) => `/api/publishers/acme/members/${id}`
  await makeAdmins(app, [one, two])
  await root.delete(member(root.id))
  const pairs = [
    [() => one.put(member(two.id), { role: 'member' }), () => two.put(member(one.id), { role: 'member' })],
    [() => one.delete(member(two.id)), () => two.delete(member(one.id))],
    [() => one.delete(member(one.id)), () => two.delete(member(two.id))],
    [() => one.delete(member(one.id)), () => root.put(member(two.id), { role: 'member' })],
  ]
  for (let round = 0; round < interleavings * pairs.length; round++) {
    const answers = await interleave(app, Math.floor(round / pairs.length), pairs[round % pairs.length] ?? [])
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1)
    for (const { status } of answers) expect([200, 400, 403]).toContain(status)
    const { body } = await root.get('/api/publishers/acme/members')
    expect(body.members.filter(({ role }: { role: string }) => role === 'admin')).toHaveLength(1)
    await makeAdmins(app, [one, two])
  }
})

it('never adds a user whose account is being deleted', async () => {
  await using app = await testApp()
  const root = await app.admin()
  await root.post('/api/publishers', { id: 'acme', displayName: 'Acme' })
  for (let round = 0; round < interleavings; round++) {
    const bob = await app.member()
    const [deleted, added] = await interleave(app, round, [
      () => root.delete(`/api/admin/users/${bob.id}`),
      () => root.put(`/api/publishers/acme/members/${bob.id}`, { role: 'member' }),
    ])
    // Either the account was deleted first, or the deletion was refused because of the membership or deleted it too.
    expect([
      [200, 404],
      [409, 200],
      [200, 200],
    ]).toContainEqual([deleted?.status, added?.status])
    if (deleted?.status === 409) expect(await root.delete(`/api/admin/users/${bob.id}`)).toMatchObject({ status: 200 })
    expect((await root.get('/api/publishers/acme/members')).body.members).toHaveLength(1)
  }
})
