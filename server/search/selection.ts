import { isServerAdmin } from '../roles/viewer.ts'
import type { Scope } from '../roles/roles.ts'
import type { Source } from './source.ts'
import { parseQuery, type QueryFilter } from './query.ts'
import type { Filter, Tag } from './tags.ts'
import { type QueryTerms, queryTerms } from './terms.ts'

/** Who is asking: signed-in people find all listed packages, anybody else those that are public, too. */
export type Audience = { id: string; scopes: ReadonlySet<Scope> } | null

/** Which packages may be found at all: public and listed ones, listed ones, or unlisted ones. */
export type Reach = 'everybody' | 'members' | 'unlisted'

/** What to find: words, and tags of which one of each group, or none, must be there. */
export type Selection = { reach: Reach; terms: QueryTerms | null; all: readonly (readonly Tag[])[]; none: readonly Tag[] }

/** What the audience may find in the first place. */
export const reachOf = (audience: Audience): Reach => (audience ? 'members' : 'everybody')

/** Everything that the audience may find. */
export const everything = (audience: Audience): Selection => ({ reach: reachOf(audience), terms: null, all: [], none: [] })

/** What a typed query selects for this audience; null when nothing can fit. */
export async function selectionOf(source: Source, query: string, audience: Audience): Promise<Selection | null> {
  const { text, filters } = parseQuery(query)
  const terms = queryTerms(text)
  if (!terms && text.trim()) return null
  const wantsUnlisted = filters.some(({ filter, value, negated }) => filter === 'is' && value === 'unlisted' && !negated)
  if (wantsUnlisted && !audience) return null
  const all: Tag[][] = wantsUnlisted && audience && !isServerAdmin(audience) ? [await administered(source, audience.id)] : []
  const none: Tag[] = []
  const alternatives = new Map<Filter, Tag[]>()
  for (const wanted of filters) {
    const tag = await tagOf(source, wanted, audience)
    if (wanted.negated) none.push(...(tag ? [tag] : []))
    else if (!tag) return null
    else if (!exclusive.has(wanted.filter)) all.push([tag])
    else alternatives.set(wanted.filter, [...(alternatives.get(wanted.filter) ?? []), tag])
  }
  return { reach: wantsUnlisted ? 'unlisted' : reachOf(audience), terms, all: [...all, ...alternatives.values()], none }
}

/** A package has one of these, so two that are wanted are alternatives. */
const exclusive: ReadonlySet<Filter> = new Set(['publisher', 'license'])

/** The tag behind a filter; null when no package that the audience may find can have it. */
async function tagOf({ reads }: Source, { filter, value }: QueryFilter, audience: Audience): Promise<Tag | null> {
  if (filter !== 'uploader') return `${filter}:${value.replaceAll(/\s/g, '-')}`
  // Nobody learns who uploads without signing in.
  if (!audience) return null
  if (value === 'me') return `uploader:${audience.id}`
  const user = await reads.get<{ id: string }>('select id from users where email_key = ?', value)
  return user ? `uploader:${user.id}` : null
}

/** The tags of the packages that somebody administers: as an uploader, or as an admin of the publisher. */
async function administered({ reads }: Source, userId: string): Promise<Tag[]> {
  const sql = "select publisher_id as publisher from publisher_members where user_id = ? and role = 'admin'"
  const rows = await reads.all<{ publisher: string }>(sql, userId)
  return [`uploader:${userId}`, ...rows.map(({ publisher }) => `publisher:${publisher}` as const)]
}
