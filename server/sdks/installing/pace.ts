/** The least that has to come, and how long that may take. */
export type Pace = { bytes: number; ms: number }

/** Aborts when less comes than is to: `hear` is told what did. */
export function watchPace(outer: AbortSignal, { bytes, ms }: Pace) {
  const tooSlow = new AbortController()
  const timer = setTimeout(() => tooSlow.abort(new Error('too little came')), ms).unref()
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
