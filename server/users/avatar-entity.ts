import { defineEntity, type InferEntity, p } from '@mikro-orm/core'
import { User } from './entity.ts'

/** A person's picture: 512×512 PNG, at most a few hundred kilobytes, so that it lives and dies with its row. */
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
