import { expect, it } from 'vitest'
import { type Actor, statuses } from '../actor.ts'
import { type TestApp, testApp } from '../app.ts'
import { duringTransaction } from '../support/concurrent-transaction.ts'

const rounds = 20
// Hashing at this cost takes long enough for an account to be deleted in the meantime.
const env = { BCRYPT_COST: '6' }
const newPassword = { currentPassword: 'correct horse', newPassword: 'battery staple' }

it('deletes an account once when two administrators delete it concurrently', async () => {
  await using app = await testApp()
  const [one, two] = [await app.admin(), await app.admin()]
  for (let round = 0; round < rounds; round++) {
    const path = `/api/admin/users/${(await app.member()).id}`
    expect(statuses(await Promise.all([one.delete(path), two.delete(path)]))).toEqual([200, 404])
  }
})

it('resets a password once when two resets run concurrently, and reports a conflict to the other', async () => {
  await using app = await testApp({ env })
  const [one, two, bob] = [await app.admin(), await app.admin(), await app.member()]
  const reset = (by: Actor) => by.post(`/api/admin/users/${bob.id}/reset-password`, {})
  // Both requests read before either writes.
  const lock = `select id from users where id = '${bob.id}'`
  const answers = await duringTransaction(app, { lock }, () => Promise.all([reset(one), reset(two)]))
  expect(statuses(answers)).toEqual([200, 409])
  expect(answers.find(({ status }) => status === 409)?.body.error).toMatchObject({ code: 'Conflict' })
  // The password returned by the successful reset works.
  await bob.session(answers.find(({ status }) => status === 200)?.body.generatedPassword)
  expect(await reset(two)).toMatchObject({ status: 200 })
})

it('reports to an administrator that the account being changed was just deleted', async () => {
  await using app = await testApp({ env })
  const [one, two] = [await app.admin(), await app.admin()]
  for (let round = 0; round < rounds; round++) {
    const path = `/api/admin/users/${(await app.member()).id}`
    const [changed, reset, deleted] = await Promise.all([
      one.put(path, { displayName: 'Bobby' }),
      one.post(`${path}/reset-password`, {}),
      two.delete(path),
    ])
    expect(deleted).toMatchObject({ status: 200 })
    // 409 means that the account was changed but deleted before the answer.
    expect([200, 404, 409]).toContain(changed?.status)
    expect([200, 404, 409]).toContain(reset?.status)
  }
})

it('never fails for a user whose account is deleted during a change', async () => {
  await using app = await testApp({ env })
  const admin = await app.admin()
  const changes: ((bob: Actor) => Promise<{ status: number }>)[] = [
    (bob) => bob.delete('/api/auth/avatar'),
    (bob) => bob.patch('/api/auth/profile', { displayName: 'Bobby' }),
    (bob) => bob.post('/api/auth/change-password', newPassword),
    async (bob) => bob.delete(`/api/auth/keys/${await tokenOf(app, bob)}`),
  ]
  for (const change of changes)
    for (let round = 0; round < rounds; round++) {
      const bob = await app.member()
      const [changed, deleted] = await Promise.all([change(bob), admin.delete(`/api/admin/users/${bob.id}`)])
      expect(deleted).toMatchObject({ status: 200 })
      expect([200, 401, 404, 409]).toContain(changed.status)
    }
})

it('changes neither name nor password of an account that is deleted or disabled in the meantime', async () => {
  await using app = await testApp({ env })
  const [bob, carol] = [await app.member(), await app.member()]
  const rename = () => bob.patch('/api/auth/profile', { displayName: 'Bobby' })
  const gone = { lock: `select id from users where id = '${bob.id}'`, changes: [`delete from users where id = '${bob.id}'`] }
  expect(await duringTransaction(app, gone, rename)).toMatchObject({ status: 401, body: { error: { code: 'MissingAuthentication' } } })
  const disabled = {
    lock: `select id from users where id = '${carol.id}'`,
    changes: [`update users set is_active = false where id = '${carol.id}'`],
  }
  const choose = () => carol.post('/api/auth/change-password', newPassword)
  expect(await duringTransaction(app, disabled, choose)).toMatchObject({ status: 401, body: { error: { code: 'MissingAuthentication' } } })
  const told = "select 1 from audit_entries where kind in ('user.updated', 'user.password_changed')"
  expect(await app.services.database.reads.all(told)).toEqual([])
})

async function tokenOf({ services }: TestApp, { id }: Actor): Promise<string | undefined> {
  return (await services.database.reads.get<{ id: string }>('select id from access_tokens where user_id = ?', id))?.id
}
