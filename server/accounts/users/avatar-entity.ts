import { defineEntity, type InferEntity, p } from '@mikro-orm/core'
import { User } from './entity.ts'

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
