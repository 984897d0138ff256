/** Minimum transfer rate: at least `bytes` every `ms` milliseconds. */
export type Pace = { bytes: number; ms: number }

/** Returns a signal that aborts when fewer than `bytes` arrive within `ms`. The caller reports received bytes to `hear`. */
export function watchPace(outer: AbortSignal, { bytes, ms }: Pace) {
  const tooSlow = new AbortController()
  const timer = setTimeout(() => tooSlow.abort(new Error('the transfer is too slow')), ms).unref()
  let heard = 0
  return {
    signal: AbortSignal.any([outer, tooSlow.signal]),
    hear(count: number): void {
      heard += count
      if (heard < bytes) return
      heard = 0
      timer.refresh()
    },
    end: () => clearTimeout(timer),
  }
}
