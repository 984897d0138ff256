import { defineEntity, type InferEntity, p } from '@mikro-orm/core'
import { Base } from '../../platform/db/base.ts'
import { User } from '../users/entity.ts'
import type { InferKyselyDB } from '@mikro-orm/sql'

/** A pending invitation. Each user has at most one. Only the hash of its token is stored. */
export const Invite = defineEntity({
  name: 'Invite',
  tableName: 'invites',
  extends: Base,
  properties: {
    user: () => p.oneToOne(User).owner().deleteRule('cascade'),
    hash: p.string().length(64).unique(),
    expiresAt: p.datetime(3),
  },
})
export type Invite = InferEntity<typeof Invite>

declare module '../../platform/db/query.ts' {
  interface Tables extends InferKyselyDB<typeof Invite> {}
}
