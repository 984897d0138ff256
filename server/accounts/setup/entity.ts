import { defineEntity, type InferEntity, p } from '@mikro-orm/core'
import { Base } from '../../platform/db/base.ts'
import type { InferKyselyDB } from '@mikro-orm/sql'

/** A code for the first-run setup. Only the newest is valid. Only its hash is stored. */
export const SetupCode = defineEntity({
  name: 'SetupCode',
  tableName: 'setup_codes',
  extends: Base,
  properties: {
    hash: p.string().length(64),
    failures: p.integer().default(0),
    verifiedIp: p.string().length(45).nullable(),
    verifiedAt: p.datetime(3).nullable(),
    /** SHA-256 of the one-time secret that the client that verified the code received. An IP address alone may be shared by several clients. */
    tokenHash: p.string().length(64).nullable(),
  },
})
export type SetupCode = InferEntity<typeof SetupCode>

declare module '../../platform/db/query.ts' {
  interface Tables extends InferKyselyDB<typeof SetupCode> {}
}
