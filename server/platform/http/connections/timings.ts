import type { DiscardBounds } from '../discard.ts'
import type { Pace } from './pace.ts'

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
