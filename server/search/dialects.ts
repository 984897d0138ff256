import type { DatabaseConfig } from '../db/options.ts'
import type { QueryWord } from './terms.ts'

/** Where to look: in the name, in all of the short texts, or in everything, README included. */
export type Scope = 'name' | 'brief' | 'full'

/** What differs between the databases. Every statement takes the match first; `?` marks a parameter. */
export type Dialect = {
  /** The words as the database's own query language. It holds nothing but letters, digits and marks of theirs, quoted. */
  match(words: readonly QueryWord[], scope: Scope): string
  /** Ids and names by how well name, description and topics match, from 0 to 1. Match twice on PostgreSQL, once on SQLite; limit. */
  ranked: string
  /** The `from` and `where` of all matches; documents are `d`. */
  matching: Record<Scope, string>
}

export const dialectOf = (backend: DatabaseConfig['DB_BACKEND']): Dialect => (backend === 'sqlite' ? sqlite : postgres)

// FTS5 ranks by bm25, which is negative and grows without bound.
const sqlite: Dialect = {
  match(words, scope) {
    const all = words.map((word) => `(${alternatives(word, scope, (term) => `"${term}"`, (term) => `"${term}" *`).join(' OR ')})`).join(' AND ')
    return scope === 'name' ? `{words parts} : (${all})` : all
  },
  ranked: `select d.package_id as id, d.name, best.score / (1 + best.score) as score
    from (select rowid, -bm25(package_search_brief, 10, 4, 3, 2) as score from package_search_brief where package_search_brief match ? order by 2 desc, 1 limit ?) best
    join package_search_documents d on d.id = best.rowid order by best.score desc, d.id`,
  matching: {
    name: 'from package_search_brief m join package_search_documents d on d.id = m.rowid where m.package_search_brief match ?',
    brief: 'from package_search_brief m join package_search_documents d on d.id = m.rowid where m.package_search_brief match ?',
    full: 'from package_search_full m join package_search_documents d on d.id = m.rowid where m.package_search_full match ?',
  },
}
