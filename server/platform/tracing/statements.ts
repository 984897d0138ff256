import type { Config } from '../config/config.ts'
import { type StatementWatch, timed } from '../db/meter.ts'
import type { Log } from '../http/log.ts'
import { currentScope } from '../http/request-scope.ts'

/** Returns a StatementWatch that counts statements per request and logs slow ones, or undefined if neither is enabled. */
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
        if (ms >= SLOW_QUERY_MS) logSlowQuery(log, sql, ms)
      },
    )
}

function logSlowQuery(log: Log, sql: string, ms: number): void {
  const [text, took, requestId] = [withoutValues(sql), Math.round(ms * 10) / 10, currentScope()?.id]
  log.warning(`slow query: ${took}ms, ${requestId === undefined ? 'no request' : `request ${requestId}`}: ${text}`, { sql: text, ms: took })
}

const maxLength = 2000

/** Returns a statement on one line with string literals replaced by `?`, because they may contain user data. */
export const withoutValues = (sql: string): string =>
  sql
    .replace(/'(?:[^']|'')*'/g, '?')
    .replace(/\s+/g, ' ')
    .trim()
    .slice(0, maxLength)
