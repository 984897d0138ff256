import { defineEntity, type InferEntity, p } from '@mikro-orm/core'
import type { InferKyselyDB } from '@mikro-orm/sql'

/** Measurements of one day, taken once by one of the instances. `day` is the number of days since 1970-01-01 in UTC. */
export const DailySample = defineEntity({
  name: 'DailySample',
  tableName: 'daily_samples',
  properties: {
    day: p.integer().primary().autoincrement(false),
    /** Sizes in bytes; null if unknown. */
    archiveBytes: p.bigint('number').nullable(),
    docsBytes: p.bigint('number').nullable(),
    databaseBytes: p.bigint('number').nullable(),
    /** Free space of the volume with the archives, or else with the database; null if neither is on a local disk. */
    freeBytes: p.bigint('number').nullable(),
    /** Accounts that signed in, or used a session or a token, in the 7 days before. */
    activePeople: p.integer(),
    /** Access tokens that were used in the 7 days before. */
    activeTokens: p.integer(),
  },
})
export type DailySample = InferEntity<typeof DailySample>

declare module '../../platform/db/query.ts' {
  interface Tables extends InferKyselyDB<typeof DailySample> {}
}
