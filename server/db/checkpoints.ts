import { threadsOf } from '../threads/pool.ts'

/** After so many writes the log is worth a look, which is taken so often. */
const writesBetween = 1000
const lookMs = 500

/**
 * A log longer than this, in pages of 4 KB, is emptied by the commit that made it so: for when no thread can be had, or what it does is not enough.
 */
export const maxLogPages = 4000

/**
 * Has a thread empty the write-ahead log of an SQLite file, which otherwise every thousandth page holds up a commit, and with it all requests,
 * for as long as two waits for the disk take. `writer` tells how often this process has written.
 */
export function checkpointAside(path: string, writer: { readonly written: number }): { end: () => void } {
  const ask = threadsOf(new URL('./checkpoint-thread.ts', import.meta.url), { deadlineMs: 60_000, idleMs: 30_000, memory })
  let seen = 0
  let underWay = false
  const timer = setInterval(() => {
    if (underWay || writer.written - seen < writesBetween) return
    underWay = true
    seen = writer.written
    // One that fails is made up for by the commits themselves.
    void ask(path)
      .catch(() => {})
      .finally(() => (underWay = false))
  }, lookMs).unref()
  return { end: () => clearInterval(timer) }
}

const memory = { maxOldGenerationSizeMb: 16, maxYoungGenerationSizeMb: 1 }
