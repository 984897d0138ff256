import { defineEntity, type InferEntity, p } from '@mikro-orm/core'
import { Base } from '../../platform/db/base.ts'
import { User } from '../users/entity.ts'

export const originKinds = ['device', 'range'] as const

/**
 * A device (identified by a cookie) or address range from which a user has signed in. Only an HMAC that includes the user's id is stored, so that
 * origins cannot be compared between users.
 */
export const SignInOrigin = defineEntity({
  name: 'SignInOrigin',
  tableName: 'sign_in_origins',
  extends: Base,
  uniques: [{ properties: ['user', 'hash'] }],
  properties: {
    user: () => p.manyToOne(User).deleteRule('cascade'),
    kind: p.enum(originKinds),
    hash: p.string().length(64),
    lastUsedAt: p.datetime(3).index(),
  },
})
export type SignInOrigin = InferEntity<typeof SignInOrigin>
