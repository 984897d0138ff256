import { isServerAdmin } from '../roles/viewer.ts'
import type { Audience } from '../access/audience.ts'
import type { Scope } from '../roles/roles.ts'
import type { Database } from '../db/open/orm.ts'
import { parseQuery, type QueryFilter, type ScoreFilter } from './query.ts'
import type { Filter, Tag } from './tags.ts'
import { type QueryTerms, queryTerms } from './terms.ts'

/** Where searches read: who somebody is and what they administer by `reads`, what fits by `heavyReads`. */
export type Source = Pick<Database, 'reads' | 'heavyReads' | 'backend'>

/** Who is asking: signed-in people find all listed packages, anybody else those that are public, too. */
export type Searcher = { id: string; scopes: ReadonlySet<Scope> } | null

/**
 * Which packages may be found at all: public and listed ones, listed ones, or unlisted ones. Of the public ones, those of which some versions are
 * withheld from anybody are apart: what anybody finds of them is an excerpt.
 */
export type Reach = Audience | 'unlisted' | 'excerpts'

/** What to find: words, tags of which one of each group, or none, must be there, and scores. */
export type Selection = {
  reach: Reach
  terms: QueryTerms | null
  all: readonly (readonly Tag[])[]
  none: readonly Tag[]
  /** Comparisons of the score, all of which must hold. */
  scores: readonly ScoreFilter[]
}

/** What whoever searches may find in the first place. */
export const reachOf = (searcher: Searcher): Reach => (searcher ? 'members' : 'public')

/** Everything that whoever searches may find. */
export const everything = (searcher: Searcher): Selection => ({ reach: reachOf(searcher), terms: null, all: [], none: [], scores: [] })

/** A selection, and beside what anybody may find whole the same of the excerpts, where there are any. Each is read by itself. */
export async function partsOf<Part extends Selection>({ heavyReads }: Source, selection: Part): Promise<[Part, ...Part[]]> {
  if (selection.reach !== 'public' || !(await heavyReads.get('select id from package_search_excerpts limit 1'))) return [selection]
  return [selection, { ...selection, reach: 'excerpts' }]
}

/** What a typed query selects for whoever searches; null when nothing can fit. */
export async function selectionOf(source: Source, query: string, searcher: Searcher): Promise<Selection | null> {
  const { text, filters, scores } = parseQuery(query)
  const terms = queryTerms(text)
  if (!terms && text.trim()) return null
  const wantsUnlisted = filters.some(({ filter, value, negated }) => filter === 'is' && value === 'unlisted' && !negated)
  if (wantsUnlisted && !searcher) return null
  const all: Tag[][] = wantsUnlisted && searcher && !isServerAdmin(searcher) ? [await administered(source, searcher.id)] : []
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

/** A package has one of these, so two that are wanted are alternatives. */
const exclusive: ReadonlySet<Filter> = new Set(['publisher', 'license'])

/** The tag behind a filter; null when no package that whoever searches may find can have it. */
async function tagOf({ reads }: Source, { filter, value }: QueryFilter, searcher: Searcher): Promise<Tag | null> {
  if (filter !== 'uploader') return `${filter}:${value.replaceAll(/\s/g, '-')}`
  // Nobody learns who uploads without signing in.
  if (!searcher) return null
  if (value === 'me') return `uploader:${searcher.id}`
  const user = await reads.get<{ id: string }>('select id from users where email_key = ?', value)
  return user ? `uploader:${user.id}` : null
}

/** The tags of the packages that somebody administers: as an uploader, or as an admin of the publisher. */
async function administered({ reads }: Source, userId: string): Promise<Tag[]> {
  const sql = "select publisher_id as publisher from publisher_members where user_id = ? and role = 'admin'"
  const rows = await reads.all<{ publisher: string }>(sql, userId)
  return [`uploader:${userId}`, ...rows.map(({ publisher }) => `publisher:${publisher}` as const)]
}
