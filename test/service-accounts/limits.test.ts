import { expect, it } from 'vitest'
import { duringTransaction } from '../support/concurrent-transaction.ts'
import { publish } from '../support/publish.ts'
import { teamWithRobots } from '../support/service-accounts.ts'

it('limits the tokens of service accounts like those of people', async () => {
  await using t = await teamWithRobots()
  const { account } = t.ofAcme
  const issue = (limits: object) => t.alice.post(`/api/service-accounts/${account.id}/tokens`, { name: 'ci', ...limits })
  const narrow = { packages: ['robot_*'], actions: ['read'], addresses: ['10.0.0.0/8'] }
  expect(await issue(narrow)).toMatchObject({ status: 201, body: { scopes: ['read'], ...narrow } })
  for (const name of ['robot_made', 'other']) {
    await publish(t.alice, { name, version: '1.0.0' })
    await t.alice.put(`/api/packages/${name}/publisher`, { publisherId: 'acme' })
  }
  const { body } = await issue({ packages: ['robot_*'] })
  const robot = t.app.withToken(body.secret as string)
  expect((await robot.get('/api/packages/robot_made')).status).toBe(200)
  expect((await robot.get('/api/packages/other')).status).toBe(403)
  expect((await robot.get('/api/service-accounts/' + account.id)).status).toBe(403)
  for (const wrong of [{ packages: [] }, { packages: ['a b'] }, { addresses: ['10.0.0.0/99'] }, { actions: [] }, { actions: ['delete'] }])
    expect(await issue(wrong), JSON.stringify(wrong)).toMatchObject({ status: 400, body: { error: { code: 'InvalidInput' } } })
})

it('issues no token for an administrator who loses that right at the same moment', async () => {
  await using t = await teamWithRobots()
  const alice = `select 1 from publisher_members where user_id = '${t.alice.id}'`
  const losses: [name: string, actor: typeof t.alice, account: string, lock: string, change: string, status: number][] = [
    [
      'no publisher admin',
      t.alice,
      t.ofAcme.account.id,
      "select 1 from publishers where id = 'acme'",
      alice.replace('select 1', 'delete'),
      403,
    ],
    [
      'no server admin',
      t.root,
      t.ofServer.account.id,
      `select 1 from users where id = '${t.root.id}'`,
      `update users set role = 'member' where id = '${t.root.id}'`,
      403,
    ],
    [
      'disabled',
      t.owner,
      t.ofServer.account.id,
      `select 1 from users where id = '${t.owner.id}'`,
      `update users set is_active = false where id = '${t.owner.id}'`,
      401,
    ],
  ]
  for (const [name, actor, account, lock, change, status] of losses) {
    const issue = () => actor.post(`/api/service-accounts/${account}/tokens`, { name: 'late' })
    expect([name, (await issue()).status]).toEqual([name, 201])
    const answer = await duringTransaction(t.app, { lock, changes: [change] }, issue)
    expect([name, answer.status]).toEqual([name, status])
  }
})
