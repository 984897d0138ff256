import { defineEntity, type InferEntity, p } from '@mikro-orm/core'
import { Base } from '../../platform/db/base.ts'
import { User } from '../users/entity.ts'
import type { InferKyselyDB } from '@mikro-orm/sql'

/** A passkey (WebAuthn credential) of a user, discoverable and with user verification. Only its public key is stored. */
export const Passkey = defineEntity({
  name: 'Passkey',
  tableName: 'passkeys',
  extends: Base,
  properties: {
    user: () => p.manyToOne(User).deleteRule('cascade').index(),
    name: p.string().length(100),
    /** Id that the authenticator chose, in base64url. */
    credentialId: p.string().length(1400).unique(),
    /** The public key in COSE format, in base64url. */
    publicKey: p.text(),
    /** Number of uses that the authenticator reported last; 0 for authenticators that do not count. */
    counter: p.bigint('number'),
    /** How browsers reach the authenticator, separated by commas. */
    transports: p.string().length(200),
    isBackedUp: p.boolean(),
    /** The domain for which it was created. Browsers offer it on no other. */
    rpId: p.string().length(253),
    lastUsedAt: p.datetime(3).nullable(),
    /** When its counter went back, which means that the authenticator was copied. It is not accepted any more. */
    disabledAt: p.datetime(3).nullable(),
  },
})
export type Passkey = InferEntity<typeof Passkey>

/** What a browser may do with a challenge. */
export const challengePurposes = ['register', 'sign_in', 'prove'] as const
export type ChallengePurpose = (typeof challengePurposes)[number]

/** A challenge that a passkey must sign. It is deleted when a response to it arrives. */
export const PasskeyChallenge = defineEntity({
  name: 'PasskeyChallenge',
  tableName: 'passkey_challenges',
  properties: {
    challenge: p.string().length(43).primary(),
    purpose: p.enum(challengePurposes),
    /** The browser that received it: the id of its session, or the hash of its cookie. */
    holder: p.string().length(64),
    expiresAt: p.datetime(3).index(),
  },
})

/** The authenticator app of a user (TOTP, RFC 6238). It counts only once it is confirmed. */
export const Totp = defineEntity({
  name: 'Totp',
  tableName: 'totp_secrets',
  properties: {
    user: () => p.oneToOne(User).owner().primary().deleteRule('cascade'),
    /** The secret, encrypted (see platform/http/sealed.ts). */
    sealed: p.text(),
    /** Time step of the last accepted code. Codes of this step and earlier ones are not accepted again. */
    lastStep: p.integer().default(0),
    createdAt: p.datetime(3),
    confirmedAt: p.datetime(3).nullable(),
  },
})
export type Totp = InferEntity<typeof Totp>

/** A recovery code that is accepted once in place of a code of the authenticator app. Only its hash is stored; a used one is deleted. */
export const RecoveryCode = defineEntity({
  name: 'RecoveryCode',
  tableName: 'recovery_codes',
  extends: Base,
  uniques: [{ properties: ['user', 'hash'] }],
  properties: {
    user: () => p.manyToOne(User).deleteRule('cascade'),
    hash: p.string().length(64),
  },
})

declare module '../../platform/db/query.ts' {
  interface Tables extends InferKyselyDB<typeof Passkey | typeof PasskeyChallenge | typeof Totp | typeof RecoveryCode> {}
}
