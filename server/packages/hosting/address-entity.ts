import { defineEntity, type InferEntity, p } from '@mikro-orm/core'

/** An address that this server has, or had: what was published under it names it for good. */
export const ServerAddress = defineEntity({
  name: 'ServerAddress',
  tableName: 'server_addresses',
  properties: {
    /** In the form to compare by. */
    address: p.string().length(2048).primary(),
    firstUsedAt: p.datetime(3),
    /** When a server last started under it. */
    lastUsedAt: p.datetime(3),
  },
})
export type ServerAddress = InferEntity<typeof ServerAddress>
