import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { createFairLimiter } from '../../../server/platform/threads/fair-limiter.ts'
import { shareTurn } from '../../../server/registry/mirror/limits.ts'

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
  const rejection = (seconds: number) => new Error(`Try again in ${seconds} s.`)
  const inTurn = createFairLimiter({ atOnce: 1, waiting: 1, waitingPerKey: 1, maxWaitMs: 20, rejection })
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

describe('shared running places', () => {
  const sharing = { firsts: 4, groupPlaces: 8, isInGroup: (key: string) => key.startsWith('stranger') }

  /** Starts calls that do not end, and counts the running ones by key. */
  function endless() {
    const inTurn = createFairLimiter({ atOnce: 16, waiting: 1000, waitingPerKey: 500, sharing })
    const running = new Map<string, number>()
    const ends: (() => void)[] = []
    const hold = (key: string, calls: number) => {
      for (let call = 0; call < calls; call++)
        void inTurn(key, () => {
          running.set(key, (running.get(key) ?? 0) + 1)
          return new Promise<void>((end) => void ends.push(() => (running.set(key, (running.get(key) ?? 0) - 1), end())))
        })
    }
    return { hold, running: (key: string) => running.get(key) ?? 0, ends }
  }

  it('leave half of the places to others, in turn', () => {
    const { hold, running } = endless()
    const keys = ['', 'a', 'b', 'c', 'd', 'e', 'f']
    for (const key of keys) hold(key, 100)
    expect(keys.map(running)).toEqual([8, 4, 2, 1, 1, 1, 1])
  })

  it('start the first call of another key at once while several keys have as many as they get', () => {
    const { hold, running } = endless()
    for (const key of ['a', 'b', 'c', 'd', 'e', 'f']) hold(key, 100)
    hold('newcomer', 1)
    expect(running('newcomer')).toBe(1)
  })

  it('are limited for a group of keys, in which one key has at most half of them', () => {
    const { hold, running } = endless()
    const strangers = Array.from({ length: 50 }, (_, at) => `stranger ${at}`)
    for (const key of strangers) hold(key, 10)
    expect(strangers.map(running).filter((calls) => calls > 0)).toEqual([4, 2, 1, 1])
    hold('member', 100)
    expect(running('member')).toBe(4)
  })

  it('are given to waiting calls as far as the shares allow', async () => {
    const { hold, running, ends } = endless()
    hold('a', 20)
    hold('b', 20)
    expect([running('a'), running('b')]).toEqual([8, 4])
    for (const end of ends.splice(0)) end()
    await expect.poll(() => running('a') + running('b')).toBeGreaterThan(9)
    while (ends.length > 0) {
      for (const end of ends.splice(0)) end()
      await new Promise(setImmediate)
    }
    expect([running('a'), running('b')]).toEqual([0, 0])
  })
})

describe('shared work', () => {
  it('is done once, in the first turn of any caller', async () => {
    const inTurn = createFairLimiter({ atOnce: 1, waiting: 10, waitingPerKey: 10 })
    const [works, blocked] = [new Map(), Promise.withResolvers<void>()]
    const first = inTurn('a', () => blocked.promise)
    const begun: string[] = []
    const share = (key: string, turn: typeof inTurn = inTurn) =>
      shareTurn(works, { id: 'work', key, inTurn: turn }, async () => (begun.push(key), 'done'))
    const free = createFairLimiter({ atOnce: 1, waiting: 1, waitingPerKey: 1 })
    const waiting = [share('a'), share('a')]
    expect(await share('b', free)).toBe('done')
    expect(await Promise.all(waiting)).toEqual(['done', 'done'])
    blocked.resolve()
    await first
    expect([begun, works.size]).toEqual([['b'], 0])
  })

  it('fails for all callers, and is done by others if one gets no turn', async () => {
    const works = new Map()
    const refuse = () => Promise.reject(new Error('no turn'))
    const share = (key: string, inTurn: (name: string, work: () => Promise<unknown>) => Promise<unknown>, work: () => Promise<string>) =>
      shareTurn<unknown>(works, { id: 'work', key, inTurn }, work)
    const blocked = Promise.withResolvers<void>()
    const late = share(
      'b',
      async (_key, work) => (await blocked.promise, work()),
      async () => 'done',
    )
    await expect(share('a', refuse, async () => 'never')).rejects.toThrow('no turn')
    blocked.resolve()
    expect(await late).toBe('done')
    await expect(share('a', refuse, async () => 'never')).rejects.toThrow('no turn')
    const failing = () => Promise.reject(new Error('failed'))
    await expect(share('a', (_key, work) => work(), failing)).rejects.toThrow('failed')
    expect(works.size).toBe(0)
  })
})
