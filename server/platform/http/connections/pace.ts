import type { IncomingMessage } from 'node:http'
import { tooSlow } from '../../../errors.ts'
import { respondAndClose } from '../failures.ts'
import type { Connection } from './sockets.ts'

export type Pace = {
  /** Grace period for a request body of any size, and for a client that reads nothing of a response. */
  graceMs: number
  /** Minimum average rate after the grace period. */
  bytesPerSecond: number
  /** Interval between checks. */
  sweepMs: number
}

/**
 * Closes connections whose client sends a body, or reads a response, below the minimum rate. Time during which the server does not read is not
 * counted. Returns a function that stops the checks.
 */
export function enforceMinimumRate(connections: ReadonlySet<Connection>, { graceMs, bytesPerSecond, sweepMs }: Pace): () => void {
  const progress = new WeakMap<Connection, Progress>()
  const inTime = (sinceMs: number, bytes: number) => sinceMs <= graceMs + (bytes / bytesPerSecond) * 1000
  const sweep = () => {
    const now = performance.now()
    for (const connection of connections) {
      const { socket, latest } = connection
      if (!latest) continue
      const { request, response } = latest
      if (late.has(request)) continue
      if (!request.complete) {
        // The server is not reading: the handler has paused, or earlier requests must be answered first.
        if (socket.isPaused()) latest.startedAt += sweepMs
        else if (!inTime(now - latest.startedAt, socket.bytesRead - latest.readBefore)) {
          late.add(request)
          if (response.headersSent) socket.destroy()
          else respondAndClose(socket, '408 Request Timeout', tooSlow())
          continue
        }
      }
      const taken = socket.bytesWritten - socket.writableLength
      const known = progress.get(connection)
      if (!known || known.taken !== taken || socket.writableLength === 0) progress.set(connection, { taken, since: now })
      // Resets the connection: unread data would otherwise stay in the operating system's memory for much longer.
      else if (!inTime(now - known.since, Math.min(socket.writableLength, stepBytes))) socket.resetAndDestroy()
    }
  }
  const timer = setInterval(sweep, sweepMs)
  timer.unref()
  return () => clearInterval(timer)
}

/**
 * Upper bound of the buffered bytes used for the time limit: a client is too slow when the operating system accepted nothing for the time that these
 * bytes take at the minimum rate. The system accepts more when a third of its send buffer is free. If that buffer has grown to megabytes, as on fast
 * networks, the effective minimum rate is higher: about 18 KiB per second with 4 MiB. On slow lines the buffer stays small.
 */
const stepBytes = 64 * 1024

/** Number of bytes that the client has received, and when that number last changed. */
type Progress = { taken: number; since: number }

/** Whether the request was aborted because its body arrived too slowly. */
export const wasTooSlow = (request: IncomingMessage): boolean => late.has(request)
const late = new WeakSet<IncomingMessage>()
