import type { EntityManager } from '@mikro-orm/sql'
import { toDate } from '../db/reads/reads.ts'
import { readRow } from '../db/statements.ts'
import { type Place, start } from './chain.ts'

/** Up to where entries were deleted because of their age. */
export type Cut = Place & { entryId: string; keptFrom: Date }

type Row = { position: number | string; hash: string; entry_id: string; kept_from: number | string | Date }

/** The last cut; null while every entry is there. */
export async function lastCut(em: EntityManager): Promise<Cut | null> {
  const row = await readRow<Row>(em, 'select position, hash, entry_id, kept_from from audit_cuts order by position desc limit 1', [])
  return row ? { position: Number(row.position), hash: row.hash, entryId: row.entry_id, keptFrom: toDate(row.kept_from) } : null
}

/** What the oldest entry that is left builds on. */
export const anchorOf = (cut: Cut | null): Place => cut ?? { position: 0, hash: start }
