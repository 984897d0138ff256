import { z } from 'zod'
import { builder } from '../builder.ts'
import { pageSizeOf } from '../connections.ts'
import type { Context } from '../context.ts'
import { Package } from '../packages/entity.ts'
import { PackageRef } from '../packages/refs.ts'
import { completeNames, searchPackages, type SearchRequest, type SearchSort } from './service.ts'

export const PackageSort = builder.enumType('PackageSort', {
  description: 'How to sort packages.',
  values: {
    RELEVANCE: { value: 'relevance', description: 'The best match first.' },
    UPDATED: { value: 'updated', description: 'What changed last first.' },
    CREATED: { value: 'created', description: 'The newest package first.' },
    DOWNLOADS: { value: 'downloads', description: 'What was downloaded most in the last thirty days first.' },
    LIKES: { value: 'likes', description: 'What most people like first.' },
    NAME: { value: 'name', description: 'By name.' },
  } satisfies Record<string, { value: SearchSort; description: string }>,
})

/** What was typed into a search box; longer texts are no search. */
const searchText = z.string().max(1000, 'must be at most 1000 characters long').nullish()

builder.queryField('searchPackages', (t) =>
  t.connection(
    {
      skipTypeScopes: true,
      authScopes: { browse: true },
      type: PackageRef,
      description:
        'Packages whose name, description, topics or readme fit; all packages for a blank query. `publisher:`, `uploader:`, `topic:`, `sdk:`, `platform:`, `license:`, `dependency:` and `is:` before a word filter, `-` before them excludes.',
      args: {
        query: t.arg.string({ description: 'What to look for, as typed.', validate: searchText }),
        sort: t.arg({ type: PackageSort, description: 'Order; RELEVANCE when left out, UPDATED for a query without words.' }),
        offset: t.arg.int({
          description: 'Skip this many, for page numbers; cursors are cheaper.',
          validate: z.int().min(0, 'must not be negative').nullish(),
        }),
      },
      resolve: (_root, args, context) => findPage(context, args),
    },
    {
      description: 'A page of packages that fit.',
      fields: (connection) => ({
        didYouMean: connection.stringList({
          description: 'Names of packages that the query may have meant, when it found nothing.',
          resolve: ({ didYouMean }) => didYouMean(),
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
    skipTypeScopes: true,
    authScopes: { browse: true },
    description: 'The first package names that begin so, in order.',
    args: {
      prefix: t.arg.string({
        required: true,
        description: 'The beginning of a name.',
        validate: z.string().max(64, 'must be at most 64 characters long'),
      }),
      first: t.arg.int({
        required: true,
        description: 'How many at most, 1 to 100.',
        validate: z.int().min(1, 'must be from 1 to 100').max(100, 'must be from 1 to 100'),
      }),
    },
    resolve: (_root, { prefix, first }, { database, viewer }) => completeNames(database, viewer, prefix.toLowerCase(), first),
  }),
)

type SearchArguments = Parameters<typeof pageSizeOf>[0] & Omit<SearchRequest, 'limit' | 'audience'>

async function findPage({ database, em, viewer }: Context, { first, last, before, ...request }: SearchArguments) {
  const { matches, hasNextPage, ...counts } = await searchPackages(database, {
    ...request,
    audience: viewer,
    limit: pageSizeOf({ first, last, before }),
  })
  const packages = new Map((await em.find(Package, { id: { $in: matches.map(({ id }) => id) } })).map((pkg) => [pkg.id, pkg]))
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
