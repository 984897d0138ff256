import type { Config } from '../config/config.ts'
import { type StatementWatch, timed } from '../db/meter.ts'
import type { Log } from '../http/log.ts'
import { currentScope } from '../http/request-scope.ts'

/** Counts the statements of each request and logs those that are slow, as far as settings ask for it; undefined where none does. */
export function watchStatements({ LOG_FORMAT, SLOW_QUERY_MS }: Config, log: Log): StatementWatch | undefined {
  const counted: StatementWatch = (_sql, work) => {
    const scope = currentScope()
    if (scope) scope.queries++
    return work()
  }
  if (SLOW_QUERY_MS === undefined) return LOG_FORMAT === 'json' ? counted : undefined
  return (sql, work) =>
    timed(
      () => counted(sql, work),
      (ms) => {
        if (ms >= SLOW_QUERY_MS) tellSlow(log, sql, ms)
      },
    )
}

function tellSlow(log: Log, sql: string, ms: number): void {
  const [text, took, requestId] = [withoutValues(sql), Math.round(ms * 10) / 10, currentScope()?.id]
  log.warning(`slow query: ${took}ms, ${requestId === undefined ? 'no request' : `request ${requestId}`}: ${text}`, { sql: text, ms: took })
}

const longest = 2000

/** The text of a statement on one line. What stands in it between quotes could be somebody's: only marks are left. */
export const withoutValues = (sql: string): string =>
  sql
    .replace(/'(?:[^']|'')*'/g, '?')
    .replace(/\s+/g, ' ')
    .trim()
    .slice(0, longest)
