import { setTimeout as sleep } from 'node:timers/promises'
import { expect, it } from 'vitest'
import { Budget } from '../../server/platform/access/budget.ts'
import { withMeter } from '../../server/platform/db/meter.ts'
import { yieldToEventLoop } from '../../server/platform/threads/slices.ts'
import { User } from '../../server/accounts/users/entity.ts'
import { testApp } from '../app.ts'

it('counts the time of executing statements but not the wait for a connection', async () => {
  await using app = await testApp({ env: { POSTGRES_POOL_MAX: '1', POSTGRES_READ_POOL_MAX: '1' } })
  const { database } = app.services
  const budget = new Budget({ databaseMs: 250, textBytes: 10, objects: 10, totalMs: 60_000 })
  const { promise: isOver, resolve: end } = Promise.withResolvers<void>()
  const { promise: isHeld, resolve: hold } = Promise.withResolvers<void>()
  const holding = database.fork().transactional(async (em) => {
    await em.execute('select 1')
    hold()
    await isOver
  })
  await isHeld
  const waiting = withMeter(budget, () => database.fork().execute('select 1 as one'))
  await sleep(600)
  end()
  expect(await waiting).toEqual([{ one: 1 }])
  await holding
  expect(budget.spent).toBeNull()

  const pool = database.reads.pool
  if (pool) {
    const client = await pool.acquire()
    const reading = withMeter(budget, () => database.reads.get('select 1 as one'))
    await sleep(600)
    pool.release(client, false)
    expect(await reading).toEqual({ one: 1 })
    expect(budget.spent).toBeNull()
    const slow = withMeter(budget, () => database.reads.get('select pg_sleep(0.3)'))
    await slow
    expect(budget.spent).not.toBeNull()
  }
  budget.close()
})

it('refuses every statement once the budget is spent, with an error distinct from database errors', async () => {
  await using app = await testApp()
  const budget = new Budget({ databaseMs: 0, textBytes: 10, objects: 10, totalMs: 60_000 })
  const em = app.services.database.fork()
  await withMeter(budget, () => em.find(User, {}))
  expect(budget.spent).not.toBeNull()
  const { reads } = app.services.database
  const works: (() => Promise<unknown>)[] = [
    () => em.find(User, {}),
    () => em.count(User),
    () => em.execute('select 1'),
    () => reads.all('select 1'),
  ]
  for (const work of works) await expect(withMeter(budget, work)).rejects.toBe(budget.spent)
  budget.close()
})

it('does not count time spent on other tasks of the event loop', async () => {
  const budget = new Budget({ databaseMs: 1000, textBytes: 10, objects: 10, totalMs: 100 })
  const others = Array.from({ length: 20 }, async () => {
    await yieldToEventLoop()
    for (const began = performance.now(); performance.now() - began < 15;);
  })
  await sleep(20)
  let pause: Promise<void> | null = null
  for (let fields = 0; fields < 256; fields++) pause ??= budget.passField()
  expect(pause).not.toBeNull()
  await pause
  await Promise.all(others)
  expect(budget.spent).toBeNull()
  budget.close()
})
