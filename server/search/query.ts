import { type Filter, filters } from './tags.ts'

/** A wanted or unwanted property. */
export type QueryFilter = { filter: Filter; value: string; negated: boolean }

/** What somebody typed: properties, and the words beside them. */
export type Query = { text: string; filters: QueryFilter[] }

/**
 * Takes `publisher:acme -is:discontinued topic:"state management" words` apart. What is no filter that is known here stays text, and so does
 * whatever comes after the first ten.
 */
export function parseQuery(query: string): Query {
  const found: QueryFilter[] = []
  const text = query.replaceAll(
    pattern,
    (whole: string, sign: string, filter: string, quoted: string | undefined, bare: string | undefined) => {
      const parsed = { filter: filter.toLowerCase() as Filter, value: (quoted ?? bare ?? '').trim().toLowerCase(), negated: sign === '-' }
      const isKnown = parsed.value !== '' && (parsed.filter !== 'is' || flags.has(parsed.value))
      if (!isKnown || found.length >= maxFilters) return whole
      found.push(parsed)
      return ' '
    },
  )
  return { text, filters: found }
}

/** What may follow `is:`. */
export const flags: ReadonlySet<string> = new Set(['flutter', 'plugin', 'retracted', 'discontinued', 'unlisted', 'public', 'private'])

const maxFilters = 10
const pattern = new RegExp(String.raw`(?<![^\s])(-?)(${filters.join('|')}):(?:"([^"]{0,100})"|([^\s"]{1,100}))(?=\s|$)`, 'gi')
