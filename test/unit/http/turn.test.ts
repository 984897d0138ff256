import { connect, createServer } from 'node:net'
import { expect, it, onTestFinished } from 'vitest'
import { turnEnd } from '../../../server/platform/http/turn-end.ts'

it('resolves for all callers after all pending events are processed', async () => {
  const order: string[] = []
  let accepted = 0
  const server = createServer((socket) => {
    accepted++
    socket.setEncoding('utf8').on('data', (text: string) => {
      order.push(`got ${text}`)
      void turnEnd().then(() => order.push(`sent ${text}`))
    })
  })
  onTestFinished(() => void server.close())
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as { port: number }
  const sockets = await Promise.all(['a', 'b', 'c'].map(() => connectTo(port)))
  await expect.poll(() => accepted).toBe(3)
  // No data is read until this loop ends, so all three sockets are readable in the next turn.
  for (const [index, socket] of sockets.entries()) socket.write('abc'[index] ?? '')
  await expect.poll(() => order.length).toBe(6)
  expect(order).toEqual(['got a', 'got b', 'got c', 'sent a', 'sent b', 'sent c'])
  for (const socket of sockets) socket.destroy()
})

it('resolves again in the next turn', async () => {
  const first = turnEnd()
  expect(turnEnd()).toBe(first)
  await first
  const second = turnEnd()
  expect(second).not.toBe(first)
  await second
})

const connectTo = (port: number) =>
  new Promise<ReturnType<typeof connect>>((resolve) => {
    const socket = connect(port, '127.0.0.1', () => resolve(socket))
  })
