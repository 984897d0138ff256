import { expect, it } from 'vitest'
import { Package, PackageUploader } from '../../server/registry/packages/entity.ts'
import { User } from '../../server/accounts/users/entity.ts'
import { type Actor, statuses } from '../actor.ts'
import { type TestApp, testApp } from '../app.ts'
import { interleave, interleavings } from '../support/interleave.ts'
import { publish } from '../support/publish.ts'

/** Replaces the uploaders of the package directly in the database. */
async function setUploaders(app: TestApp, people: Actor[]): Promise<void> {
  const em = app.services.database.fork()
  const acme = await em.findOneOrFail(Package, { name: 'acme' })
  await em.upsertMany(
    PackageUploader,
    people.map(({ id }) => ({ package: acme, user: em.getReference(User, id) })),
  )
}

it('never leaves a package without an owner when two uploaders remove each other', async () => {
  await using app = await testApp()
  const [alice, bob, admin] = [await app.member(), await app.member(), await app.admin()]
  await publish(alice, { name: 'acme', version: '1.0.0' })
  const path = ({ email }: { email: string }) => `/api/packages/acme/uploaders/${email}`
  for (let round = 0; round < interleavings * 2; round++) {
    await setUploaders(app, [alice, bob])
    const answers = await interleave(app, Math.floor(round / 2), [
      () => alice.delete(path(round % 2 ? bob : alice)),
      () => bob.delete(path(round % 2 ? alice : bob)),
    ])
    // A removed uploader has no permission anymore. Removing the last uploader is refused.
    const [won, lost] = statuses(answers)
    expect(won).toBe(200)
    expect(round % 2 ? [403] : [400]).toContain(lost)
    expect((await admin.get('/api/packages/acme/uploaders')).body.uploaders).toHaveLength(1)
  }
})

it('never leaves a package without an owner when an account is deleted while another uploader is removed', async () => {
  await using app = await testApp()
  const [alice, admin] = [await app.member(), await app.admin()]
  await publish(alice, { name: 'acme', version: '1.0.0' })
  const path = ({ email }: { email: string }) => `/api/packages/acme/uploaders/${email}`
  for (let round = 0; round < interleavings; round++) {
    const bob = await app.member()
    await setUploaders(app, [alice, bob])
    const [deleted, removed] = await interleave(app, round, [
      () => admin.delete(`/api/admin/users/${bob.id}`),
      () => alice.delete(path(alice)),
    ])
    expect([deleted?.status, removed?.status]).toEqual(expect.arrayContaining([200]))
    for (const { status } of [deleted, removed]) expect([200, 400, 409]).toContain(status)
    expect((await admin.get('/api/packages/acme/uploaders')).body.uploaders).toHaveLength(1)
  }
})

it('never adds an uploader whose account is being deleted', async () => {
  await using app = await testApp()
  const [alice, admin] = [await app.member(), await app.admin()]
  await publish(alice, { name: 'acme', version: '1.0.0' })
  for (let round = 0; round < interleavings; round++) {
    // Failed lookups of e-mail addresses are rate limited, which another test covers.
    await app.services.limits.refund('emailLookup', alice.id)
    const bob = await app.member()
    const [deleted, added] = await interleave(app, round, [
      () => admin.delete(`/api/admin/users/${bob.id}`),
      () => alice.put(`/api/packages/acme/uploaders/${bob.email}`),
    ])
    // Either the account was deleted first, or the deletion found the new ownership and was refused.
    expect([
      [200, 404],
      [409, 200],
      [200, 200],
    ]).toContainEqual([deleted?.status, added?.status])
    if (deleted?.status === 409) expect(await admin.delete(`/api/admin/users/${bob.id}`)).toMatchObject({ status: 200 })
    expect((await admin.get('/api/packages/acme/uploaders')).body.uploaders).toHaveLength(1)
  }
})
