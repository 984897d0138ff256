import { defineEntity, type InferEntity, p } from '@mikro-orm/core'

/** An archive that was found missing or damaged by a download or a check. The row is deleted when the archive is intact again. */
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
