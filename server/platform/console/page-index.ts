import { existsSync, readFileSync } from 'node:fs'
import { z } from 'zod'

const variable = z.union([
  z.string(),
  z.number(),
  z.boolean(),
  z.null(),
  z.object({ param: z.string(), otherwise: z.string().optional() }),
  z.object({ isGiven: z.string() }),
  z.object({ isSignedIn: z.literal(true) }),
])
const query = z.object({
  /** SHA-256 of the query's text (see documents.ts). */
  hash: z.string(),
  variables: z.record(z.string(), variable),
  /** Whether the query is only sent if the URL has no query string. */
  withoutSearch: z.boolean().optional(),
  /** Names of nested fields, each with alternatives separated by `|`. If one is null in the answer, the page does not exist. */
  required: z.array(z.string()).optional(),
})
const index = z.object({
  session: query,
  pages: z.array(z.object({ path: z.string(), files: z.array(z.string()), queries: z.array(query) })),
})
type FirstQuery = z.infer<typeof query>

/** A query with its variables, which the console sends when it opens a page. */
export type Query = Pick<FirstQuery, 'hash' | 'required'> & { variables: Record<string, unknown> }

/** What the console needs to show a page: scripts and style sheets, and the answers to queries. */
export type PageNeeds = { files: string[]; queries(isSignedIn: boolean): Query[] }

/** The pages of the console. */
export type PageIndex = {
  /** Whether the console has a page at this path. Like its router, ignores case and a trailing slash. Before the console is built, it has no pages. */
  has(path: string): boolean
  /** Returns what a page needs, by path and query string. */
  needsOf(path: string, search: string): PageNeeds
}

/** Reads `pages.json` of the console's build (see web/page-index.ts). */
export function readPageIndex(file: string): PageIndex {
  if (!existsSync(file)) return { has: () => false, needsOf: () => ({ files: [], queries: () => [] }) }
  const { session, pages } = index.parse(JSON.parse(readFileSync(file, 'utf8')))
  // Literal segments take precedence over parameters, as in the console's router.
  const known = pages
    .map((page) => ({ ...page, pattern: patternOf(page.path) }))
    .toSorted((a, b) => a.path.split(':').length - b.path.split(':').length)
  const has = (path: string) => known.some(({ pattern }) => pattern.test(path))
  const needsOf = (path: string, search: string): PageNeeds => {
    const page = known.find(({ pattern }) => pattern.test(path))
    // The router rejects paths that cannot be decoded.
    const params = Object.fromEntries(
      Object.entries(page?.pattern.exec(path)?.groups ?? {}).flatMap(([name, value]) => (value ? [[name, decodeURIComponent(value)]] : [])),
    )
    const queries = [session, ...(page?.queries ?? []).filter((one) => !one.withoutSearch || search === '')]
    return {
      files: page?.files ?? [],
      queries: (isSignedIn) => queries.map(({ variables, ...rest }) => ({ ...rest, variables: valuesOf(variables, params, isSignedIn) })),
    }
  }
  return { has, needsOf }
}

const patternOf = (path: string): RegExp =>
  new RegExp(
    `^${path
      .replace(/\/$/, '')
      .replace('/**', '(?:/(?<path>.*?))?')
      .replace(/:(\w+)/g, '(?<$1>[^/]+)')}/?$`,
    'i',
  )

function valuesOf(variables: FirstQuery['variables'], params: Record<string, string>, isSignedIn: boolean): Record<string, unknown> {
  const valueOf = (value: z.infer<typeof variable>): unknown => {
    if (typeof value !== 'object' || value === null) return value
    if ('param' in value) return params[value.param] ?? value.otherwise
    return 'isGiven' in value ? value.isGiven in params : isSignedIn
  }
  return Object.fromEntries(Object.entries(variables).map(([name, value]) => [name, valueOf(value)]))
}
