import { builder } from '../../../platform/graphql/builder.ts'
import { notNegative, type PageArguments, pageSizeOf } from '../../../platform/graphql/connections.ts'
import type { Context } from '../../../platform/access/context.ts'
import { Package } from '../../packages/entity.ts'
import { PackageRef } from '../../packages/refs.ts'
import { readRank, writeCursor } from '../listing.ts'
import { browseAccess, searcherOf, searchText } from '../schema.ts'
import type { SymbolKind } from './outline.ts'
import { findSymbols, type FoundSymbol, maxSymbols } from './service.ts'

const SymbolKindEnum = builder.enumType('ApiSymbolKind', {
  description: 'Kinds of symbols in a public API.',
  values: {
    CLASS: { value: 'class', description: 'A class.' },
    MIXIN: { value: 'mixin', description: 'A mixin.' },
    EXTENSION: { value: 'extension', description: 'An extension.' },
    EXTENSION_TYPE: { value: 'extension type', description: 'An extension type.' },
    ENUM: { value: 'enum', description: 'An enum.' },
    TYPEDEF: { value: 'typedef', description: 'A name for a type.' },
    FUNCTION: { value: 'function', description: 'A function of a library.' },
    VARIABLE: { value: 'variable', description: 'A variable of a library.' },
    CONSTANT: { value: 'constant', description: 'A constant of a library or a type.' },
    GETTER: { value: 'getter', description: 'A getter of a library or a type.' },
    SETTER: { value: 'setter', description: 'A setter of a library or a type.' },
    CONSTRUCTOR: { value: 'constructor', description: 'A named constructor.' },
    METHOD: { value: 'method', description: 'A method.' },
    FIELD: { value: 'field', description: 'A field of a type.' },
    ENUM_VALUE: { value: 'enum value', description: 'A value of an enum.' },
  } satisfies Record<string, { value: SymbolKind; description: string }>,
})

type SymbolNode = FoundSymbol & { pkg: Package }

const SymbolRef = builder.objectRef<SymbolNode>('ApiSymbol').implement({
  description: 'A declaration in the public API of the latest version of a package, or a member of one.',
  fields: (t) => ({
    name: t.exposeString('name', { description: 'The name. Named constructors have the part after the dot.' }),
    kind: t.expose('kind', { type: SymbolKindEnum, description: 'The kind.' }),
    parent: t.exposeString('parent', {
      nullable: true,
      description: 'The type that declares the member; null for declarations of a library.',
    }),
    library: t.exposeString('library', { description: 'Path below `lib/` of a library that exports the symbol, such as `dio.dart`.' }),
    version: t.string({ description: 'The latest version of the package.', resolve: ({ pkg }) => pkg.latestVersion }),
    package: t.field({ type: PackageRef, description: 'The package.', resolve: ({ pkg }) => pkg }),
  }),
})

builder.queryField('searchSymbols', (t) =>
  t.connection(
    {
      ...browseAccess,
      type: SymbolRef,
      description: `Searches the public APIs of the latest versions of packages for types, functions and members. Finds whole names and beginnings of their words: \`RetryPolicy\`, \`retry\`, \`policy\` and \`RetPol\` find the class \`RetryPolicy\`. Of two words, such as \`copyWith User\` or \`User.copyWith\`, one may be the type or the package. Exact names come first, then types, functions and members, popular packages first. Returns the best ${maxSymbols} matches at most. Versions that were not analyzed yet are left out.`,
      args: builder.args((arg) => ({
        query: arg.string({ description: 'Search query. A blank query finds nothing.', ...searchText }),
        offset: arg.int({ description: 'Number of matches to skip, for page numbers.', validate: notNegative }),
      })),
      resolve: (_root, args, context) => findPage(context, args),
    },
    { name: 'ApiSymbolConnection', description: 'A page of matching symbols.' },
    { name: 'ApiSymbolEdge', description: 'A matching symbol.' },
  ),
)

async function findPage(
  context: Context,
  { query, after, first, offset }: PageArguments & { query?: string | null | undefined; offset?: number | null | undefined },
) {
  const { database, em } = context
  const searcher = searcherOf(context)
  const size = pageSizeOf({ first })
  const words = query ?? ''
  const skipped = (offset ?? 0) + (after ? readRank(after) : 0)
  const { symbols: found, isComplete } = await findSymbols(database, searcher, words, skipped + size + 1)
  const page = found.slice(skipped, skipped + size)
  const ids = [...new Set(page.map(({ packageId }) => packageId))]
  const packages = new Map((await em.find(Package, { id: { $in: ids } })).map((pkg) => [pkg.id, pkg]))
  // Skip packages that were deleted between the search and this read.
  const edges = page.flatMap((symbol, index) => {
    const pkg = packages.get(symbol.packageId)
    return pkg ? [{ cursor: writeCursor(skipped + index + 1), node: { ...symbol, pkg } }] : []
  })
  return {
    edges,
    totalCount: async () => (isComplete ? found : (await findSymbols(database, searcher, words, maxSymbols)).symbols).length,
    pageInfo: {
      hasNextPage: found.length > skipped + size,
      hasPreviousPage: skipped > 0,
      startCursor: edges[0]?.cursor ?? null,
      endCursor: edges.at(-1)?.cursor ?? null,
    },
  }
}
