import { Cron } from 'croner'
import { z } from 'zod'

/** A cron expression that has a next run. */
export const cronExpression = z.string().refine((expression) => {
  try {
    return nextRun(expression, new Date()) !== null
  } catch {
    return false
  }
}, 'write a cron expression with five fields and a future run, such as 0 3 * * * for every day at 03:00 UTC')

/**
 * Returns the first run of a cron expression with five fields after a given time, in UTC, or null.
 * @throws Error if the expression is invalid.
 */
export const nextRun = (expression: string, after: Date): Date | null =>
  new Cron(expression, { mode: '5-part', timezone: 'UTC' }).nextRun(after)
