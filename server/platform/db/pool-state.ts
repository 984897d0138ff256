/** Current usage of a connection pool. */
export type PoolState = {
  /** `transactions` and `reads` connect to the database itself, `replica` to its read replica. */
  pool: 'transactions' | 'reads' | 'replica'
  /** Maximum number of connections. */
  max: number
  open: number
  idle: number
  /** Number of callers that wait for a connection. */
  waiting: number
}
