import { openThreadPool } from '../../threads/pool.ts'

/** Minimum number of writes between two checkpoints, and interval in milliseconds at which that number is checked. */
const writesBetween = 1000
const checkIntervalMs = 500

/** Length of the log, in pages of 4 KB, at which a commit checkpoints synchronously, in case the worker thread does not keep up. */
export const maxLogPages = 4000

/** Length of the log from which writers pause while its last pages are copied, so that the log restarts; and maximum pause in milliseconds. */
const longLogPages = maxLogPages / 2
const maxPauseMs = 100

/** The write connection: counts its statements, can pause writes during other work, and runs a callback before it closes. */
export type Writer = {
  readonly written: number
  pause: (work: () => Promise<unknown>, maxMs: number) => Promise<void>
  beforeClose: (end: () => Promise<void>) => void
}

/**
 * Checkpoints an SQLite file in a worker thread. SQLite itself does so within a commit, which blocks all requests for two disk syncs. Pages committed
 * during a checkpoint keep the log from restarting, so writers pause once it is long. The thread does not use the file after the writer is closed.
 */
export function checkpointInThread(path: string, writer: Writer): void {
  const ask = openThreadPool(new URL('./checkpoint-thread.ts', import.meta.url), { deadlineMs: 60_000, idleMs: 30_000, memory })
  let seen = 0
  let running: Promise<void> | null = null
  let copying: Promise<unknown> = Promise.resolve()
  let isEnded = false
  const copy = () => (copying = ask(path))

  async function empty(): Promise<void> {
    const pages = Number(await copy())
    if (pages >= longLogPages && !isEnded) await writer.pause(copy, maxPauseMs)
  }
  const timer = setInterval(() => {
    if (running || writer.written - seen < writesBetween) return
    seen = writer.written
    // A failed checkpoint is compensated by the automatic checkpoints of commits.
    running = empty()
      .catch(() => {})
      .finally(() => (running = null))
  }, checkIntervalMs).unref()
  writer.beforeClose(async () => {
    isEnded = true
    clearInterval(timer)
    await running
    // Wait for the checkpoint, which may outlast the pause of the writers.
    await Promise.allSettled([copying])
  })
}

const memory = { maxOldGenerationSizeMb: 16, maxYoungGenerationSizeMb: 1 }
