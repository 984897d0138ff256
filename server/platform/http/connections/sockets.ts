import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import { Server as TcpServer, type Socket } from 'node:net'
import { setImmediate as nextTurn, setTimeout as wait } from 'node:timers/promises'

/** Iterations of the event loop after which a slow one without new connections also counts as the end of the accept queue. */
const maxRounds = 200
/** An iteration of the event loop that takes longer has handled requests. */
const shortRoundMs = 0.2

/** A connection with its latest request and response. */
export type Connection = {
  socket: Socket
  latest: { request: IncomingMessage; response: ServerResponse; startedAt: number; readBefore: number } | null
}

export type Sockets = {
  /** All open connections. */
  readonly open: ReadonlySet<Connection>
  /**
   * Accepts pending connections, stops listening, and closes connections gracefully: those without a request after `idleMs`, all others after their
   * response, at the latest after `timeoutMs`.
   * @returns the number of requests that were aborted.
   */
  drain(timeoutMs: number, idleMs?: number): Promise<number>
}

/** Tracks the connections of a server, for rate checks and graceful shutdown. */
export function watchSockets(server: Server): Sockets {
  const bySocket = new Map<Socket, Connection>()
  const open = new Set<Connection>()
  const held = new Set<Socket>()
  let phase: 'serving' | 'closing' | 'draining' = 'serving'
  let accepted = 0
  server.on('connection', (socket) => {
    accepted++
    // HTTP's own listener starts reading in the next tick. This pauses the socket right after that.
    if (phase === 'closing') process.nextTick(() => held.add(socket.pause()))
    const connection: Connection = { socket, latest: null }
    bySocket.set(socket, connection)
    open.add(connection)
    socket.once('close', () => (bySocket.delete(socket), open.delete(connection)))
  })
  server.prependListener('request', (request, response) => {
    const { socket } = request
    const connection = bySocket.get(socket)
    if (connection) connection.latest = { request, response, startedAt: performance.now(), readBefore: socket.bytesRead }
    if (phase === 'draining') response.setHeader('connection', 'close')
  })
  return {
    open,
    async drain(timeoutMs, idleMs = 1000) {
      phase = 'closing'
      const deadline = performance.now() + timeoutMs
      await drainAcceptQueue(() => accepted, timeoutMs / 2)
      stopListening(server)
      phase = 'draining'
      // Set only after the port is closed: a client that must close its connection opens a new one immediately.
      for (const { latest } of open) if (latest && !latest.response.headersSent) latest.response.setHeader('connection', 'close')
      for (const socket of held) socket.resume()
      held.clear()
      await untilClosed(open, deadline, idleMs)
      const abandoned = [...open].filter(hasPendingResponse).length
      for (const { socket } of open) socket.destroy()
      return abandoned
    },
  }
}

/** Whether a request is in progress, that is, its response is not sent completely. The rest of a body after the response does not count. */
export const hasPendingResponse = ({ latest }: Connection): boolean =>
  latest !== null && !latest.response.writableFinished && !latest.response.destroyed

/**
 * Waits until the accept queue is empty, because the operating system resets pending connections when the port closes. The event loop accepts one
 * connection per iteration, so the queue was empty at the beginning of a short iteration without a new one; after `maxRounds`, a long one counts too.
 * Accepted connections stay paused until the port is closed.
 */
async function drainAcceptQueue(accepted: () => number, timeoutMs: number): Promise<void> {
  const began = performance.now()
  for (let round = 0; ; round++) {
    const [before, startedAt] = [accepted(), performance.now()]
    await nextTurn()
    const now = performance.now()
    if (now - began > timeoutMs) return
    if (accepted() === before && (now - startedAt < shortRoundMs || round > maxRounds)) return
  }
}

/** Stops accepting connections. HTTP's `server.close()` would also close idle connections whose clients may just be sending a request. */
const stopListening = (server: Server): unknown => TcpServer.prototype.close.call(server)

/** Closes idle connections until all connections are closed or the deadline has passed. */
async function untilClosed(open: ReadonlySet<Connection>, deadline: number, idleMs: number): Promise<void> {
  const idleSince = new Map<Connection, number>()
  while (open.size > 0 && performance.now() < deadline) {
    const now = performance.now()
    for (const connection of open) {
      if (hasPendingResponse(connection)) idleSince.delete(connection)
      else if (!idleSince.has(connection)) idleSince.set(connection, now)
      const idle = now - (idleSince.get(connection) ?? now)
      if (idle > 2 * idleMs) connection.socket.destroy()
      else if (idle > idleMs && !connection.socket.writableEnded) connection.socket.end()
    }
    await wait(Math.min(25, Math.max(deadline - performance.now(), 0)))
  }
}

/** Requests that were aborted because their bodies arrived too slowly. */
export const tooSlowRequests = new WeakSet<IncomingMessage>()

/** A server without requests for this long is idle. */
const recentMs = 1000

/** Returns a function that reports whether the server has received a request within the last second. */
export function trackActivity(server: Server): () => boolean {
  let askedAt = Number.NEGATIVE_INFINITY
  server.on('request', () => void (askedAt = performance.now()))
  return () => performance.now() - askedAt < recentMs
}
