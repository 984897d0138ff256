import type { IncomingMessage } from 'node:http'
import { tooSlow } from '../../errors.ts'
import { endWith } from '../failures.ts'
import type { Connection } from './sockets.ts'

export type Pace = {
  /** How long a body may take whatever its size, and a client may leave a response where it is. */
  graceMs: number
  /** How fast bytes must come and go after that, on average. */
  bytesPerSecond: number
  /** How often that is looked at. */
  sweepMs: number
}

/** Ends connections whose client sends a body, or takes a response, slower than this pace. What the server itself holds up does not count. */
export function keepPace(connections: ReadonlySet<Connection>, { graceMs, bytesPerSecond, sweepMs }: Pace): () => void {
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
        // Nothing is read: the handler does not read on, or earlier requests are answered first.
        if (socket.isPaused()) latest.startedAt += sweepMs
        else if (!inTime(now - latest.startedAt, socket.bytesRead - latest.readBefore)) {
          late.add(request)
          if (response.headersSent) socket.destroy()
          else endWith(socket, '408 Request Timeout', tooSlow())
          continue
        }
      }
      const taken = socket.bytesWritten - socket.writableLength
      const known = progress.get(connection)
      if (!known || known.taken !== taken || socket.writableLength === 0) progress.set(connection, { taken, since: now })
      // A reset: what nobody takes would otherwise stay in the system's memory for much longer.
      else if (!inTime(now - known.since, Math.min(socket.writableLength, stepBytes))) socket.resetAndDestroy()
    }
  }
  const timer = setInterval(sweep, sweepMs)
  timer.unref()
  return () => clearInterval(timer)
}

/**
 * A client is late when the system took nothing more to send to it for as long as this takes at the slowest pace, however much waits. The system
 * takes more when a third of its own buffer is free. Where that has grown to megabytes, as on a fast network, a client has to be that much faster
 * to be seen: about 18 KiB a second with 4 MiB. On a slow line the buffer stays small.
 */
const stepBytes = 64 * 1024

/** How many bytes a client has taken, and since when it has been so many. */
type Progress = { taken: number; since: number }

/** Whether this request was ended because its body came too slowly. */
export const wasTooSlow = (request: IncomingMessage): boolean => late.has(request)
const late = new WeakSet<IncomingMessage>()
