import type { EntityManager } from '@mikro-orm/sql'
import { readRows } from '../../platform/db/statements.ts'
import { entryColumns, type EntryRow, hashOf, type Place } from './chain.ts'

/** A link of the hash chain with its entry, or without if the entry was removed. */
export type Link = { position: number | string; hash: string; entry_id: string } & ({ id: null } | EntryRow)

/** Reads the next links after a position in order, with their entries, in one consistent read. */
export const readLinks = (em: EntityManager, after: number, limit: number): Promise<Link[]> =>
  readRows(
    em,
    `select c.position, c.hash, c.entry_id, ${entryColumns} from audit_chain c left join audit_entries e on e.id = c.entry_id
     where c.position > ? order by c.position limit ${limit}`,
    [after],
  )

/** Returns what is wrong with a link of the hash chain that should follow the given position. */
export function problemsOf({ position, hash }: Place, link: Link): string[] {
  const found = Number(link.position)
  const gap = found === position + 1 ? [] : [`The chain lacks the positions ${position + 1} to ${found - 1}.`]
  if (link.id === null) return [...gap, `The entry ${link.entry_id} at position ${found} was removed.`]
  return hashOf(hash, link) === link.hash ? gap : [...gap, `The entry ${link.id} at position ${found}, or its hash, was changed.`]
}
