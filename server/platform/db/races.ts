import { ForeignKeyConstraintViolationException, NotFoundError, UniqueConstraintViolationException } from '@mikro-orm/core'
import { type ApiError, conflict } from '../../errors.ts'

/**
 * Converts the error of a lost race into a conflict: a concurrent request deleted a row that the change needs, or inserted the same row. Returns null
 * for other errors. On a retry, the checks before the write report the exact cause.
 */
export function raceConflict(error: unknown): ApiError | null {
  if (error instanceof ForeignKeyConstraintViolationException || error instanceof NotFoundError)
    return conflict('An object required for this change was just deleted. Reload, then try again.')
  if (error instanceof UniqueConstraintViolationException)
    return conflict('Someone else made the same change at the same time. Reload, then try again.')
  return null
}
