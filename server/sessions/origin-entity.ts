import { defineEntity, type InferEntity, p } from '@mikro-orm/core'
import { Base } from '../db/base.ts'
import { User } from '../users/entity.ts'

export const originKinds = ['device', 'range'] as const

/**
 * Where somebody signed in from before: a device by its cookie, or a range of addresses. Only an HMAC with the person's id is kept, so that
 * neither tells who else signs in there.
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
