import { expect, it, onTestFinished, vi } from 'vitest'
import { executeInTurn } from '../../../server/platform/graphql/cost.ts'
import { yieldToEventLoop } from '../../../server/platform/threads/slices.ts'

type Caller = Parameters<typeof executeInTurn>[0]

/** Replaces the clock, and occupies this many iterations of the event loop with other work of one millisecond each. Returns how many have passed. */
function otherWork(iterations: number): () => number {
  const clock = { now: performance.now(), passed: 0 }
  const spy = vi.spyOn(performance, 'now').mockImplementation(() => clock.now)
  onTestFinished(() => spy.mockRestore())
  const work = () => {
    clock.now++
    if (++clock.passed < iterations) setImmediate(work)
  }
  setImmediate(work)
  return () => clock.passed
}

it('waits between two slices until other work is done, because an iteration of the event loop accepts only one connection', async () => {
  const passed = otherWork(20)
  await yieldToEventLoop()
  expect(passed()).toBe(20)
})

it('waits between two slices for at most 40 ms', async () => {
  const passed = otherWork(1000)
  await yieldToEventLoop()
  expect(passed()).toBeGreaterThanOrEqual(40)
  expect(passed()).toBeLessThan(45)
})

it('resumes one waiter at a time', async () => {
  const passed = otherWork(100)
  const resumedAt = await Promise.all([1, 2].map(() => yieldToEventLoop().then(passed)))
  expect((resumedAt[1] ?? 0) - (resumedAt[0] ?? 0)).toBeGreaterThanOrEqual(40)
})

it('executes one expensive operation at a time, and cheap ones concurrently', async () => {
  const state = {}
  const caller = (ip: string) => ({ viewer: null, ip, state }) as Caller
  let running = 0
  let highest = 0
  const order: string[] = []
  const work = async (name: string) => {
    highest = Math.max(highest, ++running)
    await new Promise((resolve) => setTimeout(resolve, 20))
    running--
    order.push(name)
  }
  const flood = Array.from({ length: 5 }, () => executeInTurn(caller('192.0.2.1'), 4000, () => work('flood')))
  const other = executeInTurn(caller('192.0.2.2'), 4000, () => work('other'))
  let cheap = 0
  await executeInTurn(caller('192.0.2.3'), 10, () => void (cheap = order.length))
  await Promise.all([...flood, other])
  expect({ highest, cheap }).toEqual({ highest: 1, cheap: 0 })
  expect(order.indexOf('other')).toBeLessThan(3)
})

it('rejects excessive operations of one caller with a retry time', async () => {
  const caller = { viewer: null, ip: '192.0.2.1', state: {} } as Caller
  const all = await Promise.allSettled(
    Array.from({ length: 30 }, () => executeInTurn(caller, 4000, () => new Promise<void>((resolve) => setTimeout(resolve, 2)))),
  )
  const refused = all.filter((one) => one.status === 'rejected')
  expect(refused).toHaveLength(13)
  expect(refused[0]?.reason).toMatchObject({ extensions: { code: 'RateLimitExceeded', retryAfter: expect.any(Number) } })
})

it('gives each server in a process turns of its own', async () => {
  const [one, other] = [{ viewer: null, ip: '192.0.2.1', state: {} } as Caller, { viewer: null, ip: '192.0.2.1', state: {} } as Caller]
  const { promise, resolve } = Promise.withResolvers<void>()
  const held = executeInTurn(one, 4000, () => promise)
  const refused = await Promise.allSettled(Array.from({ length: 17 }, (_, index) => executeInTurn(one, 4000, () => index)).slice(16))
  expect(refused.map(({ status }) => status)).toEqual(['rejected'])
  expect(await executeInTurn(other, 4000, () => 'done')).toBe('done')
  resolve()
  await held
})
