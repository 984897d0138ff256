import type { Log } from '../http/log.ts'
import { describeFailure, outageOf } from './failure.ts'

export type FailureLog = {
  /** Logs a failure of a kind of work. `line` builds the log line from the description. */
  failed(kind: string, error: unknown, line: (text: string) => string): void
  /** Records a success of a kind of work, so that the next outage is logged again. */
  worked(kind: string): void
}

/**
 * Creates a failure log for retried work. A known outage, which makes every job and retry fail, is logged as one warning until affected work
 * succeeds. Other failures are logged each time.
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
