import { expect, it } from 'vitest'
import { testApp } from '../app.ts'
import { User } from '../../server/accounts/users/entity.ts'

const sql = 'select display_name from users where id = ?'

it('caches a row until any write changes it', async () => {
  await using app = await testApp()
  const { id } = await app.member()
  const { reads, orm } = app.services.database
  const name = async () => (await reads.recall<{ display_name: string }>(sql, id))?.display_name
  const before = await name()
  expect(await name()).toBe(before)
  await app.services.database.fork().nativeUpdate(User, { id }, { displayName: 'By the ORM' })
  expect(await name()).toBe('By the ORM')
  await orm.em.getConnection().execute('update users set display_name = ? where id = ?', ['By plain SQL', id])
  expect(await name()).toBe('By plain SQL')
  await app.services.database.fork().nativeDelete(User, { id })
  expect(await name()).toBeUndefined()
})

it('neither returns nor caches uncommitted data', async () => {
  await using app = await testApp()
  const { id, user } = await app.member()
  const { database } = app.services
  const name = async () => (await database.reads.recall<{ display_name: string }>(sql, id))?.display_name
  const undone = database.fork().transactional(async (em) => {
    await em.nativeUpdate(User, { id }, { displayName: 'Never' })
    expect(await name()).toBe(user.displayName)
    throw new Error('changed my mind')
  })
  await expect(undone).rejects.toThrow('changed my mind')
  expect(await name()).toBe(user.displayName)
  await database.fork().transactional(async (em) => {
    await em.nativeUpdate(User, { id }, { displayName: 'At last' })
    expect(await name()).toBe(user.displayName)
  })
  expect(await name()).toBe('At last')
})

it('refuses revoked tokens and deactivated users immediately', async () => {
  await using app = await testApp()
  const [admin, alice, bob] = [await app.admin(), await app.member(), await app.member()]
  const { body } = await alice.post('/api/auth/keys', { name: 'ci', scopes: ['read'] })
  const ci = app.withToken(body.secret)
  expect(await ci.get('/api/package-names')).toMatchObject({ status: 200 })
  await alice.delete(`/api/auth/keys/${body.id}`)
  expect(await ci.get('/api/package-names')).toMatchObject({ status: 401 })
  expect(await bob.get('/api/package-names')).toMatchObject({ status: 200 })
  await admin.put(`/api/admin/users/${bob.id}`, { isActive: false })
  expect(await bob.get('/api/package-names')).toMatchObject({ status: 401 })
})
