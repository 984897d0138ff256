import { ConfigError } from '../config/config.ts'
import { unavailable } from '../db/unavailable.ts'
import { ApiError, causeOf, statusOf, traceOf } from '../errors.ts'
import { PermanentFailure } from './handler.ts'

/** How the log has a failure: what is known to happen needs an operator, not a stack. */
export type Described = { isKnown: boolean; text: string }

/**
 * Describes what failed beside requests. Known are an error that people may read, settings that cannot be used, a database that is away, busy or
 * full, and what the system refuses: these are told in words. Anything else may be a mistake of ours, and is told with where it came from.
 */
export function describeFailure(error: unknown): Described {
  if (!isKnown(error)) return { isKnown: false, text: traceOf(error) }
  const cause = causeOf(error)
  return { isKnown: true, text: cause === error ? wordsOf(error) : `${wordsOf(error)} ${String(cause)}` }
}

/** A name with several addresses has an error for each, and no words of its own. */
const wordsOf = (error: Error): string =>
  error.message === '' && error instanceof AggregateError ? error.errors.map(String).join(', ') : error.message

function isKnown(error: unknown): error is Error {
  if (error instanceof ApiError) return error.code !== 'InternalError'
  if (error instanceof ConfigError || error instanceof PermanentFailure) return true
  return error instanceof Error && (unavailable(error) !== null || refusals.has(String((error as NodeJS.ErrnoException).code)))
}

/** A service of a bucket that is away, a disk that is full, fails or cannot be written to, and a process that may open no more files. */
const refusals = new Set(['STORAGE_AWAY', 'ENOSPC', 'EDQUOT', 'EROFS', 'EACCES', 'EPERM', 'EIO', 'ESTALE', 'ENOTCONN', 'EMFILE', 'ENFILE'])

/**
 * Which known outage made work fail, by a text that is the same for all that it stops; null for a failure of the work itself. Outages are a
 * database that is away, busy or full, a service that is away, and what the system refuses.
 */
export function outageOf(error: unknown): string | null {
  const away = error instanceof ApiError ? error : unavailable(error)
  if (away) return statusOf[away.code] === 503 ? away.message : null
  const code = String((error as NodeJS.ErrnoException | null)?.code)
  return refusals.has(code) ? code : null
}
