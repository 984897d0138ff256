import { BasePostgreSqlPlatform, type EntityManager } from '@mikro-orm/sql'
import { changeRows, readRow } from '../../../platform/db/statements.ts'
import type { StoredDocument } from '../index-package.ts'
import { maxParts, maxSurfaceBytes, outlinesOf, packOutline, termsOfOutline } from './outline.ts'

/** Version of the format of outlines and their terms. Increment it together with `indexFormat` of rebuild.ts. */
const outlineFormat = 1

/** The latest version of a package whose symbols to index. `generation`: the number of its last analysis; null before the first. */
export type IndexedVersion = { name: string; versionId: string; generation: number | null }

/**
 * Indexes the symbols of the latest version for its search document, in the transaction of `em`. Replaces those of an earlier version, also if
 * this one was not analyzed yet. Reads and writes only what the last analysis changed.
 */
export async function storeSymbols(
  em: EntityManager,
  document: StoredDocument,
  { name, versionId, generation }: IndexedVersion,
): Promise<void> {
  const { id } = document
  const source = `${outlineFormat} ${versionId} ${generation ?? 0}`
  if (document.source === source) return
  // Their terms are deleted along with them.
  if (document.source !== null) await changeRows(em, 'delete from package_search_symbols where document_id = ?', [id])
  const surface = generation === null ? null : await readSurface(em, versionId)
  for (const [part, outline] of (surface ? outlinesOf(surface, name) : []).entries())
    await storePart(em, { id, part, source, name, outline })
}

type Part = { id: number | string; part: number; source: string; name: string; outline: string }

/** Stores a part of an outline. Its id starts with that of the document, so that the index leads to the document without another table. */
async function storePart(em: EntityManager, { id, part, source, name, outline }: Part): Promise<void> {
  const own = Number(id) * maxParts + part
  const columns = 'insert into package_search_symbols (id, document_id, source, outline) values (?, ?, ?, ?)'
  await changeRows(em, columns, [own, id, source, packOutline(outline)])
  const terms = termsOfOutline(outline, name)
  if (em.getPlatform() instanceof BasePostgreSqlPlatform) {
    const vector = terms.map((term) => `'${term}'`).join(' ')
    await changeRows(em, 'insert into package_search_symbol_terms (id, terms) values (?, ?::tsvector)', [own, vector])
  } else await changeRows(em, 'insert into package_search_symbol_terms (rowid, terms) values (?, ?)', [own, terms.join(' ')])
}

async function readSurface(em: EntityManager, versionId: string): Promise<Uint8Array | null> {
  const sql = `select surface from version_surfaces where version_id = ? and length(surface) <= ${maxSurfaceBytes}`
  return (await readRow<{ surface: Uint8Array }>(em, sql, [versionId]))?.surface ?? null
}
