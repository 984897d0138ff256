import type { DatabaseConfig } from '../../platform/db/options.ts'
import type { Parameter } from '../../platform/db/reads.ts'
import { hasPublicVersion } from '../packages/policy.ts'
import type { Reach, ScoreFilter, Selection } from './selection.ts'
import { everyTerm, tagTerm, unlistedTerm } from './tags.ts'
import { apiTerm, type QueryWord } from './terms.ts'

/** Which texts to search: names only, all short texts, or everything including READMEs and API names. */
export type Breadth = 'name' | 'brief' | 'full'

export type Statement = { sql: string; parameters: Parameter[] }

/** The queries that differ between SQLite and PostgreSQL. */
export type Dialect = {
  /** Returns the ids of the selected documents. */
  matching: (selection: Selection, breadth: Breadth) => Statement
  /** Returns the ids of documents whose terms match, ignoring conditions on their rows. With `api: false`, API names are not searched. */
  withTerms: (selection: Selection, breadth: Breadth, options?: { api: boolean }) => Statement
  /** Returns the ids of documents that have at least one of these terms in their tag and spelling index. */
  marked: (terms: readonly string[]) => Statement
  /** Returns the ids of all documents that belong to a reach (see `Reach`). */
  everything: (reach: Reach) => Statement
  /** Returns the names most similar to `name`. */
  similar: (name: string, reach: Reach, limit: number) => Statement
  /** SQL condition: the document has the tag given as parameter, which must be surrounded by spaces. */
  hasTag: string
  /** Returns the ids of parts of outlines with a term of each group. */
  symbols: (groups: readonly (readonly { term: string; isPrefix: boolean }[])[]) => Statement
  /** Follows the name of the table of documents, to sort many of them: reading thousands of full rows with their texts takes ten times as long. */
  narrow: string
}

export const dialectOf = (backend: DatabaseConfig['DB_BACKEND']): Dialect => (backend === 'sqlite' ? sqlite : postgres)

/** SQL condition: the document `d` belongs to a reach (see `Reach`). The numbers are literals so that the planner can use the partial indexes. */
export const isWithin: Record<Reach, string> = {
  public: 'd.shown_to = 2',
  members: 'd.shown_to in (1, 2)',
  unlisted: 'd.shown_to = 0',
}

/** Returns the name of the full-text table for a breadth. */
const termsOf = (breadth: Breadth) => (breadth === 'full' ? 'package_search_full' : 'package_search_brief')

/**
 * Returns SQL that follows `from`: the documents `d` that anonymous callers find by name only, or null for other searches. They belong to
 * public packages some of whose versions are hidden from the public. Their texts, tags, score, dates and downloads come from hidden versions too, so
 * callers must not show, match or sort by them. Whether any version is public is checked here, because the index does not record it.
 */
export function foundByName(dialect: Dialect, selection: Selection): Statement | null {
  if (selection.byName === undefined) return null
  const { sql, parameters } = dialect.withTerms({ ...selection, all: [['is:public']] }, 'name')
  const isShown = `d.shown_to = 1 and exists (select 1 from packages p where p.id = d.package_id and ${hasPublicVersion('p')})`
  return {
    sql: `(${sql}) m join package_search_documents d on d.id = m.id where ${isShown}`,
    parameters: [...parameters, selection.byName],
  }
}

const sqlite: Dialect = {
  matching: (selection, breadth) => onlyWithin(sqlite.withTerms(selection, breadth), selection),
  withTerms: (selection, breadth, { api } = { api: true }) => sqliteIds(breadth, sqliteMatch(selection, breadth, api)),
  marked: (terms) => sqliteIds('brief', `{tags} : (${terms.map((term) => `"${term}"`).join(' OR ')})`),
  everything,
  similar: (name, reach, limit) => ({
    // The cross join keeps the rank order, so the scan stops once `limit` visible documents are found.
    sql: `select d.name from package_search_trigrams t cross join package_search_documents d on d.id = t.rowid
      where t.package_search_trigrams match ? and ${isWithin[reach]} order by t.rank limit ?`,
    parameters: [Array.from({ length: name.length - 2 }, (_, index) => `"${name.slice(index, index + 3)}"`).join(' OR '), limit],
  }),
  hasTag: 'instr(d.tags, ?) > 0',
  symbols: (groups) => {
    const alternatives = groups.map((group) => `(${group.map(({ term, isPrefix }) => `"${term}"${isPrefix ? ' *' : ''}`).join(' OR ')})`)
    return {
      sql: 'select rowid as id from package_search_symbol_terms where package_search_symbol_terms match ?',
      parameters: [alternatives.join(' AND ')],
    }
  },
  narrow: ' indexed by package_search_documents_renown',
}

function sqliteIds(breadth: Breadth, match: string): Statement {
  const index = termsOf(breadth)
  return { sql: `select rowid as id from ${index} where ${index} match ?`, parameters: [match] }
}

// Without help, PostgreSQL reads every vector for a common word, or scans a sorted index when it sees a limit. The sub-select hides the word from the
// planner and `offset 0` hides the limit, so the inverted index is always used. Weight labels: A words of the name, B parts of the name, C
// description, D topics. Tags have no label.
const postgres: Dialect = {
  matching: (selection, breadth) => onlyWithin(postgres.withTerms(selection, breadth), selection),
  withTerms: (selection, breadth, { api } = { api: true }) => postgresIds(breadth, postgresMatch(selection, breadth, api)),
  marked: (terms) => postgresIds('brief', terms.map((term) => lexeme(term, '')).join(' | ')),
  everything,
  similar: (name, reach, limit) => ({
    sql: `select d.name from (select ?::text as text) wanted, package_search_documents d
      where d.name % wanted.text and ${isWithin[reach]} order by similarity(d.name, wanted.text) desc limit ?`,
    parameters: [name, limit],
  }),
  hasTag: 'position(?::text in d.tags) > 0',
  symbols: (groups) => {
    const alternatives = groups.map((group) => `(${group.map(({ term, isPrefix }) => lexeme(term, isPrefix ? '*' : '')).join(' | ')})`)
    return {
      sql: 'select id from package_search_symbol_terms where terms @@ (select ?::tsquery) offset 0',
      parameters: [alternatives.join(' & ')],
    }
  },
  narrow: '',
}

const postgresIds = (breadth: Breadth, query: string): Statement => ({
  sql: `select id from ${termsOf(breadth)} where terms @@ (select ?::tsquery) offset 0`,
  parameters: [query],
})

/**
 * Returns the conditions on a document `d` that the term index cannot answer: visibility to anonymous callers, and the score. Both can change for
 * many documents at once when a dependency changes, and updating an indexed text rewrites all its terms. Being unlisted depends only on the package
 * itself, so it is indexed as a term.
 */
export function rowConditions({ reach, scores }: Selection): string[] {
  return [...(reach === 'public' ? [isWithin[reach]] : []), ...scoreConditions(scores)]
}

function onlyWithin({ sql, parameters }: Statement, selection: Selection): Statement {
  const conditions = rowConditions(selection)
  if (conditions.length === 0) return { sql, parameters }
  const document = `select 1 from package_search_documents d where d.id = m.id and ${conditions.join(' and ')}`
  return { sql: `select m.id from (${sql}) m where exists (${document})`, parameters }
}

/** Returns the conditions on the score of a document `d`. Packages that were never analyzed have a score of -1. */
export function scoreConditions(scores: readonly ScoreFilter[]): string[] {
  if (scores.length === 0) return []
  const comparisons = scores.map(({ operator, points, negated }) => `${negated ? 'not ' : ''}d.score ${operator} ${Math.trunc(points)}`)
  return ['d.score >= 0', ...comparisons]
}

function everything(reach: Reach): Statement {
  return { sql: `select d.id from package_search_documents d where ${isWithin[reach]}`, parameters: [] }
}

/** Builds an FTS5 query. Terms contain only letters, digits, marks and tag separators, so quoting is sufficient escaping in both query languages. */
function sqliteMatch(selection: Selection, breadth: Breadth, api: boolean): string {
  const { all, none } = tagTerms(selection)
  const within = breadth === 'full' ? '' : '{tags} : '
  const quoted = (terms: string[]) => `(${terms.map((term) => `"${term}"`).join(' OR ')})`
  const words = (selection.terms?.words ?? []).map((word) => {
    const { whole, beginnings } = alternatives(word, breadth === 'full' && api)
    const terms = [...whole.map((term) => `"${term}"`), ...beginnings.map((term) => `"${term}" *`)]
    return `${columnsOf[breadth]}(${terms.join(' OR ')})`
  })
  const positive = [...words, ...all.map((terms) => within + quoted(terms))].join(' AND ')
  return none.length === 0 ? positive : `(${positive}) NOT ${within}${quoted(none)}`
}

const columnsOf: Record<Breadth, string> = { name: '{words parts} : ', brief: '{words parts description topics} : ', full: '' }

function postgresMatch(selection: Selection, breadth: Breadth, api: boolean): string {
  const { all, none } = tagTerms(selection)
  const labels = breadth === 'name' ? 'AB' : ''
  const quoted = (terms: string[]) => `(${terms.map((term) => `'${term}'`).join(' | ')})`
  const words = (selection.terms?.words ?? []).map((word) => {
    const { whole, beginnings } = alternatives(word, breadth === 'full' && api)
    return `(${[...whole.map((term) => lexeme(term, labels)), ...beginnings.map((term) => lexeme(term, `*${labels}`))].join(' | ')})`
  })
  return [...words, ...all.map(quoted), ...(none.length > 0 ? [`!${quoted(none)}`] : [])].join(' & ')
}

/** Returns the terms that match a query word: prefixes, and the exact terms they do not cover. With `api`, API names match too. */
function alternatives({ exact, prefixes }: QueryWord, api: boolean): { whole: string[]; beginnings: string[] } {
  const whole = exact.filter((term) => !prefixes.some((prefix) => term.startsWith(prefix)))
  const marked = (terms: readonly string[]) => (api ? [...terms, ...terms.map(apiTerm)] : [...terms])
  return { whole: marked(whole), beginnings: marked(prefixes) }
}

/** Returns the tags as terms, plus the term that separates unlisted packages. */
function tagTerms({ reach, terms, all, none }: Selection): { all: string[][]; none: string[] } {
  const required = [...all.map((tags) => tags.map(tagTerm)), ...(reach === 'unlisted' ? [[unlistedTerm]] : [])]
  return {
    all: terms || required.length > 0 ? required : [[everyTerm]],
    none: [...none.map(tagTerm), ...(reach === 'members' ? [unlistedTerm] : [])],
  }
}

const lexeme = (term: string, flags: string) => (flags ? `'${term}':${flags}` : `'${term}'`)
