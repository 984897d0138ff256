import { threadsOf } from '../../threads/pool.ts'

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

/** Who writes to the file: how often it has, a way to have it wait while something lasts, and one to have it end something before it closes. */
export type Writer = {
  readonly written: number
  pause: (work: () => Promise<unknown>, maxMs: number) => Promise<void>
  beforeClose: (end: () => Promise<void>) => void
}

/**
 * Has a thread empty the write-ahead log of an SQLite file, which otherwise every thousandth page holds up a commit, and with it all requests,
 * for as long as two waits for the disk take. What is committed meanwhile would keep the log from being begun anew: once it is long, the writer
 * waits while the thread copies these last pages, which holds up no reads. Nothing of it touches the file once the writer is closed.
 */
export function checkpointAside(path: string, writer: Writer): void {
  const ask = threadsOf(new URL('./checkpoint-thread.ts', import.meta.url), { deadlineMs: 60_000, idleMs: 30_000, memory })
  let seen = 0
  let underWay: Promise<void> | null = null
  let copying: Promise<unknown> = Promise.resolve()
  let isEnded = false
  const copy = () => (copying = ask(path))

  async function empty(): Promise<void> {
    const pages = Number(await copy())
    if (pages >= longLogPages && !isEnded) await writer.pause(copy, maxPauseMs)
  }
  const timer = setInterval(() => {
    if (underWay || writer.written - seen < writesBetween) return
    seen = writer.written
    // One that fails is made up for by the commits themselves.
    underWay = empty()
      .catch(() => {})
      .finally(() => (underWay = null))
  }, lookMs).unref()
  writer.beforeClose(async () => {
    isEnded = true
    clearInterval(timer)
    await underWay
    // A pause may have ended before what it was for.
    await Promise.allSettled([copying])
  })
}

const memory = { maxOldGenerationSizeMb: 16, maxYoungGenerationSizeMb: 1 }
