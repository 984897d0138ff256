import type { Server } from 'node:http'

/** A server that was asked nothing for so long is left alone. */
const recentMs = 1000

/** Tells at any time whether a server was asked something just now. */
export function watchUse(server: Server): () => boolean {
  let askedAt = Number.NEGATIVE_INFINITY
  server.on('request', () => void (askedAt = performance.now()))
  return () => performance.now() - askedAt < recentMs
}
