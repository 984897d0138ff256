/** How the connections of a pool are used at this moment. */
export type PoolState = {
  /** `transactions`, or `reads` beside them, on the database itself or on its replica. */
  pool: 'transactions' | 'reads' | 'replica'
  /** The most that there may be. */
  max: number
  open: number
  idle: number
  /** How many wait for one. */
  waiting: number
}
