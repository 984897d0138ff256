import { defineEntity, type InferEntity, p } from '@mikro-orm/core'
import { roles, userKinds } from '../../platform/access/roles.ts'
import { Base } from '../../platform/db/base.ts'
import type { InferKyselyDB } from '@mikro-orm/sql'

/** A user account, or a service account. `passwordHash` is null until an invitation is accepted, and without password sign-in. */
export const User = defineEntity({
  name: 'User',
  tableName: 'users',
  extends: Base,
  properties: {
    email: p.string().length(254),
    /** The e-mail address in lower case, used for uniqueness and lookups. */
    emailKey: p.string().length(254).unique(),
    displayName: p.string().length(100),
    /** A service account is a program. It has no password and never signs in. */
    kind: p.enum(userKinds).default('person'),
    role: p.enum(roles),
    isActive: p.boolean().default(true),
    mustChangePassword: p.boolean().default(false),
    passwordHash: p.string().length(100).nullable().lazy(),
    lastLoginAt: p.datetime(3).nullable(),
    /** When the user last signed in through a provider; null without a linked identity. */
    providerSignInAt: p.datetime(3).nullable(),
    /** Whether the role includes what the groups of a provider give. An administrator who changes the role ends that until the next sign-in. */
    hasMappedRole: p.boolean().default(false),
    /** The role given by hand while `hasMappedRole`; null for an account that a sign-in through a provider created. */
    givenRole: p.enum(roles).nullable(),
    /** Start of the picture's SHA-256, used as its version in URLs; null for no picture. */
    avatarTag: p.string().length(16).nullable(),
  },
  uniques: [{ name: 'users_one_owner', properties: ['role'], where: "role = 'owner'" }],
})
export type User = InferEntity<typeof User>

/** A user's picture: a PNG of 512×512 pixels and at most a few hundred kilobytes. Small enough to be stored in the database. */
export const Avatar = defineEntity({
  name: 'Avatar',
  tableName: 'avatars',
  properties: {
    user: () => p.oneToOne(User).owner().primary().deleteRule('cascade'),
    png: p.blob(),
    sha256: p.string().length(64),
  },
})
export type Avatar = InferEntity<typeof Avatar>

declare module '../../platform/db/query.ts' {
  interface Tables extends InferKyselyDB<typeof User | typeof Avatar> {}
}
