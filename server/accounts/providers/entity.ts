import { defineEntity, type InferEntity, p } from '@mikro-orm/core'
import { Base } from '../../platform/db/base.ts'
import { Session } from '../sessions/entity.ts'
import { User } from '../users/entity.ts'
import type { InferKyselyDB } from '@mikro-orm/sql'

/** An OpenID provider that an administrator added. Providers of the environment have no row. */
export const OidcProvider = defineEntity({
  name: 'OidcProvider',
  tableName: 'oidc_providers',
  properties: {
    name: p.string().length(32).primary(),
    createdAt: p.datetime(3).onCreate(() => new Date()),
    label: p.string().length(100),
    issuer: p.string().length(255),
    clientId: p.string().length(255),
    /** The sealed client secret; null for a public client. */
    clientSecret: p.text().nullable(),
    scopes: p.string().length(500),
    groupsClaim: p.string().length(200).nullable(),
    /** Whether its sign-ins count as having a second factor, whatever its ID tokens contain. */
    trustsSecondFactor: p.boolean().default(false),
  },
})
export type OidcProvider = InferEntity<typeof OidcProvider>

/** The latest success and failure of a provider, also of one of the environment. */
export const OidcProviderState = defineEntity({
  name: 'OidcProviderState',
  tableName: 'oidc_provider_states',
  properties: {
    name: p.string().length(32).primary(),
    lastSuccessAt: p.datetime(3).nullable(),
    lastErrorAt: p.datetime(3).nullable(),
    lastError: p.string().length(500).nullable(),
  },
})
export type OidcProviderState = InferEntity<typeof OidcProviderState>

/** A person at a provider, who signs in to an account. Identified by issuer and subject, never by e-mail address. */
export const LinkedIdentity = defineEntity({
  name: 'LinkedIdentity',
  tableName: 'linked_identities',
  extends: Base,
  uniques: [{ properties: ['issuer', 'subject'] }],
  properties: {
    user: () => p.manyToOne(User).deleteRule('cascade').index(),
    issuer: p.string().length(255),
    subject: p.string().length(255),
    /** The e-mail address at the last sign-in, to recognize the identity. It has no other meaning. */
    email: p.string().length(254).nullable(),
    lastUsedAt: p.datetime(3),
    /** JSON of the role and the memberships that the groups gave at the latest sign-in, and the name of the provider; null if there were no groups. */
    grants: p.text().nullable(),
    grantedBy: p.string().length(32).nullable(),
  },
})
export type LinkedIdentity = InferEntity<typeof LinkedIdentity>

/** What a sign-in attempt is for. `result` is a finished test, whose claims its administrator may read. */
export const attemptPurposes = ['signIn', 'link', 'invite', 'proof', 'test', 'result'] as const
export type AttemptPurpose = (typeof attemptPurposes)[number]

/** A sign-in attempt: an authorization request that the provider has not answered yet. It is bound to the browser that started it, and deleted by its callback. */
export const OidcAttempt = defineEntity({
  name: 'OidcAttempt',
  tableName: 'oidc_rounds',
  extends: Base,
  properties: {
    /** SHA-256 of the parameter `state`. */
    stateHash: p.string().length(64).unique(),
    /** SHA-256 of the cookie of the browser. */
    browserHash: p.string().length(64),
    provider: p.string().length(32),
    purpose: p.enum(attemptPurposes),
    /** The session that started the attempt, if it belongs to one. */
    session: () => p.manyToOne(Session).nullable().deleteRule('cascade').index(),
    /** Sealed JSON of what the callback needs. */
    sealed: p.text(),
    expiresAt: p.datetime(3).index(),
  },
})
export type OidcAttempt = InferEntity<typeof OidcAttempt>

/** A logout token that was accepted, so that it is not accepted again. */
export const UsedLogoutToken = defineEntity({
  name: 'UsedLogoutToken',
  tableName: 'used_logout_tokens',
  properties: {
    /** SHA-256 of issuer and `jti`. */
    hash: p.string().length(64).primary(),
    expiresAt: p.datetime(3).index(),
  },
})
export type UsedLogoutToken = InferEntity<typeof UsedLogoutToken>

type Entities = typeof OidcProvider | typeof OidcProviderState | typeof LinkedIdentity | typeof OidcAttempt | typeof UsedLogoutToken

declare module '../../platform/db/query.ts' {
  interface Tables extends InferKyselyDB<Entities> {}
}
