import type { FastifyInstance } from 'fastify'
import type { Socket } from 'node:net'
import type { Server } from 'node:http'
import { tooManyConnections } from '../../../errors.ts'
import { parseAddress, type ProxyTrust } from '../client-address.ts'
import { respondAndClose } from '../failures.ts'
import { addressKey } from '../limits.ts'
import type { Log } from '../log.ts'

/** Maximum number of requests of a connection that are being handled or whose response is not sent yet. */
const maxUnanswered = 10

/** Requests of a connection: the number without a response, and functions that start the queued ones. */
type RequestQueue = { unanswered: number; waiting: (() => void)[] }

/**
 * Limits pipelining, so that a client that reads no responses cannot fill the memory: further requests are queued, and the connection is not read,
 * until an earlier response is sent.
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

type Cap = {
  /** Maximum number of concurrent connections per address; 0 for no limit. */
  maximum: number
  /** Whether an address is a trusted proxy. Trusted proxies are not limited. */
  isProxy: ProxyTrust['isProxy']
}

/** Part of the open files of the process that connections may use. Each can need two: itself, and the file or connection that it reads from. */
const shareOfFiles = 3

/**
 * Limits the total number of connections to a third of the files that the process may open (`limit`). At the limit, idle connections are closed, so
 * that further ones can be accepted, and a warning is logged once.
 */
export function limitTotalConnections(server: Server, limit: number | null, log: Log): void {
  if (limit === null) return
  const maximum = (server.maxConnections = Math.max(Math.floor(limit / shareOfFiles), 1))
  let hasWarned = false
  server.on('drop', () => {
    server.closeIdleConnections()
    if (!hasWarned)
      log.warning(`${maximum} connections are open, a third of the ${limit} files that this process may open; idle ones are closed`)
    hasWarned = true
  })
}

/** Responds with 429 to connections beyond the limit per address (per /64 for IPv6), and closes them. */
export function limitConnections(server: Server, { maximum, isProxy }: Cap, log: Log): void {
  if (maximum === 0) return
  const open = new Map<string, number>()
  const warned = new Set<string>()
  // Runs before the server's own listener, so that no request is read from a rejected connection.
  server.prependListener('connection', (socket) => {
    const address = parseAddress(socket.remoteAddress ?? '')
    if (!address || isProxy(address)) return
    const key = addressKey(address.toString())
    const count = (open.get(key) ?? 0) + 1
    if (count > maximum) {
      if (!warned.has(key))
        log.warning(`${address.toString()} has ${maximum} connections open (MAX_CONNECTIONS_PER_ADDRESS); further ones are refused`)
      warned.add(key)
      // Closes immediately, so that nothing that the client sends is processed.
      return respondAndClose(socket, '429 Too Many Requests', tooManyConnections(), 0)
    }
    open.set(key, count)
    socket.once('close', () => {
      const left = (open.get(key) ?? 1) - 1
      if (left > 0) return void open.set(key, left)
      open.delete(key)
      warned.delete(key)
    })
  })
}
