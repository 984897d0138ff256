import { expect, it } from 'vitest'
import { testApp } from '../../app.ts'

it('keeps a bounded number of prepared statements per connection', async () => {
  await using app = await testApp({ alone: true, env: { POSTGRES_READ_POOL_MAX: '1' } })
  const { reads } = app.services.database
  for (let index = 0; index < 300; index++) expect(await reads.get(`select ${index} as number`)).toEqual({ number: index })
  const row = await reads.get<{ count: string }>("select count(*) as count from pg_prepared_statements where name like 'read_%'")
  expect(Number(row?.count)).toBeGreaterThan(100)
  expect(Number(row?.count)).toBeLessThanOrEqual(200)
  expect(await reads.get('select cast(? as integer) + ? as sum', 1, 2)).toEqual({ sum: 3 })
})
