import { emailKey } from '../../accounts/users/input.ts'
import type { Audience } from '../../platform/access/audience.ts'
import type { Database } from '../../platform/db/open/orm.ts'
import type { Scope } from '../../platform/access/roles.ts'
import { isServerAdmin } from '../../platform/access/roles.ts'
import { type Here, hostedHere } from '../packages/hosting.ts'
import { analyzedFlags, type Filter, filters, type Tag } from './tags.ts'
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
  const alternatives = new Map<string, Tag[]>()
  for (const wanted of filters) {
    const tags = await filterTags(source, wanted, searcher)
    if (wanted.negated) none.push(...tags)
    else if (tags.length === 0) return null
    else if (!exclusive.has(wanted.filter)) all.push(tags)
    else alternatives.set(wanted.filter, [...(alternatives.get(wanted.filter) ?? []), ...tags])
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
const exclusive: ReadonlySet<string> = new Set(['publisher', 'license'])

/** Converts a filter into alternative tags. Returns an empty list when no package visible to the caller can have one. */
async function filterTags({ reads }: Source, { filter, value }: QueryFilter, searcher: Searcher): Promise<Tag[]> {
  if (filter === 'runtime') return platformsOf.get(value) ?? []
  if (filter !== 'uploader') return [`${filter}:${value.replaceAll(/\s/g, '-')}`]
  // Uploaders are hidden from anonymous callers.
  if (!searcher) return []
  if (value === 'me') return [`uploader:${searcher.id}`]
  const user = await reads.get<{ id: string }>('select id from users where email_key = ?', emailKey(value))
  return user ? [`uploader:${user.id}`] : []
}

const native: Tag[] = ['android', 'ios', 'linux', 'macos', 'windows'].map((platform): Tag => `platform:${platform}`)

/** The platforms of the runtimes for which pub.dev has the filter `runtime:`. */
const platformsOf = new Map<string, Tag[]>([
  ['web', ['platform:web']],
  ['native-aot', native],
  ['native-jit', native],
])

/** Returns the tags of packages that the user administers, as an uploader or as an admin of the publisher. */
async function administeredTags({ reads }: Source, userId: string): Promise<Tag[]> {
  const sql = "select publisher_id as publisher from publisher_members where user_id = ? and role = 'admin'"
  const rows = await reads.all<{ publisher: string }>(sql, userId)
  return [`uploader:${userId}`, ...rows.map(({ publisher }) => `publisher:${publisher}` as const)]
}

/** A required or excluded property. */
export type QueryFilter = { filter: Filter | 'runtime'; value: string; negated: boolean }

/** A comparison with a package's score (percentage of passed checks, 0 to 100). Packages without a score never match. */
export type ScoreFilter = { operator: ScoreOperator; points: number; negated: boolean }
export type ScoreOperator = '>=' | '>' | '<=' | '<' | '='

/** A parsed query: filters, and the remaining text. */
export type Query = { text: string; filters: QueryFilter[]; scores: ScoreFilter[] }

/**
 * Parses a query such as `publisher:acme -is:discontinued topic:"state management" score:>=80 words`. Unknown filters, and filters after the first
 * ten, remain part of the text. `runtime:` and `dependency*:` are filters of pub.dev; here, the latter finds direct dependencies only.
 */
export function parseQuery(query: string): Query {
  const found: QueryFilter[] = []
  const scores: ScoreFilter[] = []
  const rest = query.replaceAll(scorePattern, (whole: string, sign: string, operator: ScoreOperator | undefined, points: string) => {
    if (scores.length >= maxFilters) return whole
    scores.push({ operator: operator ?? '=', points: Number(points), negated: sign === '-' })
    return ' '
  })
  const text = rest.replaceAll(
    pattern,
    (whole: string, sign: string, filter: string, quoted: string | undefined, bare: string | undefined) => {
      const name = filter.toLowerCase().replace('*', '') as QueryFilter['filter']
      const parsed = { filter: name, value: (quoted ?? bare ?? '').trim().toLowerCase(), negated: sign === '-' }
      const known = name === 'is' ? flags : name === 'runtime' ? platformsOf : null
      if (parsed.value === '' || known?.has(parsed.value) === false || found.length >= maxFilters) return whole
      found.push(parsed)
      return ' '
    },
  )
  return { text, filters: found, scores }
}

/** Valid values of `is:`. */
export const flags: ReadonlySet<string> = new Set(
  ['flutter', 'plugin', 'retracted', 'discontinued', 'unlisted', 'public', 'private'].concat(analyzedFlags),
)

const maxFilters = 10
const scorePattern = /(?<!\S)(-?)score:(>=|>|<=|<|=)?(\d{1,3})(?=\s|$)/gi
const pattern = new RegExp(
  String.raw`(?<![^\s])(-?)(${filters.join('|')}|runtime|dependency\*):(?:"([^"]{0,100})"|([^\s"]{1,100}))(?=\s|$)`,
  'gi',
)

/**
 * Removes the filters of pub.dev that this server cannot apply. As words, they would exclude all packages.
 * Source: the filters that pub.dev's search and Dart's MCP server describe.
 */
export function withoutForeignFilters(query: string): string {
  const left = query.replaceAll(foreignFilter, '')
  return left === query ? query : left.replaceAll(/\s+/g, ' ').trim()
}

const foreignFilter = /(?<!\S)-?(?:has|show|updated):[^\s":]+(?!\S)/gi
