import { ConfigError } from '../config/config.ts'
import { unavailable } from '../db/unavailable.ts'
import { ApiError, causeOf, statusOf, traceOf } from '../../errors.ts'
import { PermanentFailure } from './handler.ts'
import type { Log } from '../http/log.ts'

/** A failure as it is logged. Known failures need an operator and are logged without a stack trace. */
export type FailureDescription = { isKnown: boolean; text: string }

/**
 * Describes a failure outside of requests: a known one (public message, invalid settings, database or operating system unavailable) by its message,
 * others, which may be bugs, with a stack trace.
 */
export function describeFailure(error: unknown): FailureDescription {
  if (!isKnown(error)) return { isKnown: false, text: traceOf(error) }
  const cause = causeOf(error)
  return { isKnown: true, text: cause === error ? messageOf(error) : `${messageOf(error)} ${String(cause)}` }
}

/** Returns the message of an error. The error of a host name with several addresses has no message, but one error per address. */
const messageOf = (error: Error): string =>
  error.message === '' && error instanceof AggregateError ? error.errors.map(String).join(', ') : error.message

function isKnown(error: unknown): error is Error {
  if (error instanceof ApiError) return error.code !== 'InternalError'
  if (error instanceof ConfigError || error instanceof PermanentFailure) return true
  return error instanceof Error && (unavailable(error) !== null || rejections.has(String((error as NodeJS.ErrnoException).code)))
}

/** Codes of known failures: unavailable storage, a full, failing or read-only disk, missing permissions, and too many open files. */
const rejections = new Set([
  'STORAGE_AWAY',
  'ENOSPC',
  'EDQUOT',
  'EROFS',
  'EACCES',
  'EPERM',
  'EIO',
  'ESTALE',
  'ENOTCONN',
  'EMFILE',
  'ENFILE',
])

/** Returns a key for a known outage, equal for all work it affects, or null if the work itself failed. */
export function outageOf(error: unknown): string | null {
  const away = error instanceof ApiError ? error : unavailable(error)
  if (away) return statusOf[away.code] === 503 ? away.message : null
  const code = String((error as NodeJS.ErrnoException | null)?.code)
  return rejections.has(code) ? code : null
}

export type FailureLog = {
  /** Logs a failure of a kind of work. `line` builds the log line from the description. */
  failed(kind: string, error: unknown, line: (text: string) => string): void
  /** Records a success of a kind of work, so that the next outage is logged again. */
  worked(kind: string): void
}

/**
 * Creates a failure log for retried work. A known outage is logged as one warning until affected work succeeds. Other failures are logged each time.
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
