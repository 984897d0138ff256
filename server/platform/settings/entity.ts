import { defineEntity, type InferEntity, p } from '@mikro-orm/core'
import type { InferKyselyDB } from '@mikro-orm/sql'

/** A setting that administrators change at runtime, as JSON. Settings with their default value have no row. */
export const ServerSetting = defineEntity({
  name: 'ServerSetting',
  tableName: 'server_settings',
  properties: {
    key: p.string().length(64).primary(),
    value: p.text(),
  },
})
export type ServerSetting = InferEntity<typeof ServerSetting>

declare module '../db/query.ts' {
  interface Tables extends InferKyselyDB<typeof ServerSetting> {}
}
