import type { FastifyInstance } from 'fastify'
import type { Socket } from 'node:net'

/** Maximum number of requests of a connection that are being handled or whose response is not sent yet. */
const maxUnanswered = 10

/** Requests of a connection: the number without a response, and functions that start the queued ones. */
type RequestQueue = { unanswered: number; waiting: (() => void)[] }

/**
 * Limits pipelining: a client that sends requests without reading the responses would otherwise fill the server's memory. Beyond the limit, requests
 * that Node has already parsed are queued, and reading from the connection is paused until an earlier response is sent.
 */
export function limitPipelining(app: FastifyInstance): void {
  const queues = new WeakMap<Socket, RequestQueue>()
  app.addHook('onRequest', ({ raw: { socket } }, { raw: response }, done) => {
    let queue = queues.get(socket)
    if (!queue) queues.set(socket, (queue = openQueue(socket)))
    const begin = () => {
      queue.unanswered++
      response.once('close', () => (queue.unanswered--, startNext(socket, queue)))
      done()
    }
    if (queue.unanswered < maxUnanswered) return begin()
    queue.waiting.push(begin)
    socket.pause()
  })
}

function openQueue(socket: Socket): RequestQueue {
  const queue: RequestQueue = { unanswered: 0, waiting: [] }
  // Node also resumes the socket itself, for example while a body is read.
  socket.on('resume', () => void (queue.waiting.length > 0 && socket.pause()))
  return queue
}

function startNext(socket: Socket, queue: RequestQueue): void {
  // Queued requests of a closed connection are dropped.
  const next = socket.destroyed ? undefined : queue.waiting.shift()
  if (!next) return
  next()
  if (queue.waiting.length === 0) socket.resume()
}
