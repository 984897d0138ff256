import { z } from 'zod'
import { builder } from '../graphql/builder.ts'
import { notNegative, type PageArguments, pageSizeOf } from '../graphql/connections.ts'
import type { Context } from '../access/context.ts'
import { Package } from '../packages/entity.ts'
import { PackageRef } from '../packages/refs.ts'
import type { Completion, Facet, Facets, FacetValue } from './facets.ts'
import type { Searcher } from './selection.ts'
import { completeNames, completeQuery, searchPackages, type SearchRequest, type SearchSort } from './service.ts'

export const PackageSort = builder.enumType('PackageSort', {
  description: 'How to sort packages.',
  values: {
    RELEVANCE: { value: 'relevance', description: 'Best match first.' },
    UPDATED: { value: 'updated', description: 'Most recently changed first.' },
    CREATED: { value: 'created', description: 'Newest package first.' },
    DOWNLOADS: { value: 'downloads', description: 'Most downloads in the last thirty days first.' },
    LIKES: { value: 'likes', description: 'Most likes first.' },
    SCORE: { value: 'score', description: 'Highest share of points first; packages without a score last.' },
    NAME: { value: 'name', description: 'By name.' },
  } satisfies Record<string, { value: SearchSort; description: string }>,
})

/** Members find all listed packages, anybody else public ones, where and while the server lets anybody browse. */
const forWhoeverMayBrowse = { skipTypeScopes: true, authScopes: { browse: true } } as const

/** What was typed into a search box. */
const searchText = { extensions: { maxLength: 1000 } }

const FacetValueRef = builder.objectRef<FacetValue>('FacetValue').implement({
  description: 'A value of a filter.',
  fields: (t) => ({
    value: t.exposeString('value', { description: 'What follows the colon.' }),
    count: t.exposeInt('count', { description: 'How many of the packages found have it.' }),
  }),
})

const FacetRef = builder.objectRef<Facet>('Facet').implement({
  description: 'A filter and its most frequent values.',
  fields: (t) => ({
    filter: t.exposeString('filter', { description: 'What precedes the colon, such as `sdk` or `license`.' }),
    values: t.expose('values', {
      extensions: { size: 10 },
      type: [FacetValueRef],
      description: 'The values, the most frequent first, at most ten.',
    }),
  }),
})

const FacetsRef = builder.objectRef<Facets>('SearchFacets').implement({
  description: 'What the packages found have in common.',
  fields: (t) => ({
    facets: t.expose('facets', {
      extensions: { size: 8, cost: 20 },
      type: [FacetRef],
      description: 'The filters that say something about them.',
    }),
    isExact: t.exposeBoolean('isExact', { description: 'Whether all were counted; when not, the first 1,000 were.' }),
  }),
})

const searchArguments = builder.args((t) => ({
  query: t.string({ description: 'What to look for, as typed.', ...searchText }),
  sort: t.field({ type: PackageSort, description: 'Order; RELEVANCE when left out, UPDATED for a query without words.' }),
  offset: t.int({ description: 'Skip this many, for page numbers; cursors are cheaper.', validate: notNegative }),
}))

builder.queryField('searchPackages', (t) =>
  t.connection(
    {
      ...forWhoeverMayBrowse,
      type: PackageRef,
      description:
        'Packages whose name, topics, description, README or public API has all words; all packages for a blank query. A word that is unknown may be searched for with a letter corrected (`searchedFor`). `publisher:`, `uploader:`, `topic:`, `sdk:`, `platform:`, `license:`, `dependency:` and `is:` before a word filter, `score:` before a number from 0 to 100 with `>=`, `>`, `<=`, `<` or `=` filters by the share of points; `-` before them excludes.',
      args: searchArguments,
      resolve: (_root, args, context) => findPage(context, args),
    },
    {
      description: 'A page of packages that fit.',
      fields: (connection) => ({
        didYouMean: connection.stringList({
          extensions: { cost: 5, size: 10 },
          description: 'Names of packages that the query may have meant, when it found nothing as typed.',
          resolve: ({ didYouMean }) => didYouMean(),
        }),
        searchedFor: connection.exposeString('searchedFor', {
          nullable: true,
          description: 'The query that was searched for instead, with a typing mistake corrected; null when it was searched for as typed.',
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
      description: 'A package that fits.',
      fields: (edge) => ({
        score: edge.float({
          description: 'How well it fits: from 0, when nothing was ranked, to 1 for the very name.',
          resolve: ({ score }) => score,
        }),
      }),
    },
  ),
)

builder.queryField('completePackageNames', (t) =>
  t.stringList({
    ...forWhoeverMayBrowse,
    description: 'The first package names that begin so, in order.',
    args: {
      prefix: t.arg.string({
        required: true,
        description: 'The beginning of a name.',
        extensions: { maxLength: 64 },
      }),
      first: t.arg.int({
        required: true,
        description: 'How many at most, 1 to 100.',
        validate: z.int().min(1, 'must be from 1 to 100').max(100, 'must be from 1 to 100'),
      }),
    },
    resolve: (_root, { prefix, first }, context) => completeNames(context.database, searcherOf(context), prefix.toLowerCase(), first),
  }),
)

const CompletionRef = builder.objectRef<Completion>('SearchCompletion').implement({
  description: 'A completion of a query.',
  fields: (t) => ({
    query: t.exposeString('query', { description: 'The whole query, with it.' }),
    label: t.exposeString('label', { description: 'What is added, or the name of a package.' }),
    count: t.exposeInt('count', { nullable: true, description: 'Number of matching packages, where that is known.' }),
    isPackage: t.boolean({ description: 'Whether it is a package; else it is a filter.', resolve: ({ isPackage }) => isPackage === true }),
  }),
})

builder.queryField('completeSearch', (t) =>
  t.field({
    ...forWhoeverMayBrowse,
    type: [CompletionRef],
    description: 'Completions of a query that is being typed: filters, their values, names of packages.',
    args: {
      query: t.arg.string({
        required: true,
        description: 'As typed so far.',
        ...searchText,
      }),
      first: t.arg.int({
        required: true,
        description: 'How many at most, 1 to 100.',
        validate: z.int().min(1, 'must be from 1 to 100').max(100, 'must be from 1 to 100'),
      }),
    },
    resolve: (_root, { query, first }, context) => completeQuery(context.database, searcherOf(context), query, first),
  }),
)

const searcherOf = ({ viewer, scopes }: Context): Searcher => viewer && { id: viewer.id, scopes }

type SearchArguments = PageArguments & Omit<SearchRequest, 'limit' | 'searcher'>

async function findPage(context: Context, { first, last, before, ...request }: SearchArguments) {
  const { matches, hasNextPage, ...counts } = await searchPackages(context.database, {
    ...request,
    searcher: searcherOf(context),
    limit: pageSizeOf({ first, last, before }),
  })
  const packages = new Map((await context.em.find(Package, { id: { $in: matches.map(({ id }) => id) } })).map((pkg) => [pkg.id, pkg]))
  // A package that was deleted between the two reads is left out.
  const edges = matches.flatMap(({ id, cursor, score }) => {
    const node = packages.get(id)
    return node ? [{ cursor, node, score }] : []
  })
  const hasPreviousPage = Boolean(request.after) || (request.offset ?? 0) > 0
  return {
    edges,
    ...counts,
    pageInfo: { hasNextPage, hasPreviousPage, startCursor: edges[0]?.cursor ?? null, endCursor: edges.at(-1)?.cursor ?? null },
  }
}
