/** Current usage of a connection pool. */
export type PoolState = {
  pool: 'transactions' | 'reads'
  /** Maximum number of connections. */
  max: number
  open: number
  idle: number
  /** Number of callers that wait for a connection. */
  waiting: number
}
