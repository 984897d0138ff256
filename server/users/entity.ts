import { defineEntity, type InferEntity, p } from '@mikro-orm/core'
import { roles } from '../roles/roles.ts'
import { Base } from '../db/base.ts'

/** A person's account. `passwordHash` is null until an invitation is accepted. */
export const User = defineEntity({
  name: 'User',
  tableName: 'users',
  extends: Base,
  properties: {
    email: p.string().length(254),
    /** The e-mail address lower-cased: what makes it unique and what look-ups use. */
    emailKey: p.string().length(254).unique(),
    displayName: p.string().length(100),
    role: p.enum(roles),
    isActive: p.boolean().default(true),
    mustChangePassword: p.boolean().default(false),
    passwordHash: p.string().length(100).nullable().lazy(),
    lastLoginAt: p.datetime(3).nullable(),
    /** Start of the picture's SHA-256, so that its address changes with it; null for no picture. */
    avatarTag: p.string().length(16).nullable(),
  },
  uniques: [{ name: 'users_one_owner', properties: ['role'], where: "role = 'owner'" }],
})
export type User = InferEntity<typeof User>
