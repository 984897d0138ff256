import type { Log } from '../http/log.ts'

/**
 * Does `work` every `intervalMs`, one at a time, without keeping the process alive. A failure is logged and the next turn comes as usual.
 * @returns what ends it.
 */
export function regularly(name: string, intervalMs: number, log: Log, work: () => Promise<unknown>): () => void {
  let busy = false
  const turn = async () => {
    if (busy) return
    busy = true
    try {
      await work()
    } catch (error) {
      log.error(`${name}: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`)
    } finally {
      busy = false
    }
  }
  const timer = setInterval(() => void turn(), intervalMs)
  timer.unref()
  return () => clearInterval(timer)
}
