import type { DatabaseConfig } from '../db/options.ts'
import type { Parameter } from '../db/reads/reads.ts'
import { isPublicPackage } from '../packages/policy.ts'
import type { ScoreFilter } from './query.ts'
import type { Reach, Selection } from './selection.ts'
import { everyTerm, tagTerm, unlistedTerm } from './tags.ts'
import { apiTerm, type QueryWord } from './terms.ts'

/** Where to look for words: at names, at all short texts, or at everything: READMEs and names of APIs, too. */
export type Breadth = 'name' | 'brief' | 'full'

/** `?` marks a parameter. */
export type Statement = { sql: string; parameters: Parameter[] }

/** What differs between the databases. */
export type Dialect = {
  /** The ids of the documents that are selected. */
  matching: (selection: Selection, breadth: Breadth) => Statement
  /** The ids of the documents whose terms are selected, without the conditions on their rows. Without `api`, names of APIs do not count. */
  withTerms: (selection: Selection, breadth: Breadth, options?: { api: boolean }) => Statement
  /** The ids of the documents that have one of these terms among the terms of their tags and spellings. */
  marked: (reach: Reach, terms: readonly string[]) => Statement
  /** The ids of all documents that may be found. */
  everything: (reach: Reach) => Statement
  /** The names that look most like this one. */
  similar: (name: string, reach: Reach, limit: number) => Statement
  /** The condition that a document has the tag which is the parameter, with a blank on either side. */
  hasTag: string
}

export const dialectOf = (backend: DatabaseConfig['DB_BACKEND']): Dialect => (backend === 'sqlite' ? sqlite : postgres)

/** The condition that a document may be found at all. The numbers are literals, so that the indexes of public packages are used. */
export const isWithin: Record<Reach, string> = {
  public: 'd.shown_to = 2',
  excerpts: 'd.shown_to = 1',
  members: 'd.shown_to in (1, 2)',
  unlisted: 'd.shown_to = 0',
}

/**
 * The documents of a reach. Excerpts are there only while their package is public: an instance of an earlier version, which knows nothing of them,
 * may make it private.
 */
export const documentsOf = (reach: Reach): string =>
  reach === 'excerpts'
    ? `(select o.id, o.package_id, o.name, o.shown_to, o.likes, o.public_dependents, e.summary, e.created_at, e.updated_at, e.downloads, e.score, e.tags from package_search_excerpts e
        join package_search_documents o on o.id = e.id join packages p on p.id = e.package_id and ${isPublicPackage('p')})`
    : 'package_search_documents'

/** Where the terms of a reach's documents are. */
function termsOf(reach: Reach, breadth: Breadth): string {
  const index = reach === 'excerpts' ? 'package_search_excerpts' : 'package_search'
  return breadth === 'full' ? `${index}_full` : `${index}_brief`
}

const sqlite: Dialect = {
  matching: (selection, breadth) => onlyWithin(sqlite.withTerms(selection, breadth), selection),
  withTerms: (selection, breadth, { api } = { api: true }) => sqliteIds(selection.reach, breadth, sqliteMatch(selection, breadth, api)),
  marked: (reach, terms) => sqliteIds(reach, 'brief', `{tags} : (${terms.map((term) => `"${term}"`).join(' OR ')})`),
  everything,
  similar: (name, reach, limit) => ({
    // The cross join keeps the order of the ranking, so that it ends when enough are found which may be.
    sql: `select d.name from package_search_trigrams t cross join ${documentsOf(reach)} d on d.id = t.rowid
      where t.package_search_trigrams match ? and ${isWithin[reach]} order by t.rank limit ?`,
    parameters: [Array.from({ length: name.length - 2 }, (_, index) => `"${name.slice(index, index + 3)}"`).join(' OR '), limit],
  }),
  hasTag: 'instr(d.tags, ?) > 0',
}

function sqliteIds(reach: Reach, breadth: Breadth, match: string): Statement {
  const index = termsOf(reach, breadth)
  return { sql: `select rowid as id from ${index} where ${index} match ?`, parameters: [match] }
}

// The planner knows no better than to read every vector when it sees a common word, or to walk a sorted list when it sees a limit: the
// sub-select hides the word from it, and `offset 0` the limit, so that the inverted index always answers.
// Labels: A words of the name, B parts of the name, C description, D topics. Tags have none.
const postgres: Dialect = {
  matching: (selection, breadth) => onlyWithin(postgres.withTerms(selection, breadth), selection),
  withTerms: (selection, breadth, { api } = { api: true }) => postgresIds(selection.reach, breadth, postgresMatch(selection, breadth, api)),
  marked: (reach, terms) => postgresIds(reach, 'brief', terms.map((term) => lexeme(term, '')).join(' | ')),
  everything,
  similar: (name, reach, limit) => ({
    sql: `select d.name from (select ?::text as text) wanted, ${documentsOf(reach)} d
      where d.name % wanted.text and ${isWithin[reach]} order by similarity(d.name, wanted.text) desc limit ?`,
    parameters: [name, limit],
  }),
  hasTag: 'position(?::text in d.tags) > 0',
}

const postgresIds = (reach: Reach, breadth: Breadth, query: string): Statement => ({
  sql: `select id from ${termsOf(reach, breadth)} where terms @@ (select ?::tsquery) offset 0`,
  parameters: [query],
})

/**
 * The conditions on a document `d` that its terms do not answer: that it is for everyone, and that its score fits. A dependency may change them
 * for many documents at once, and changing a text writes all its terms into the inverted index again. Only the package itself decides that it is
 * unlisted, so that is a term.
 */
export function rowConditions({ reach, scores }: Selection): string[] {
  const isAsked = reach === 'public' || reach === 'excerpts'
  return [...(isAsked ? [isWithin[reach]] : []), ...scoreConditions(scores)]
}

function onlyWithin({ sql, parameters }: Statement, selection: Selection): Statement {
  const conditions = rowConditions(selection)
  if (conditions.length === 0) return { sql, parameters }
  const document = `select 1 from ${documentsOf(selection.reach)} d where d.id = m.id and ${conditions.join(' and ')}`
  return { sql: `select m.id from (${sql}) m where exists (${document})`, parameters }
}

/** The conditions that the score of a document `d` fits. What was never analyzed has -1. */
export function scoreConditions(scores: readonly ScoreFilter[]): string[] {
  if (scores.length === 0) return []
  const comparisons = scores.map(({ operator, points, negated }) => `${negated ? 'not ' : ''}d.score ${operator} ${Math.trunc(points)}`)
  return ['d.score >= 0', ...comparisons]
}

function everything(reach: Reach): Statement {
  return { sql: `select d.id from ${documentsOf(reach)} d where ${isWithin[reach]}`, parameters: [] }
}

/** Terms are letters, digits, marks and the signs of tags, so quoting them is enough in both query languages. */
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

/** The terms that a word of a query matches: whole, unless a beginning covers them. With `api`, names of APIs too. */
function alternatives({ exact, prefixes }: QueryWord, api: boolean): { whole: string[]; beginnings: string[] } {
  const whole = exact.filter((term) => !prefixes.some((prefix) => term.startsWith(prefix)))
  const marked = (terms: readonly string[]) => (api ? [...terms, ...terms.map(apiTerm)] : [...terms])
  return { whole: marked(whole), beginnings: marked(prefixes) }
}

/** The tags as terms, with the one that keeps unlisted packages apart. */
function tagTerms({ reach, terms, all, none }: Selection): { all: string[][]; none: string[] } {
  const required = [...all.map((tags) => tags.map(tagTerm)), ...(reach === 'unlisted' ? [[unlistedTerm]] : [])]
  return {
    all: terms || required.length > 0 ? required : [[everyTerm]],
    none: [...none.map(tagTerm), ...(reach === 'members' ? [unlistedTerm] : [])],
  }
}

const lexeme = (term: string, flags: string) => (flags ? `'${term}':${flags}` : `'${term}'`)
