import { setTimeout as sleep } from 'node:timers/promises'
import { expect, it } from 'vitest'
import { createFairLimiter } from '../../../server/platform/threads/fair-limiter.ts'

/** Creates clients that request turns of a few milliseconds, and records the order in which the turns start. */
function clients(bounds: Parameters<typeof createFairLimiter>[0]) {
  const inTurn = createFairLimiter(bounds)
  const begun: string[] = []
  const ask = (key: string, place?: Parameters<typeof inTurn>[2]) =>
    inTurn(
      key,
      async () => {
        begun.push(key)
        await sleep(5)
        return 'served'
      },
      place,
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
  const reserved = ['x', 'y', 'z'].map((key) => ask(key, { lane: 'reserved' }))
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
  expect(() => inTurn.requirePlace('c', { lane: 'reserved' })).not.toThrow()
  void inTurn('c', forever, { lane: 'reserved' })
  expect(() => inTurn.requirePlace('d', { lane: 'reserved' })).toThrow('Too many')
})

/** Starts a limiter whose only place is taken, so that all further calls wait. `result` is the state of a call. */
function fullLimiter(bounds: { waiting: number; waitingPerKey?: number }) {
  const inTurn = createFairLimiter({ atOnce: 1, waitingPerKey: 10, newcomersFirst: true, ...bounds })
  const running = Promise.withResolvers<void>()
  void inTurn('running', () => running.promise)
  const results = new Map<string, string>()
  const ask = (key: string, sources = [key]) =>
    inTurn(key, async () => 'served', { sources }).then(
      () => results.set(key, 'served'),
      () => results.set(key, 'refused'),
    )
  return { inTurn, running, results, ask }
}

it.each([33, 200, 1000])('serves newcomers during a flood from %i networks that keep coming back', async (networks) => {
  const { running, results, ask } = fullLimiter({ waiting: 32 })
  const flood = (rounds: number) => Array.from({ length: networks * rounds }, (_, index) => ask(`flood ${index % networks}`))
  const calls = flood(3)
  const newcomers = Array.from({ length: 10 }, (_, index) => `newcomer ${index}`)
  calls.push(...newcomers.map((newcomer) => ask(newcomer)), ...flood(2))
  running.resolve()
  await Promise.all(calls)
  expect(newcomers.map((newcomer) => results.get(newcomer))).toEqual(newcomers.map(() => 'served'))
})

it('serves newcomers of other ranges and accounts during a flood with a new network per call', async () => {
  const { running, results, ask } = fullLimiter({ waiting: 32 })
  const flood = () =>
    Array.from({ length: 1000 }, (_, index) =>
      ask(`flood ${calls.length} ${index}`, [`network ${calls.length} ${index}`, 'range', 'victim']),
    )
  const calls: Promise<unknown>[] = []
  calls.push(...flood())
  calls.push(ask('alice', ['network of alice', 'range of alice', 'alice']), ask('bob', ['network of bob', 'range', 'bob']))
  calls.push(...flood())
  running.resolve()
  await Promise.all(calls)
  expect([results.get('alice'), results.get('bob')]).toEqual(['served', 'served'])
})

it('replaces newcomers by others at random, so that the first ones cannot hold all places', async () => {
  const { running, results, ask } = fullLimiter({ waiting: 32 })
  const calls = Array.from({ length: 640 }, (_, index) => ask(`caller ${index}`))
  running.resolve()
  await Promise.all(calls)
  const served = Array.from({ length: 640 }, (_, index) => index).filter((index) => results.get(`caller ${index}`) === 'served')
  expect(served).toHaveLength(32)
  expect(served.at(0)).toBeGreaterThan(0)
  expect(served.at(-1)).toBeGreaterThan(320)
})

it('forgets old calls with the number of later ones', async () => {
  const { running, results, ask } = fullLimiter({ waiting: 1 })
  const calls = Array.from({ length: 4 }, () => ask('busy'))
  calls.push(...Array.from({ length: 17_000 }, (_, index) => ask(`other ${index}`)))
  calls.push(ask('busy'))
  running.resolve()
  await Promise.all(calls)
  expect(results.get('busy')).toBe('served')
})

it('returns in advance whether a newcomer would get a place', async () => {
  const { inTurn, running, ask } = fullLimiter({ waiting: 2 })
  const calls = [ask('a'), ask('a'), ask('b'), ask('b')]
  expect(() => inTurn.requirePlace('c')).not.toThrow()
  for (let round = 0; round < 3; round++)
    await Promise.resolve()
      .then(() => inTurn.requirePlace('d'))
      .catch(() => {})
  expect(() => inTurn.requirePlace('d')).toThrow('Too many')
  running.resolve()
  await Promise.all(calls)
})
