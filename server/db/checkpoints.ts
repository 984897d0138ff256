import { threadsOf } from '../threads/pool.ts'

/** After so many writes the log is worth a look, which is taken so often. */
const writesBetween = 1000
const lookMs = 500

/**
 * A log longer than this, in pages of 4 KB, is emptied by the commit that made it so: for when no thread can be had, or what it does is not enough.
 */
export const maxLogPages = 4000

/** From this length on, writers wait for what is left of it to be copied, so that the next one begins it anew; for no longer than this. */
const longLogPages = maxLogPages / 2
const maxPauseMs = 100

/** Who writes to the file: how often it has, and a way to have it wait while something lasts. */
export type Writer = { readonly written: number; pause: (work: () => Promise<unknown>, maxMs: number) => Promise<void> }

/**
 * Has a thread empty the write-ahead log of an SQLite file, which otherwise every thousandth page holds up a commit, and with it all requests,
 * for as long as two waits for the disk take. What is committed meanwhile would keep the log from being begun anew: once it is long, the writer
 * waits while the thread copies these last pages, which holds up no reads.
 */
export function checkpointAside(path: string, writer: Writer): { end: () => void } {
  const ask = threadsOf(new URL('./checkpoint-thread.ts', import.meta.url), { deadlineMs: 60_000, idleMs: 30_000, memory })
  let seen = 0
  let underWay = false

  async function empty(): Promise<void> {
    const pages = Number(await ask(path))
    if (pages >= longLogPages) await writer.pause(() => ask(path), maxPauseMs)
  }
  const timer = setInterval(() => {
    if (underWay || writer.written - seen < writesBetween) return
    underWay = true
    seen = writer.written
    // One that fails is made up for by the commits themselves.
    void empty()
      .catch(() => {})
      .finally(() => (underWay = false))
  }, lookMs).unref()
  return { end: () => clearInterval(timer) }
}

const memory = { maxOldGenerationSizeMb: 16, maxYoungGenerationSizeMb: 1 }
