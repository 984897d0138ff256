import { tooSlow } from '../../../errors.ts'
import { respondAndClose } from '../failures.ts'
import { type Connection, tooSlowRequests } from './sockets.ts'
import type { DiscardBounds } from '../discard.ts'

type Pace = {
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
      if (tooSlowRequests.has(request)) continue
      if (!request.complete) {
        // The server is not reading: the handler has paused, or earlier requests must be answered first.
        if (socket.isPaused()) latest.startedAt += sweepMs
        else if (!inTime(now - latest.startedAt, socket.bytesRead - latest.readBefore)) {
          tooSlowRequests.add(request)
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
 * Upper bound of the buffered bytes used for the time limit. The operating system accepts more data when a third of its send buffer is free, so a
 * buffer of megabytes, as on fast networks, raises the minimum rate: to about 18 KiB per second with 4 MiB.
 */
const stepBytes = 64 * 1024

/** Number of bytes that the client has received, and when that number last changed. */
type Progress = { taken: number; since: number }

/** Timeouts for clients, in milliseconds. */
export type Timings = {
  /** Timeout for request headers, from the connection or the first byte. */
  headersMs: number
  /** Timeout without any traffic on a connection with a request in progress. */
  silenceMs: number
  /** Timeout for a whole request. */
  requestMs: number
  pace: Pace
  discard: DiscardBounds
}

/** Returns timeouts that well-behaved clients stay far below, even on slow lines. The largest upload may arrive at 32 KiB per second. */
export const timingsFor = (maxUploadBytes: number): Timings => ({
  headersMs: 10_000,
  silenceMs: 120_000,
  requestMs: 300_000 + Math.ceil(maxUploadBytes / 32),
  pace: { graceMs: 10_000, bytesPerSecond: 1024, sweepMs: 1000 },
  discard: { maxBytes: Math.max(256 * 1024 ** 2, 2 * maxUploadBytes), maxMs: 300_000, silenceMs: 5000, lingerMs: 1000 },
})
