import { defineEntity, type InferEntity, p } from '@mikro-orm/core'

/** An archive that was missing or damaged when somebody asked for it, or when it was checked. The row goes when it is whole again. */
export const ArchiveFault = defineEntity({
  name: 'ArchiveFault',
  tableName: 'archive_faults',
  properties: {
    sha256: p.string().length(64).primary(),
    kind: p.enum(['missing', 'damaged'] as const),
    foundAt: p.datetime(3),
  },
})
export type ArchiveFault = InferEntity<typeof ArchiveFault>
