import { defineEntity, type InferEntity, p } from '@mikro-orm/core'
import type { InferKyselyDB } from '@mikro-orm/sql'

/** The logo of this registry: at most one row. */
export const RegistryLogo = defineEntity({
  name: 'RegistryLogo',
  tableName: 'registry_logos',
  properties: {
    /** Always `logo`. */
    key: p.string().length(16).primary(),
    png: p.blob(),
    sha256: p.string().length(64),
  },
})
export type RegistryLogo = InferEntity<typeof RegistryLogo>

declare module '../../platform/db/query.ts' {
  interface Tables extends InferKyselyDB<typeof RegistryLogo> {}
}
