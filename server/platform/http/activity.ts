import type { Server } from 'node:http'

/** A server without requests for this long is idle. */
const recentMs = 1000

/** Returns a function that reports whether the server has received a request within the last second. */
export function trackActivity(server: Server): () => boolean {
  let askedAt = Number.NEGATIVE_INFINITY
  server.on('request', () => void (askedAt = performance.now()))
  return () => performance.now() - askedAt < recentMs
}
