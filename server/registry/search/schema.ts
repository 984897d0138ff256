import { z } from 'zod'
import { OrderDirection } from '../../platform/graphql/types.ts'
import { builder } from '../../platform/graphql/builder.ts'
import { formerly } from '../../platform/graphql/former-schema.ts'
import { notNegative, type PageArguments, pageSizeOf } from '../../platform/graphql/connections.ts'
import type { Context } from '../../platform/access/context.ts'
import { Package } from '../packages/entity.ts'
import { PackageRef } from '../packages/refs.ts'
import { type Excerpt, excerptOf, type Segment } from './excerpt.ts'
import type { Completion, Facet, Facets, FacetValue } from './facets.ts'
import { reachOf, type Searcher } from './selection.ts'
import type { QueryTerms } from './terms.ts'
import { suggestNames } from './typos.ts'
import { completeNames, completeQuery, searchPackages, type SearchRequest, type SearchSort } from './service.ts'

export const PackageSort = builder.enumType('PackageSort', {
  description: 'How to sort packages.',
  values: {
    RELEVANCE: { value: 'relevance', description: 'Best match first.' },
    PUBLISHED: { value: 'published', description: 'By the time of the newest publication (`Package.publishedAt`).' },
    UPDATED: { value: 'updated', description: 'By the last change, including changes of options, owners and retractions.' },
    CREATED: { value: 'created', description: 'By the time of the first publication.' },
    DOWNLOADS: { value: 'downloads', description: 'By downloads in the last 30 days.' },
    LIKES: { value: 'likes', description: 'By likes.' },
    SCORE: { value: 'score', description: 'By passed checks; packages without a score count as the lowest.' },
    NAME: { value: 'name', description: 'By name.' },
  } satisfies Record<string, { value: SearchSort; description: string }>,
})

const ExcerptSource = builder.enumType('SearchExcerptSource', {
  description: 'Texts that search covers but lists do not show.',
  values: {
    README: { value: 'readme', description: 'The README.' },
    API: { value: 'api', description: 'Names that the public API declares.' },
  } satisfies Record<Uppercase<Excerpt['source']>, { value: Excerpt['source']; description: string }>,
})

const SegmentRef = builder.objectRef<Segment>('SearchExcerptSegment').implement({
  description: 'A part of an excerpt.',
  fields: (t) => ({
    text: t.exposeString('text', { description: 'Plain text.' }),
    isMatch: t.exposeBoolean('isMatch', { description: 'Whether the text is one of the searched words.' }),
  }),
})

const ExcerptRef = builder.objectRef<Excerpt>('SearchExcerpt').implement({
  description: 'Part of a text that contains searched words.',
  fields: (t) => ({
    source: t.expose('source', { type: ExcerptSource, description: 'Which text.' }),
    segments: t.expose('segments', {
      extensions: { size: 10 },
      type: [SegmentRef],
      description: 'The excerpt, split at the searched words.',
    }),
  }),
})

/** Field of a match that explains it. */
const excerpt = {
  extensions: { cost: 2 },
  type: ExcerptRef,
  nullable: true,
  description: 'Where the package contains words that its name, description and topics do not; null if they contain all words.',
  resolve: ({ node, terms }: { node: Package; terms: QueryTerms | null }, _args: object, context: Context) =>
    terms && excerptOf(context, node, terms),
} as const

/** Requires the permission to browse: members see all listed packages; anonymous callers see public packages if the server allows public browsing. */
export const browseAccess = { skipTypeScopes: true, authScopes: { browse: true } } as const

export const searchText = { extensions: { maxLength: 1000 } }

const resultLimit = {
  required: true,
  description: 'Maximum number of results, 1 to 100.',
  validate: z.int().min(1, 'must be from 1 to 100').max(100, 'must be from 1 to 100'),
} as const

const FacetValueRef = builder.objectRef<FacetValue>('FacetValue').implement({
  description: 'A value of a filter.',
  fields: (t) => ({
    value: t.exposeString('value', { description: 'Value after the colon.' }),
    count: t.exposeInt('count', { description: 'Number of matching packages with this value.' }),
  }),
})

const FacetRef = builder.objectRef<Facet>('Facet').implement({
  description: 'A filter and its most frequent values.',
  fields: (t) => ({
    filter: t.exposeString('filter', { description: 'Name before the colon, such as `sdk` or `license`.' }),
    values: t.expose('values', { extensions: { size: 10 }, type: [FacetValueRef], description: 'Up to ten values, most frequent first.' }),
  }),
})

const FacetsRef = builder.objectRef<Facets>('SearchFacets').implement({
  description: 'Filter values that occur in the matching packages, with counts.',
  fields: (t) => ({
    facets: t.expose('facets', {
      extensions: { size: 8, cost: 20 },
      type: [FacetRef],
      description: 'Filters that can narrow the search. Values that all matches have are omitted, unless the query uses them.',
    }),
    isExact: t.exposeBoolean('isExact', { description: 'Whether all matches were counted. If false, only the first 1,000 were.' }),
  }),
})

const searchArguments = builder.args((t) => ({
  query: t.string({ description: 'Search query.', ...searchText }),
  orderBy: t.field({
    type: PackageSort,
    description: 'Sort order. Defaults to RELEVANCE, or to UPDATED for a query without words.',
    ...formerly('sort'),
  }),
  direction: t.field({
    type: OrderDirection,
    description: 'Direction of the order. Default: DESC, except ASC for NAME. RELEVANCE takes none: the best matches are always first.',
  }),
  offset: t.int({ description: 'Number of matches to skip, for page numbers. Cursors are cheaper.', validate: notNegative }),
}))

builder.queryField('searchPackages', (t) =>
  t.connection(
    {
      ...browseAccess,
      type: PackageRef,
      description:
        'Searches packages whose name, topics, description, README or public API contain all words, except words such as `the`. A blank query returns all packages. If hardly anything matches, the search corrects one letter of each unknown word; if nothing does, it leaves out the word that excludes most packages (`searchedFor`). Filters: `publisher:`, `uploader:`, `topic:`, `sdk:`, `platform:`, `license:`, `dependency:` and `is:` followed by a value, and `score:` followed by `>=`, `>`, `<=`, `<` or `=` and a percentage of passed checks from 0 to 100. A leading `-` excludes matches. Of the filters on pub.dev, `runtime:` finds the platforms of a runtime and `dependency*:` direct dependencies; `has:`, `show:` and `updated:` are left out (`searchedFor`).',
      args: searchArguments,
      resolve: (_root, { orderBy, ...args }, context) => findPage(context, { ...args, sort: orderBy }),
    },
    {
      name: 'PackageSearchConnection',
      description: 'A page of matching packages.',
      fields: (connection) => ({
        didYouMean: connection.stringList({
          extensions: { cost: 5, size: 10 },
          description: 'Similar package names, when the query as typed has no matches.',
          resolve: ({ didYouMean }) => didYouMean(),
        }),
        searchedFor: connection.exposeString('searchedFor', {
          nullable: true,
          description: 'The corrected query that was used instead, or null if the query was used as typed.',
        }),
        facets: connection.field({
          extensions: { cost: 20 },
          type: FacetsRef,
          description: 'Filters that could narrow the search, with counts.',
          resolve: ({ facets }) => facets(),
        }),
      }),
    },
    {
      name: 'PackageSearchEdge',
      description: 'A matching package.',
      fields: (edge) => ({
        score: edge.exposeFloat('score', { description: 'Relevance from 0 (unranked) to 1 (exact name match).' }),
        excerpt: edge.field(excerpt),
      }),
    },
  ),
)

builder.queryField('completePackageNames', (t) =>
  t.stringList({
    ...browseAccess,
    description: 'Package names that start with a prefix, in alphabetical order.',
    args: {
      query: t.arg.string({ required: true, description: 'Beginning of the name.', extensions: { maxLength: 64, formerName: 'prefix' } }),
      first: t.arg.int(resultLimit),
    },
    resolve: (_root, { query, first }, context) => completeNames(context.database, searcherOf(context), query.toLowerCase(), first),
  }),
)

builder.queryField('similarPackageNames', (t) =>
  t.stringList({
    ...browseAccess,
    extensions: { cost: 5, size: 3 },
    description: 'Up to three package names that differ from a name by few letters, nearest first. For pages of missing packages.',
    args: { name: t.arg.string({ required: true, description: 'The name.', extensions: { maxLength: 64 } }) },
    resolve: async (_root, { name }, { database, ...caller }) => {
      const found = await suggestNames(database, name.toLowerCase(), reachOf(searcherOf(caller)))
      return found.filter((similar) => similar !== name)
    },
  }),
)

const CompletionRef = builder.objectRef<Completion>('SearchCompletion').implement({
  description: 'A completion of a query.',
  fields: (t) => ({
    query: t.exposeString('query', { description: 'The whole completed query.' }),
    label: t.exposeString('label', { description: 'The added text, or the package name.' }),
    count: t.exposeInt('count', { nullable: true, description: 'Number of matching packages, if known.' }),
    isPackage: t.boolean({
      description: 'Whether the completion is a package name rather than a filter.',
      resolve: ({ isPackage }) => isPackage === true,
    }),
  }),
})

builder.queryField('completeSearch', (t) =>
  t.field({
    ...browseAccess,
    type: [CompletionRef],
    description: 'Completions for an unfinished query: filters, filter values and package names.',
    args: {
      query: t.arg.string({ required: true, description: 'The unfinished query.', ...searchText }),
      first: t.arg.int(resultLimit),
    },
    resolve: (_root, { query, first }, context) => completeQuery(context.database, searcherOf(context), query, first),
  }),
)

export const searcherOf = ({ viewer, scopes }: Pick<Context, 'viewer' | 'scopes'>): Searcher => viewer && { id: viewer.id, scopes }

type SearchArguments = PageArguments & Omit<SearchRequest, 'limit' | 'searcher' | 'here'>

async function findPage(context: Context, { first, ...request }: SearchArguments) {
  const { matches, hasNextPage, terms, ...counts } = await searchPackages(context.database, {
    ...request,
    searcher: searcherOf(context),
    here: context.config,
    limit: pageSizeOf({ first }),
  })
  const packages = new Map((await context.em.find(Package, { id: { $in: matches.map(({ id }) => id) } })).map((pkg) => [pkg.id, pkg]))
  // Skip packages that were deleted between the search and this read.
  const edges = matches.flatMap(({ id, cursor, score }) => {
    const node = packages.get(id)
    return node ? [{ cursor, node, score, terms }] : []
  })
  const hasPreviousPage = Boolean(request.after) || (request.offset ?? 0) > 0
  return {
    edges,
    ...counts,
    pageInfo: { hasNextPage, hasPreviousPage, startCursor: edges[0]?.cursor ?? null, endCursor: edges.at(-1)?.cursor ?? null },
  }
}
