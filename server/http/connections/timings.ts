import type { DiscardBounds } from '../discard.ts'
import type { Pace } from './pace.ts'

/** How long the server waits for clients, in milliseconds. */
export type Timings = {
  /** For the headers of a request, from its first byte or from the connection on. */
  headersMs: number
  /** For anything to move on a connection on which a request is under way. */
  silenceMs: number
  /** For a whole request, however steadily it comes. */
  requestMs: number
  pace: Pace
  discard: DiscardBounds
}

/** What honest clients keep to by far, also with a slow line. The largest upload may come at 32 KiB a second. */
export const timingsFor = (maxUploadBytes: number): Timings => ({
  headersMs: 10_000,
  silenceMs: 120_000,
  requestMs: 300_000 + Math.ceil(maxUploadBytes / 32),
  pace: { graceMs: 10_000, bytesPerSecond: 1024, sweepMs: 1000 },
  discard: { maxBytes: Math.max(256 * 1024 ** 2, 2 * maxUploadBytes), maxMs: 300_000, silenceMs: 5000, lingerMs: 1000 },
})
