import type { DatabaseConfig } from '../db/options.ts'
import type { QueryWord } from './terms.ts'

/** Where to look: at names, at all short texts, or at everything, READMEs included. */
export type Scope = 'name' | 'brief' | 'full'

/** What differs between the databases. Every statement takes the match first; `?` marks a parameter. */
export type Dialect = {
  /** The words in the database's own query language. Terms are letters, digits and marks, so quoting them is enough. */
  match: (words: readonly QueryWord[], scope: Scope) => string
  /** Match, limit: package ids and names by how well the short texts match, with a score from 0 to 1. */
  ranked: string
  /** Match: the documents' ids. */
  matching: Record<Exclude<Scope, 'brief'>, string>
  /** Name, limit: the names that look most like it. */
  similar: string
  similarTo: (name: string) => string
}

export const dialectOf = (backend: DatabaseConfig['DB_BACKEND']): Dialect => (backend === 'sqlite' ? sqlite : postgres)

// bm25 is negative, the better the lower, and has no bound.
const sqlite: Dialect = {
  match(words, scope) {
    const alternatives = ({ exact, prefixes }: QueryWord) => [
      ...whole(exact, prefixes, scope).map((term) => `"${term}"`),
      ...prefixes.map((prefix) => `"${prefix}" *`),
    ]
    const expression = words.map((word) => `(${alternatives(word).join(' OR ')})`).join(' AND ')
    return scope === 'name' ? `{words parts} : (${expression})` : expression
  },
  ranked: `select d.package_id as id, d.name, best.score / (1 + best.score) as score from (
      select rowid, -bm25(package_search_brief, 10, 4, 3, 2) as score from package_search_brief
      where package_search_brief match ? order by 2 desc, 1 limit ?
    ) best join package_search_documents d on d.id = best.rowid order by best.score desc, d.id`,
  matching: {
    name: 'select rowid as id from package_search_brief where package_search_brief match ?',
    full: 'select rowid as id from package_search_full where package_search_full match ?',
  },
  similar: `select d.name from (select rowid from package_search_trigrams where package_search_trigrams match ? order by rank limit ?) best
    join package_search_documents d on d.id = best.rowid`,
  similarTo: (name) => Array.from({ length: name.length - 2 }, (_, index) => `"${name.slice(index, index + 3)}"`).join(' OR '),
}

// The planner knows no better than to read every vector when it sees a common word, or to walk a sorted list when it sees a limit: the
// sub-select hides the word from it, and `offset 0` the limit, so that the inverted index always answers.
// Labels: A words of the name, B parts of the name, C description, D topics; the weights of ts_rank go from D to A.
const postgres: Dialect = {
  match(words, scope) {
    const labels = scope === 'name' ? 'AB' : ''
    const alternatives = ({ exact, prefixes }: QueryWord) => [
      ...whole(exact, prefixes, scope).map((term) => lexeme(term, labels)),
      ...prefixes.map((prefix) => lexeme(prefix, `*${labels}`)),
    ]
    return words.map((word) => `(${alternatives(word).join(' | ')})`).join(' & ')
  },
  ranked: `with wanted as materialized (select ?::tsquery as terms)
    select d.package_id as id, d.name, best.score from (
      select id, ts_rank('{0.2, 0.3, 0.4, 1}', terms, (select terms from wanted), 1) as score from package_search_brief
      where terms @@ (select terms from wanted) order by 2 desc, 1 limit ?
    ) best join package_search_documents d on d.id = best.id order by best.score desc, d.id`,
  matching: {
    name: 'select id from package_search_brief where terms @@ (select ?::tsquery) offset 0',
    full: 'select id from package_search_full where terms @@ (select ?::tsquery) offset 0',
  },
  similar:
    'select name from (select ?::text as text) wanted, package_search_documents d where d.name % wanted.text order by similarity(d.name, wanted.text) desc limit ?',
  similarTo: (name) => name,
}

/** The word itself. Its beginnings match it, too, but in a ranking a whole word counts for more. */
const whole = (exact: string, prefixes: string[], scope: Scope) => (scope === 'full' && prefixes.length > 0 ? [] : [exact])

const lexeme = (term: string, flags: string) => (flags ? `'${term}':${flags}` : `'${term}'`)
