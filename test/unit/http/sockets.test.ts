import { once } from 'node:events'
import { Agent, createServer, get } from 'node:http'
import { Socket } from 'node:net'
import { expect, it } from 'vitest'
import { hasPendingResponse, watchSockets } from '../../../server/platform/http/connections/sockets.ts'

it.each([
  ['that keep connections open', true],
  ['that open a connection per request', false],
])('does not reset connections when the port closes, with clients %s', async (_which, keepAlive) => {
  for (let round = 0; round < 5; round++) {
    const server = createServer((_request, response) => {
      const until = performance.now() + 2
      while (performance.now() < until); // busy, so that connections wait to be accepted
      response.end('fine')
    })
    const sockets = watchSockets(server)
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    const address = server.address()
    if (address === null || typeof address === 'string') throw new Error('The server does not listen.')
    const agent = new Agent({ keepAlive, maxSockets: 16 })
    let served = 0
    const client = async () => {
      for (;;) {
        const failure = await ask(address.port, agent)
        if (failure !== null) return failure
        served++
      }
    }
    const clients = Array.from({ length: 16 }, client)
    await expect.poll(() => served, { interval: 5 }).toBeGreaterThan(32)
    expect(await sockets.drain(5000)).toBe(0)
    expect(new Set(await Promise.all(clients))).toEqual(new Set(['ECONNREFUSED']))
    agent.destroy()
  }
})

it('stops at the deadline despite new connections and pending requests', async () => {
  const server = createServer(() => {}).listen(0, '127.0.0.1')
  const sockets = watchSockets(server)
  await once(server, 'listening')
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('The server does not listen.')
  const asking = ask(address.port, new Agent())
  await expect.poll(() => [...sockets.open].some(hasPendingResponse), { interval: 5 }).toBe(true)
  // Opens a connection in every iteration of the event loop.
  const flood = () => {
    server.emit('connection', new Socket())
    flooding = setImmediate(flood)
  }
  let flooding = setImmediate(flood)
  // Without a deadline, it would wait as long as there are new connections.
  const abandoned = sockets.drain(1000)
  await abandoned.finally(() => clearImmediate(flooding))
  expect(await abandoned).toBe(1)
  expect(await asking).toBe('ECONNRESET')
})

/** Sends a request. Resolves with null after a response, or with an error code. */
function ask(port: number, agent: Agent): Promise<string | null> {
  return new Promise((resolve) => {
    get({ port, host: '127.0.0.1', agent }, (response) => response.resume().on('end', () => resolve(null))).on(
      'error',
      (error: NodeJS.ErrnoException) => resolve(error.code ?? 'unknown'),
    )
  })
}
