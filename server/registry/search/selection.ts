import { isServerAdmin, type Scope } from '../../platform/access/roles.ts'
import type { Audience } from '../../platform/access/audience.ts'
import type { Database } from '../../platform/db/open/orm.ts'
import { type Here, hostedHere } from '../packages/hosting.ts'
import { parseQuery, type QueryFilter, type ScoreFilter } from './query.ts'
import type { Filter, Tag } from './tags.ts'
import { type QueryTerms, queryTerms } from './terms.ts'

/** The database that a search reads. */
export type Source = Pick<Database, 'reads' | 'backend'>

/** The caller. Signed-in users find all listed packages; anonymous callers (null) find public ones. */
export type Searcher = { id: string; scopes: ReadonlySet<Scope> } | null

/** Which documents a search covers: listed packages whose versions are all public, all listed packages, or unlisted packages. */
export type Reach = Audience | 'unlisted'

/** The search criteria: words, tags (at least one of each group in `all`, and none in `none`) and scores. */
export type Selection = {
  reach: Reach
  terms: QueryTerms | null
  all: readonly (readonly Tag[])[]
  none: readonly Tag[]
  /** Score comparisons, all of which must hold. */
  scores: readonly ScoreFilter[]
  /** This server's address (`hostedHere`) if public packages with hidden versions are found, too, by name only (`foundByName`). */
  byName?: string
}

/** Returns which documents the caller's searches cover by default. */
export const reachOf = (searcher: Searcher): Reach => (searcher ? 'members' : 'public')

/** Returns the selection of all packages that the caller can find. */
export const everything = (searcher: Searcher): Selection => ({ reach: reachOf(searcher), terms: null, all: [], none: [], scores: [] })

/** Converts a query into a selection for the caller. Returns null when nothing can match. */
export async function selectionOf(source: Source, query: string, searcher: Searcher): Promise<Selection | null> {
  const { text, filters, scores } = parseQuery(query)
  const terms = queryTerms(text)
  if (!terms && text.trim()) return null
  const wantsUnlisted = filters.some(({ filter, value, negated }) => filter === 'is' && value === 'unlisted' && !negated)
  if (wantsUnlisted && !searcher) return null
  const all: Tag[][] = wantsUnlisted && searcher && !isServerAdmin(searcher) ? [await administeredTags(source, searcher.id)] : []
  const none: Tag[] = []
  const alternatives = new Map<Filter, Tag[]>()
  for (const wanted of filters) {
    const tag = await tagOf(source, wanted, searcher)
    if (wanted.negated) none.push(...(tag ? [tag] : []))
    else if (!tag) return null
    else if (!exclusive.has(wanted.filter)) all.push([tag])
    else alternatives.set(wanted.filter, [...(alternatives.get(wanted.filter) ?? []), tag])
  }
  return { reach: wantsUnlisted ? 'unlisted' : reachOf(searcher), terms, all: [...all, ...alternatives.values()], none, scores }
}

/**
 * Includes public packages with hidden versions in a search by anonymous callers for words. Not in one with filters or a score: these would be
 * compared with hidden versions.
 */
export function withPartlyPublic(selection: Selection, here: Here): Selection {
  const { reach, terms, all, none, scores } = selection
  const isWordsOnly = terms !== null && all.length === 0 && none.length === 0 && scores.length === 0
  return reach === 'public' && isWordsOnly ? { ...selection, byName: hostedHere(here) } : selection
}

/** Filters of which a package has a single value. Several required values are therefore alternatives. */
const exclusive: ReadonlySet<Filter> = new Set(['publisher', 'license'])

/** Converts a filter into a tag. Returns null when no package visible to the caller can have it. */
async function tagOf({ reads }: Source, { filter, value }: QueryFilter, searcher: Searcher): Promise<Tag | null> {
  if (filter !== 'uploader') return `${filter}:${value.replaceAll(/\s/g, '-')}`
  // Uploaders are hidden from anonymous callers.
  if (!searcher) return null
  if (value === 'me') return `uploader:${searcher.id}`
  const user = await reads.get<{ id: string }>('select id from users where email_key = ?', value)
  return user ? `uploader:${user.id}` : null
}

/** Returns the tags of packages that the user administers, as an uploader or as an admin of the publisher. */
async function administeredTags({ reads }: Source, userId: string): Promise<Tag[]> {
  const sql = "select publisher_id as publisher from publisher_members where user_id = ? and role = 'admin'"
  const rows = await reads.all<{ publisher: string }>(sql, userId)
  return [`uploader:${userId}`, ...rows.map(({ publisher }) => `publisher:${publisher}` as const)]
}
