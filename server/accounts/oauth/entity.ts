import { defineEntity, type InferEntity, p } from '@mikro-orm/core'
import { Base } from '../../platform/db/base.ts'
import { Session } from '../sessions/entity.ts'
import { AccessToken } from '../tokens/entity.ts'
import { User } from '../users/entity.ts'
import type { InferKyselyDB } from '@mikro-orm/sql'

/**
 * An authorization request of a command-line client. It is pending until the user allows or denies it, and then has a single-use code. It is bound
 * to the session that opened the consent page. Only the hash of the code is stored.
 */
export const AuthorizationRequest = defineEntity({
  name: 'AuthorizationRequest',
  tableName: 'oauth_requests',
  extends: Base,
  properties: {
    user: () => p.manyToOne(User).deleteRule('cascade').index(),
    session: () => p.manyToOne(Session).nullable().deleteRule('set null').index(),
    clientId: p.string().length(32),
    redirectUri: p.text(),
    /** The requested scopes, limited by the user's role at the time of the request; separated by commas. */
    scopes: p.string().length(20),
    state: p.text(),
    codeChallenge: p.string().length(43),
    expiresAt: p.datetime(3).index(),
    codeHash: p.string().length(64).nullable().unique(),
    codeExpiresAt: p.datetime(3).nullable(),
    /** When the code was first exchanged, successfully or not. */
    exchangedAt: p.datetime(3).nullable(),
    token: () => p.manyToOne(AccessToken).nullable().deleteRule('set null'),
  },
})
export type AuthorizationRequest = InferEntity<typeof AuthorizationRequest>

declare module '../../platform/db/query.ts' {
  interface Tables extends InferKyselyDB<typeof AuthorizationRequest> {}
}
