import { defineEntity, type InferEntity, p } from '@mikro-orm/core'
import { Base } from '../db/base.ts'
import { User } from '../users/entity.ts'

/** A browser that is signed in. Only the HMAC of the cookie's value is kept. */
export const Session = defineEntity({
  name: 'Session',
  tableName: 'sessions',
  extends: Base,
  properties: {
    user: () => p.manyToOne(User).deleteRule('cascade').index(),
    hash: p.string().length(64).unique(),
    lastUsedAt: p.datetime(3),
    /** When its person last confirmed the password; null when that was at the sign-in that began it. */
    provedAt: p.datetime(3).nullable(),
    /** The end of its 30 days; 7 days without use end it sooner. */
    expiresAt: p.datetime(3),
    clientIp: p.string().length(45),
    userAgent: p.string().length(256),
  },
})
export type Session = InferEntity<typeof Session>
