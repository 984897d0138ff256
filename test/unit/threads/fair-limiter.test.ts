import { setTimeout as sleep } from 'node:timers/promises'
import { expect, it } from 'vitest'
import { type Lane, createFairLimiter } from '../../../server/platform/threads/fair-limiter.ts'

/** Creates clients that request turns of a few milliseconds, and records the order in which the turns start. */
function clients(bounds: Parameters<typeof createFairLimiter>[0]) {
  const inTurn = createFairLimiter(bounds)
  const begun: string[] = []
  const ask = (key: string, lane?: Lane) =>
    inTurn(
      key,
      async () => {
        begun.push(key)
        await sleep(5)
        return 'served'
      },
      lane,
    ).catch((error: { code: string; retryAfter: number }) => `${error.code} ${error.retryAfter > 0}`)
  return { begun, ask, flood: (key: string, count: number) => Array.from({ length: count }, () => ask(key)) }
}

const count = (answers: string[], wanted: string) => answers.filter((answer) => answer === wanted).length
const refused = 'RateLimitExceeded true'

it('serves a new key next, regardless of how many callers of another key wait', async () => {
  const { begun, ask, flood } = clients({ atOnce: 2, waiting: 32, waitingPerKey: 8 })
  const crowd = flood('crowd', 100)
  expect(await ask('alice')).toBe('served')
  expect(begun.indexOf('alice')).toBe(2)
  const answers = await Promise.all(crowd)
  expect([count(answers, 'served'), count(answers, refused)]).toEqual([10, 90])
})

it('alternates between waiting keys', async () => {
  const { begun, flood } = clients({ atOnce: 1, waiting: 32, waitingPerKey: 8 })
  await Promise.all([...flood('a', 3), ...flood('b', 3), ...flood('c', 1)])
  expect(begun).toEqual(['a', 'a', 'b', 'c', 'a', 'b', 'b'])
})

it('replaces a caller of the busiest key with a new key if the queue is full', async () => {
  const { ask, flood } = clients({ atOnce: 1, waiting: 4, waitingPerKey: 8 })
  const crowd = flood('crowd', 5)
  const newcomers = [ask('alice'), ask('bob'), ask('carol'), ask('dave')]
  expect(await Promise.all(newcomers)).toEqual(['served', 'served', 'served', refused])
  expect(count(await Promise.all(crowd), 'served')).toBe(2)
})

it('continues after failed work', async () => {
  const inTurn = createFairLimiter({ atOnce: 1, waiting: 1, waitingPerKey: 1 })
  const failing = inTurn('a', () => Promise.reject(new Error('no')))
  const next = inTurn('b', async () => 'served')
  await expect(failing).rejects.toThrow('no')
  expect(await next).toBe('served')
  expect(await inTurn('a', async () => 'served')).toBe('served')
})

it('rejects callers after a timeout with a custom error, and frees their place', async () => {
  const refusal = (seconds: number) => new Error(`Try again in ${seconds} s.`)
  const inTurn = createFairLimiter({ atOnce: 1, waiting: 1, waitingPerKey: 1, maxWaitMs: 20, refusal })
  const running = Promise.withResolvers<string>()
  const first = inTurn('a', () => running.promise)
  await expect(inTurn('b', async () => 'served')).rejects.toThrow('Try again in 1 s.')
  const next = inTurn('b', async () => 'served')
  running.resolve('done')
  expect([await first, await next]).toEqual(['done', 'served'])
})

it('keeps reserved places, and alternates between both lanes', async () => {
  const { begun, ask } = clients({ atOnce: 1, waiting: 3, waitingPerKey: 8, reserved: 2 })
  const open = ['a', 'b', 'c', 'd', 'e'].map((key) => ask(key))
  const reserved = ['x', 'y', 'z'].map((key) => ask(key, 'reserved'))
  expect(await Promise.all(reserved)).toEqual(['served', 'served', refused])
  expect(await Promise.all(open)).toEqual(['served', 'served', 'served', 'served', refused])
  expect(begun).toEqual(['a', 'x', 'b', 'y', 'c', 'd'])
})

it('accepts callers in one lane while the other is full', () => {
  const inTurn = createFairLimiter({ atOnce: 1, waiting: 1, waitingPerKey: 1, reserved: 1 })
  const forever = () => new Promise<void>(() => {})
  void inTurn('a', forever)
  void inTurn('b', forever)
  expect(() => inTurn.requirePlace('c')).toThrow('Too many')
  expect(() => inTurn.requirePlace('c', 'reserved')).not.toThrow()
  void inTurn('c', forever, 'reserved')
  expect(() => inTurn.requirePlace('d', 'reserved')).toThrow('Too many')
})
