import type { Log } from '../http/log.ts'
import { describeFailure, outageOf } from './failure.ts'

export type FailureLog = {
  /** Logs a failure of `kind` of work. `line` makes the line of the description. */
  failed(kind: string, error: unknown, line: (text: string) => string): void
  /** Notes that this kind of work succeeded, so that the next outage is logged again. */
  worked(kind: string): void
}

/**
 * Opens the log of work that is tried again after it failed. A known outage, which fails every job and every retry, is one warning until work
 * that it stopped succeeds. Other failures are logged each time.
 */
export function openFailureLog(log: Log): FailureLog {
  const stoppedBy = new Map<string, Set<string>>()
  return {
    failed(kind, error, line) {
      const outage = outageOf(error)
      const stopped = outage === null ? undefined : stoppedBy.get(outage)
      if (stopped) return void stopped.add(kind)
      if (outage !== null) stoppedBy.set(outage, new Set([kind]))
      const { isKnown, text } = describeFailure(error)
      log[isKnown ? 'warning' : 'error'](line(text))
    },
    worked(kind) {
      for (const [outage, kinds] of stoppedBy) if (kinds.has(kind)) stoppedBy.delete(outage)
    },
  }
}
