import { defineEntity, type InferEntity, p } from '@mikro-orm/core'

/** A current or former address of this server. Published packages refer to it permanently. */
export const ServerAddress = defineEntity({
  name: 'ServerAddress',
  tableName: 'server_addresses',
  properties: {
    /** Normalized form, for comparison. */
    address: p.string().length(2048).primary(),
    firstUsedAt: p.datetime(3),
    /** When the server last started with this address. */
    lastUsedAt: p.datetime(3),
  },
})
export type ServerAddress = InferEntity<typeof ServerAddress>
