import type { QueryConfig, QueryResult } from 'pg'

/** What runs a statement on PostgreSQL. */
export type Store = { query(statement: QueryConfig<unknown[]>): Promise<QueryResult<Record<string, unknown>>> }

/**
 * The table of the limits for rate-limiter-flexible, which reads its own machine's clock: its moments become the shared ones on the way in, and
 * its own again on the way out. So instances whose clocks differ fill the same bucket.
 */
export function limitStore(store: Store, now: () => Date): Store {
  return {
    async query({ values = [], ...statement }) {
      const ahead = now().getTime() - Date.now()
      const result = await store.query({ ...statement, values: values.map((value) => (isMoment(value) ? value + ahead : value)) })
      // PostgreSQL hands out 64-bit integers as text.
      for (const row of result.rows) if (row.expire != null) row.expire = Number(row.expire) - ahead
      return result
    },
  }
}

/** Milliseconds since 1970; the other numbers are points. */
const isMoment = (value: unknown): value is number => typeof value === 'number' && value > 1e11
