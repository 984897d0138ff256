import { once } from 'node:events'
import { connect, createServer } from 'node:net'
import { expect, it, onTestFinished } from 'vitest'
import { executeInTurn } from '../../../server/platform/graphql/turns.ts'
import { isSliceOver, nextSlice } from '../../../server/platform/threads/slices.ts'

type Caller = Parameters<typeof executeInTurn>[0]

it('accepts many simultaneous connections between few slices of long work', async () => {
  const server = createServer((socket) => socket.end('hello')).listen(0, '127.0.0.1')
  onTestFinished(() => void server.close())
  await once(server, 'listening')
  const { port } = server.address() as { port: number }
  const state = { isDone: false, slices: 0 }
  const work = (async () => {
    while (!state.isDone) {
      while (!isSliceOver());
      state.slices++
      await nextSlice()
    }
  })()
  const people = Array.from({ length: 100 }, () => once(connect(port, '127.0.0.1').resume(), 'close'))
  await Promise.all(people)
  state.isDone = true
  await work
  // An iteration of the event loop accepts one connection. With one slice per iteration, there would be a hundred slices.
  expect(state.slices).toBeLessThan(50)
})

it('executes one expensive operation at a time, and cheap ones concurrently', async () => {
  const caller = (ip: string) => ({ viewer: null, ip }) as Caller
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
  const caller = { viewer: null, ip: '192.0.2.1' } as Caller
  const all = await Promise.allSettled(
    Array.from({ length: 30 }, () => executeInTurn(caller, 4000, () => new Promise<void>((resolve) => setTimeout(resolve, 2)))),
  )
  const refused = all.filter((one) => one.status === 'rejected')
  expect(refused).toHaveLength(13)
  expect(refused[0]?.reason).toMatchObject({ extensions: { code: 'RateLimitExceeded', retryAfter: expect.any(Number) } })
})
