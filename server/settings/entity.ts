import { defineEntity, type InferEntity, p } from '@mikro-orm/core'

/** A setting that administrators change while the server runs, as JSON text; one that was never changed has no row. */
export const ServerSetting = defineEntity({
  name: 'ServerSetting',
  tableName: 'server_settings',
  properties: {
    key: p.string().length(64).primary(),
    value: p.text(),
  },
})
export type ServerSetting = InferEntity<typeof ServerSetting>
