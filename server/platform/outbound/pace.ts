/** Minimum transfer rate: at least `bytes` every `ms` milliseconds. */
export type Pace = { bytes: number; ms: number }

/** Returns a signal that aborts when fewer than `bytes` arrive within `ms`. The caller reports received bytes to `received`. */
export function watchPace(outer: AbortSignal, { bytes, ms }: Pace) {
  const tooSlow = new AbortController()
  const timer = setTimeout(() => tooSlow.abort(new Error('the transfer is too slow')), ms).unref()
  let receivedBytes = 0
  return {
    signal: AbortSignal.any([outer, tooSlow.signal]),
    received(count: number): void {
      receivedBytes += count
      if (receivedBytes < bytes) return
      receivedBytes = 0
      timer.refresh()
    },
    end: () => clearTimeout(timer),
  }
}
