import type { EntityManager } from '@mikro-orm/sql'
import { toDate } from '../../platform/db/reads.ts'
import { readRow } from '../../platform/db/statements.ts'
import { type Place, start } from './chain.ts'

/** A position in the hash chain up to which entries were deleted by retention. */
export type Cut = Place & { entryId: string; keptFrom: Date }

type Row = { position: number | string; hash: string; entry_id: string; kept_from: number | string | Date }

/** Returns the last deletion by retention; null if no entries were deleted. */
export async function lastCut(em: EntityManager): Promise<Cut | null> {
  const row = await readRow<Row>(em, 'select position, hash, entry_id, kept_from from audit_cuts order by position desc limit 1', [])
  return row ? { position: Number(row.position), hash: row.hash, entryId: row.entry_id, keptFrom: toDate(row.kept_from) } : null
}

/** Returns the chain position and hash that the oldest remaining audit entry builds on. */
export const anchorOf = (cut: Cut | null): Place => cut ?? { position: 0, hash: start }
