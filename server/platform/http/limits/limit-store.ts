import type { QueryConfig, QueryResult } from 'pg'

/** Executes statements on PostgreSQL. */
export type Store = { query(statement: QueryConfig<unknown[]>): Promise<QueryResult<Record<string, unknown>>> }

/**
 * Adapts the rate limit table to a clock shared by all instances. rate-limiter-flexible uses the clock of its own machine, so timestamps are
 * converted to the shared clock in parameters, and back in results. Without this, instances whose clocks differ would disagree on when a bucket
 * expires.
 */
export function limitStore(store: Store, now: () => Date): Store {
  return {
    async query({ values = [], ...statement }) {
      const ahead = now().getTime() - Date.now()
      const result = await store.query({ ...statement, values: values.map((value) => (isMoment(value) ? value + ahead : value)) })
      // The driver returns 64-bit integers as strings.
      for (const row of result.rows) if (row.expire != null) row.expire = Number(row.expire) - ahead
      return result
    },
  }
}

/** Distinguishes timestamps in milliseconds from the other numeric parameters, which are points. */
const isMoment = (value: unknown): value is number => typeof value === 'number' && value > 1e11
