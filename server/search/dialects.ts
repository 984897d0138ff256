import type { DatabaseConfig } from '../db/options.ts'
import type { Parameter } from '../db/reads/reads.ts'
import { seenByAnybody } from '../packages/policy.ts'
import type { ScoreFilter } from './query.ts'
import type { Reach, Selection } from './selection.ts'
import { everyTerm, tagTerm, unlistedTerm } from './tags.ts'
import type { QueryWord } from './terms.ts'

/** Where to look for words: at names, at all short texts, or at everything, READMEs included. */
export type Breadth = 'name' | 'brief' | 'full'

/** `?` marks a parameter. */
export type Statement = { sql: string; parameters: Parameter[] }

/** What differs between the databases. */
export type Dialect = {
  /** Ids and names of packages, and their downloads, by how well the short texts match the words, with a score that is 0 or more. */
  ranked: (selection: Selection, breadth: Breadth, limit: number) => Statement
  /** The ids of the documents that are selected. */
  matching: (selection: Selection, breadth: Exclude<Breadth, 'brief'>) => Statement
  /** Ids and names of the newest packages that are selected. */
  newest: (selection: Selection, limit: number) => Statement
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
  anybody: 'd.shown_to = 2',
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
    ? `(select o.id, o.package_id, o.name, o.shown_to, o.likes, e.created_at, e.updated_at, e.downloads, e.score, e.tags from package_search_excerpts e
        join package_search_documents o on o.id = e.id join packages p on p.id = e.package_id and ${seenByAnybody('p')})`
    : 'package_search_documents'

/** Where the terms of a reach's documents are. */
function termsOf(reach: Reach, breadth: Breadth): string {
  const index = reach === 'excerpts' ? 'package_search_excerpts' : 'package_search'
  return breadth === 'full' ? `${index}_full` : `${index}_brief`
}

// All that match in the same place match equally, the newest first: a ranking by how rare a word is among all packages would tell whoever
// sees only the public ones of the others, and needs the texts, which this index does not keep.
const sqlite: Dialect = {
  ranked: (selection, breadth, limit) => ({
    sql: `select d.package_id as id, d.name, d.downloads, 0.5 as score from (
      select rowid from ${termsOf(selection.reach, breadth)} m where ${termsOf(selection.reach, breadth)} match ? ${andWithin(selection, 'm.rowid')} order by rowid desc limit ?
    ) best join ${documentsOf(selection.reach)} d on d.id = best.rowid order by d.id desc`,
    parameters: [sqliteMatch(selection, breadth), limit],
  }),
  matching: (selection, breadth) => ({
    sql: `select rowid as id from ${termsOf(selection.reach, breadth)} m where ${termsOf(selection.reach, breadth)} match ? ${andWithin(selection, 'm.rowid')}`,
    parameters: [sqliteMatch(selection, breadth)],
  }),
  newest: (selection, limit) => ({
    sql: `select d.package_id as id, d.name from (
      select rowid from ${termsOf(selection.reach, 'full')} m where ${termsOf(selection.reach, 'full')} match ? ${andWithin(selection, 'm.rowid')} order by rowid desc limit ?
    ) found join ${documentsOf(selection.reach)} d on d.id = found.rowid order by d.id desc`,
    parameters: [sqliteMatch(selection, 'full'), limit],
  }),
  everything,
  similar: (name, reach, limit) => ({
    // The cross join keeps the order of the ranking, so that it ends when enough are found which may be.
    sql: `select d.name from package_search_trigrams t cross join ${documentsOf(reach)} d on d.id = t.rowid
      where t.package_search_trigrams match ? and ${isWithin[reach]} order by t.rank limit ?`,
    parameters: [Array.from({ length: name.length - 2 }, (_, index) => `"${name.slice(index, index + 3)}"`).join(' OR '), limit],
  }),
  hasTag: 'instr(d.tags, ?) > 0',
}

// The planner knows no better than to read every vector when it sees a common word, or to walk a sorted list when it sees a limit: the
// sub-select hides the word from it, and `offset 0` the limit, so that the inverted index always answers.
// Labels: A words of the name, B parts of the name, C description, D topics; the weights of ts_rank go from D to A. Tags have none.
const postgres: Dialect = {
  ranked: (selection, breadth, limit) => ({
    sql: `with wanted as materialized (select ?::tsquery as terms, ?::tsquery as words)
    select d.package_id as id, d.name, d.downloads, best.score from (
      select m.id, ts_rank('{0.2, 0.3, 0.4, 1}', m.terms, (select words from wanted), 1) as score
      from (select id, terms from ${termsOf(selection.reach, breadth)} where terms @@ (select terms from wanted) offset 0) m
      where true ${andWithin(selection, 'm.id')} order by 2 desc, 1 limit ?
    ) best join ${documentsOf(selection.reach)} d on d.id = best.id order by best.score desc, d.id`,
    parameters: [postgresMatch(selection, breadth), postgresWords(selection, breadth), limit],
  }),
  matching: (selection, breadth) => ({
    sql: `select m.id from (select id from ${termsOf(selection.reach, breadth)} where terms @@ (select ?::tsquery) offset 0) m where true ${andWithin(selection, 'm.id')}`,
    parameters: [postgresMatch(selection, breadth)],
  }),
  newest: (selection, limit) => ({
    sql: `select d.package_id as id, d.name from (
      select id from (${postgres.matching(selection, 'full').sql}) matching order by id desc limit ?
    ) found join ${documentsOf(selection.reach)} d on d.id = found.id order by d.id desc`,
    parameters: [postgresMatch(selection, 'full'), limit],
  }),
  everything,
  similar: (name, reach, limit) => ({
    sql: `select d.name from (select ?::text as text) wanted, ${documentsOf(reach)} d
      where d.name % wanted.text and ${isWithin[reach]} order by similarity(d.name, wanted.text) desc limit ?`,
    parameters: [name, limit],
  }),
  hasTag: 'position(?::text in d.tags) > 0',
}

/**
 * The conditions that a document is for everybody and that its score fits, which are asked of its row: a dependency may change it for many documents at once, and to
 * change a text writes all its terms into the inverted index anew. That a package is unlisted only itself says, so it is a term.
 */
function andWithin({ reach, scores }: Selection, id: string): string {
  const isAsked = reach === 'anybody' || reach === 'excerpts'
  const conditions = [...(isAsked ? [isWithin[reach]] : []), ...scoreConditions(scores)]
  return conditions.length > 0
    ? `and exists (select 1 from ${documentsOf(reach)} d where d.id = ${id} and ${conditions.join(' and ')})`
    : ''
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
function sqliteMatch(selection: Selection, breadth: Breadth): string {
  const { all, none } = tagTerms(selection)
  const within = breadth === 'full' ? '' : '{tags} : '
  const quoted = (terms: string[]) => `(${terms.map((term) => `"${term}"`).join(' OR ')})`
  const words = (selection.terms?.words ?? []).map(({ exact, prefixes }) => {
    const alternatives = [...whole({ exact, prefixes }, breadth).map((term) => `"${term}"`), ...prefixes.map((prefix) => `"${prefix}" *`)]
    return `${columnsOf[breadth]}(${alternatives.join(' OR ')})`
  })
  const positive = [...words, ...all.map((terms) => within + quoted(terms))].join(' AND ')
  return none.length === 0 ? positive : `(${positive}) NOT ${within}${quoted(none)}`
}

const columnsOf: Record<Breadth, string> = { name: '{words parts} : ', brief: '{words parts description topics} : ', full: '' }

function postgresMatch(selection: Selection, breadth: Breadth): string {
  const { all, none } = tagTerms(selection)
  const quoted = (terms: string[]) => `(${terms.map((term) => `'${term}'`).join(' | ')})`
  const words = selection.terms ? [postgresWords(selection, breadth)] : []
  return [...words, ...all.map(quoted), ...(none.length > 0 ? [`!${quoted(none)}`] : [])].join(' & ')
}

function postgresWords({ terms }: Selection, breadth: Breadth): string {
  const labels = breadth === 'name' ? 'AB' : ''
  const alternatives = (word: QueryWord) => [
    ...whole(word, breadth).map((term) => lexeme(term, labels)),
    ...word.prefixes.map((prefix) => lexeme(prefix, `*${labels}`)),
  ]
  return (terms?.words ?? []).map((word) => `(${alternatives(word).join(' | ')})`).join(' & ')
}

/** The tags as terms, with the one that keeps unlisted packages apart. */
function tagTerms({ reach, terms, all, none }: Selection): { all: string[][]; none: string[] } {
  const required = [...all.map((tags) => tags.map(tagTerm)), ...(reach === 'unlisted' ? [[unlistedTerm]] : [])]
  return {
    all: terms || required.length > 0 ? required : [[everyTerm]],
    none: [...none.map(tagTerm), ...(reach === 'members' ? [unlistedTerm] : [])],
  }
}

/** The word itself. Its beginnings match it, too, but in a ranking a whole word counts for more. */
const whole = ({ exact, prefixes }: QueryWord, breadth: Breadth) => (breadth === 'full' && prefixes.length > 0 ? [] : [exact])

const lexeme = (term: string, flags: string) => (flags ? `'${term}':${flags}` : `'${term}'`)
