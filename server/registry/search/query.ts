import { analyzedFlags, type Filter, filters } from './tags.ts'

/** A required or excluded property. */
export type QueryFilter = { filter: Filter; value: string; negated: boolean }

/** A comparison with a package's score (percentage of points, 0 to 100). Packages without a score never match. */
export type ScoreFilter = { operator: ScoreOperator; points: number; negated: boolean }
export type ScoreOperator = '>=' | '>' | '<=' | '<' | '='

/** A parsed query: filters, and the remaining text. */
export type Query = { text: string; filters: QueryFilter[]; scores: ScoreFilter[] }

/**
 * Parses a query such as `publisher:acme -is:discontinued topic:"state management" score:>=80 words`. Unknown filters, and filters after the first
 * ten, remain part of the text.
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
      const parsed = { filter: filter.toLowerCase() as Filter, value: (quoted ?? bare ?? '').trim().toLowerCase(), negated: sign === '-' }
      const isKnown = parsed.value !== '' && (parsed.filter !== 'is' || flags.has(parsed.value))
      if (!isKnown || found.length >= maxFilters) return whole
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
const pattern = new RegExp(String.raw`(?<![^\s])(-?)(${filters.join('|')}):(?:"([^"]{0,100})"|([^\s"]{1,100}))(?=\s|$)`, 'gi')
