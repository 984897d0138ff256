import { ForeignKeyConstraintViolationException, NotFoundError, UniqueConstraintViolationException } from '@mikro-orm/core'
import { type ApiError, conflict } from '../errors.ts'

/**
 * The error to answer with when a row that a change needs was deleted, or one like it was made, by somebody else meanwhile; null for anything
 * else. Whoever tries again is told what is the matter by the checks that come first.
 */
export function lostRace(error: unknown): ApiError | null {
  if (error instanceof ForeignKeyConstraintViolationException || error instanceof NotFoundError)
    return conflict('Something that this needs was just deleted. Reload, and try again.')
  if (error instanceof UniqueConstraintViolationException)
    return conflict('Someone else made the same change at the same time. Reload, then try again.')
  return null
}
