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

/** How a user answers the request of a device. */
const deviceAnswers = ['approved', 'denied'] as const

/**
 * A request of a client on a device without a browser (RFC 8628). The client polls with the device code, of which only the hash is stored; the user
 * types the user code on another device.
 */
export const DeviceRequest = defineEntity({
  name: 'DeviceRequest',
  tableName: 'oauth_devices',
  extends: Base,
  properties: {
    deviceHash: p.string().length(64).unique(),
    /** Eight consonants, without the hyphen that is shown. */
    userCode: p.string().length(8).unique(),
    /** The requested scopes; once approved, limited by the user's role. Separated by commas. */
    scopes: p.string().length(20),
    /** Address of the client, shown to the user who approves. */
    clientIp: p.string().length(45),
    expiresAt: p.datetime(3).index(),
    /** Minimum time between two polls, in seconds. Grows with each poll that comes too early. */
    pollSeconds: p.integer(),
    polledAt: p.datetime(3).nullable(),
    /** The user who approved or denied the request; null until then. */
    user: () => p.manyToOne(User).nullable().deleteRule('cascade').index(),
    /** The session of that user. A code cannot be exchanged after this session has ended. */
    session: () => p.manyToOne(Session).nullable().deleteRule('set null').index(),
    answer: p.enum(deviceAnswers).nullable(),
    /** When the device code was exchanged, successfully or not. */
    exchangedAt: p.datetime(3).nullable(),
    token: () => p.manyToOne(AccessToken).nullable().deleteRule('set null').index(),
  },
})
export type DeviceRequest = InferEntity<typeof DeviceRequest>

declare module '../../platform/db/query.ts' {
  interface Tables extends InferKyselyDB<typeof AuthorizationRequest | typeof DeviceRequest> {}
}
