import { expect, it } from 'vitest'
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
