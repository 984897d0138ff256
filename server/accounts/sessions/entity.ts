import { defineEntity, type InferEntity, p } from '@mikro-orm/core'
import { Base } from '../../platform/db/base.ts'
import { User } from '../users/entity.ts'
import type { InferKyselyDB } from '@mikro-orm/sql'

/** How a session was started. */
export const signInWays = ['password', 'provider', 'passkey'] as const
export type SignInWay = (typeof signInWays)[number]

/** A signed-in browser. Only the HMAC of the cookie's value is stored. */
export const Session = defineEntity({
  name: 'Session',
  tableName: 'sessions',
  extends: Base,
  properties: {
    user: () => p.manyToOne(User).deleteRule('cascade').index(),
    hash: p.string().length(64).unique(),
    lastUsedAt: p.datetime(3),
    way: p.enum(signInWays).default('password'),
    /** Whether the sign-in, or a later step of this session, proved a second factor. */
    hasSecondFactor: p.boolean().default(false),
    /** When the user last proved who they are; null if not since the sign-in. */
    provedAt: p.datetime(3).nullable(),
    /** Expiry time, 30 days after the sign-in. A session ends earlier after 7 days without use. */
    expiresAt: p.datetime(3),
    clientIp: p.string().length(45),
    userAgent: p.string().length(256),
  },
})
export type Session = InferEntity<typeof Session>

/** A session that a provider started, as the provider knows it. */
export const ProviderSession = defineEntity({
  name: 'ProviderSession',
  tableName: 'provider_sessions',
  indexes: [{ properties: ['issuer', 'subject'] }],
  properties: {
    session: () => p.oneToOne(Session).owner().primary().deleteRule('cascade'),
    issuer: p.string().length(255),
    subject: p.string().length(255),
    /** Session id of the provider, for back-channel logout. */
    sid: p.string().length(255).nullable().index(),
    /** Sealed URL for signing out at the provider; null where the provider has none. */
    endSessionUrl: p.text().nullable(),
  },
})
export type ProviderSession = InferEntity<typeof ProviderSession>

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

declare module '../../platform/db/query.ts' {
  interface Tables extends InferKyselyDB<typeof Session | typeof ProviderSession | typeof SignInOrigin> {}
}
