import { expect, it } from 'vitest'
import { announceSetupCode } from '../../server/accounts/setup/service.ts'
import { User } from '../../server/accounts/users/entity.ts'
import { statuses } from '../actor.ts'
import { testApp } from '../app.ts'
import { interleave, interleavings } from '../support/interleave.ts'

it('creates only one owner when the setup is completed twice concurrently', async () => {
  await using app = await testApp({ setUp: false })
  const { reads, orm } = app.services.database
  for (let round = 0; round < interleavings; round++) {
    const ip = app.address()
    await announceSetupCode(app.services)
    const code = app.lines
      .findLast((line) => line.startsWith('Setup code: '))
      ?.slice(12)
      .trim()
    const { setupToken } = (await app.anonymous.post('/api/setup/verify', { code }, { ip })).body
    const complete = (name: string) =>
      app.anonymous.post(
        '/api/setup/complete',
        { email: `${name}@example.com`, displayName: name, password: 'a fine password', setupToken },
        { ip },
      )
    const answers = await interleave(app, round, [() => complete('ann'), () => complete('ben')])
    expect(statuses(answers)).toEqual([201, 404])
    expect(await reads.all('select id from users')).toHaveLength(1)
    await orm.em.getConnection().execute('delete from users')
    app.forgetSetup()
  }
})

it('never accepts an invitation twice', async () => {
  await using app = await testApp()
  const admin = await app.admin()
  for (let round = 0; round < interleavings; round++) {
    const { body } = await admin.post('/api/admin/users', { email: `i${round}@example.com`, displayName: 'I', mode: 'invite' })
    const token = body.inviteUrl.split('/invite/')[1]
    const accept = (password: string) => app.anonymous.post(`/api/invites/${token}/accept`, { password }, { ip: app.address() })
    const answers = await interleave(app, round, [() => accept('first password'), () => accept('second password')])
    expect(statuses(answers)).toEqual([200, 404])
  }
})

it('keeps exactly one active owner during concurrent transfers, demotions and deactivations', async () => {
  await using app = await testApp({ now: new Date() })
  const { reads } = app.services.database
  let owner = await app.owner()
  const admins = [await app.admin(), await app.admin()]
  for (let round = 0; round < interleavings * 2; round++) {
    const [one, two] = admins as [typeof owner, typeof owner]
    const from = owner
    // Failures of an address are counted per hour.
    app.clock.now = new Date(Date.now() + round * 3_600_000)
    const answers = await interleave(app, Math.floor(round / 2), [
      () => from.post('/api/admin/transfer-ownership', { email: one.email }),
      () => from.post('/api/admin/transfer-ownership', { email: two.email }),
      () => two.put(`/api/admin/users/${one.id}`, round % 2 ? { isActive: false } : { role: 'viewer' }),
    ])
    expect(answers.slice(0, 2).filter(({ status }) => status === 200).length).toBeLessThanOrEqual(1)
    for (const { status } of answers) expect([200, 403, 409]).toContain(status)
    const owners = await reads.all<{ id: string; is_active: boolean | number }>("select id, is_active from users where role = 'owner'")
    expect(owners).toHaveLength(1)
    expect(Boolean(owners[0]?.is_active)).toBe(true)
    const everybody = [owner, one, two]
    owner = everybody.find(({ id }) => id === owners[0]?.id) ?? owner
    admins.splice(0, 2, ...everybody.filter(({ id }) => id !== owner.id))
    const ids = admins.map(({ id }) => id)
    await app.services.database.fork().nativeUpdate(User, { id: { $in: ids } }, { role: 'admin', isActive: true })
  }
})
