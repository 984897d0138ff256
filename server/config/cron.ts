import { Cron } from 'croner'
import { z } from 'zod'

/** A cron expression that names a moment to come. */
export const cronExpression = z.string().refine((expression) => {
  try {
    return nextMoment(expression, new Date()) !== null
  } catch {
    return false
  }
}, 'write a cron expression of five fields that comes due, such as 0 3 * * * for every day at 03:00 UTC')

/**
 * The first moment after another one that a cron expression of five fields names, in UTC; null when there is none any more.
 * @throws Error that says what is wrong with the expression.
 */
export const nextMoment = (expression: string, after: Date): Date | null =>
  new Cron(expression, { mode: '5-part', timezone: 'UTC' }).nextRun(after)
