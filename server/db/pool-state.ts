/** How the connections of a pool are used at this moment. */
export type PoolState = {
  /** `transactions`, or `reads` beside them. */
  pool: 'transactions' | 'reads'
  /** The most that there may be. */
  max: number
  open: number
  idle: number
  /** How many wait for one. */
  waiting: number
}
