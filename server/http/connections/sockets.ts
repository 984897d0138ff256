import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import { Server as TcpServer, type Socket } from 'node:net'
import { setImmediate as nextTurn, setTimeout as wait } from 'node:timers/promises'

/** In so many rounds of the event loop one comes in which nothing happens, unless there is much load; then one without a connection will do. */
const maxRounds = 200
/** In a round of the event loop that takes longer, requests were handled. */
const shortRoundMs = 0.2

/** A connection, and the latest request that came over it with its response. */
export type Connection = {
  socket: Socket
  latest: { request: IncomingMessage; response: ServerResponse; startedAt: number; readBefore: number } | null
}

export type Sockets = {
  /** Every open connection. */
  readonly open: ReadonlySet<Connection>
  /**
   * Accepts the connections that wait, stops listening, and lets every connection end: from now on responses say that they are the last, and a
   * connection without a request is closed after `idleMs`, in which its client may still send one. What is left after `timeoutMs` is cut off.
   * @returns how many requests were cut off.
   */
  drain(timeoutMs: number, idleMs?: number): Promise<number>
}

/** Keeps track of a server's connections, so that they can be watched and ended in good order. */
export function watchSockets(server: Server): Sockets {
  const bySocket = new Map<Socket, Connection>()
  const open = new Set<Connection>()
  const held = new Set<Socket>()
  let phase: 'serving' | 'closing' | 'draining' = 'serving'
  let accepted = 0
  server.on('connection', (socket) => {
    accepted++
    // In the next tick HTTP's own listener begins to read; right after that it is paused.
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
      await untilNoneWaits(() => accepted, timeoutMs / 2)
      stopListening(server)
      phase = 'draining'
      // Only now: a client that is told to close its connection opens another one at once.
      for (const { latest } of open) if (latest && !latest.response.headersSent) latest.response.setHeader('connection', 'close')
      for (const socket of held) socket.resume()
      held.clear()
      await untilClosed(open, deadline, idleMs)
      const abandoned = [...open].filter(isBusy).length
      for (const { socket } of open) socket.destroy()
      return abandoned
    },
  }
}

/** Whether a request is under way: its response is not sent. The rest of a body that comes after the response does not count. */
export const isBusy = ({ latest }: Connection): boolean =>
  latest !== null && !latest.response.writableFinished && !latest.response.destroyed

/**
 * Waits until no connection waits to be accepted: the system resets those that wait when the port closes. A round of the event loop accepts
 * one, so none waited at the beginning of a round without any. In a short round hardly any can have come since; if there is no such round
 * for a while, as under load, a longer one has to do. The connections that are accepted meanwhile are held: their clients, who might come
 * again with every answer, get theirs when the port is closed.
 */
async function untilNoneWaits(accepted: () => number, timeoutMs: number): Promise<void> {
  const began = performance.now()
  for (let round = 0; ; round++) {
    const [before, startedAt] = [accepted(), performance.now()]
    await nextTurn()
    const now = performance.now()
    if (now - began > timeoutMs) return
    if (accepted() === before && (now - startedAt < shortRoundMs || round > maxRounds)) return
  }
}

/** `server.close()` of HTTP would also cut off idle connections, whose clients may be sending the next request at this moment. */
const stopListening = (server: Server): unknown => TcpServer.prototype.close.call(server)

/** Closes idle connections until none is open, or until the time is up. */
async function untilClosed(open: ReadonlySet<Connection>, deadline: number, idleMs: number): Promise<void> {
  const idleSince = new Map<Connection, number>()
  while (open.size > 0 && performance.now() < deadline) {
    const now = performance.now()
    for (const connection of open) {
      if (isBusy(connection)) idleSince.delete(connection)
      else if (!idleSince.has(connection)) idleSince.set(connection, now)
      const idle = now - (idleSince.get(connection) ?? now)
      if (idle > 2 * idleMs) connection.socket.destroy()
      else if (idle > idleMs && !connection.socket.writableEnded) connection.socket.end()
    }
    await wait(Math.min(25, Math.max(deadline - performance.now(), 0)))
  }
}
