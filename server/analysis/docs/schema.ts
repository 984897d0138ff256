import { wordEnum } from '../../platform/graphql/payload.ts'
import type { Context } from '../../platform/access/context.ts'
import { builder } from '../../platform/graphql/builder.ts'
import { publicUrl } from '../../platform/http/public-url.ts'
import { ofPublicVersion, PackageVersionRef } from '../../registry/packages/refs.ts'
import { loadPackage } from '../../registry/packages/service.ts'
import { loadScoringSettings } from '../../platform/settings/scoring.ts'
import type { PackageVersion } from '../../registry/packages/entity.ts'
import type { Section } from '../api-pages/page.ts'
import type { ListedLibrary, LocatedDeclaration } from '../api-pages/symbols.ts'
import { type Documented, findApiPage, type FoundPage, listDeclarations, listLibraries } from './api-page.ts'
import { type KnownDocs, loadAwaited, loadDocs, type ShownState, shownState, generatesDocs } from './service.ts'

type ApiDocumentation = { state: ShownState; url: string | null; docs: KnownDocs | null; of: Documented | null }

const StateRef = wordEnum<ShownState>('DocumentationState', 'State of the API documentation of a version.', {
  disabled: 'This server does not generate documentation.',
  not_analyzed: 'Not requested yet.',
  pending: 'Waiting to be generated.',
  running: 'Being generated.',
  completed: 'Generated.',
  failed: 'The last attempt failed; see `error`.',
})

const SectionRef = builder.objectRef<Section>('ApiPageSection').implement({
  description: 'A section of a page of API documentation.',
  fields: (t) => ({
    id: t.exposeString('id', { description: 'Id of the element in `html`.' }),
    label: t.exposeString('label', { description: 'Heading.' }),
    entries: t.field({
      type: [EntryRef],
      extensions: { size: 20 },
      description: 'The members in the section.',
      resolve: ({ entries }) => entries,
    }),
  }),
})

const EntryRef = builder.objectRef<Section['entries'][number]>('ApiPageEntry').implement({
  description: 'A member on a page of API documentation.',
  fields: (t) => ({
    id: t.exposeString('id', { description: 'Id of the element in `html`: `api-` and the fragment of its address.' }),
    label: t.exposeString('label', { description: 'Name.' }),
  }),
})

type Located = { name: string; path: string; anchor: string | null }

const addressFields = <T extends Located>(t: FieldsOf<T>) => ({
  name: t.string({ description: 'Name.', resolve: ({ name }) => name }),
  path: t.string({ description: 'Path of the page, as in `page`.', resolve: ({ path }) => path }),
  anchor: t.string({ nullable: true, description: 'Fragment on the page. Null for the page itself.', resolve: ({ anchor }) => anchor }),
})
type FieldsOf<T> = Parameters<NonNullable<Parameters<ReturnType<typeof builder.objectRef<T>>['implement']>[0]['fields']>>[0]

const LibraryRef = builder.objectRef<ListedLibrary>('ApiLibrary').implement({
  description: 'A library in the API documentation.',
  fields: (t) => ({
    ...addressFields<ListedLibrary>(t),
    declarations: t.field({
      type: [DeclarationRef],
      extensions: { size: 30 },
      description: 'The declarations that are documented in this library, by name.',
      resolve: ({ declarations }) => declarations,
    }),
  }),
})

type ListedDeclaration = ListedLibrary['declarations'][number]
const DeclarationRef = builder.objectRef<ListedDeclaration>('ApiDeclaration').implement({
  description: 'A declaration in the API documentation.',
  fields: (t) => ({
    ...addressFields<ListedDeclaration>(t),
    kind: t.exposeString('kind', { description: 'Kind, such as `class` or `function`.' }),
    isDeprecated: t.exposeBoolean('isDeprecated', { description: 'Whether it is deprecated.' }),
  }),
})

const LocatedRef = builder.objectRef<LocatedDeclaration>('ApiLocation').implement({
  description: 'A declaration or member at a line of a file.',
  fields: (t) => ({
    ...addressFields<LocatedDeclaration>(t),
    line: t.exposeInt('line', { description: 'Line, from 1.' }),
  }),
})

const PageRef = builder.objectRef<FoundPage & { url: string }>('ApiPage').implement({
  description: 'A page of API documentation.',
  fields: (t) => ({
    path: t.exposeString('path', { description: 'Path of the page.' }),
    anchor: t.exposeString('anchor', {
      nullable: true,
      description: 'Fragment of the declaration on the page, if it has no page of its own.',
    }),
    isExact: t.exposeBoolean('isExact', { description: 'Whether the argument names this page or a declaration on it.' }),
    url: t.expose('url', { type: 'URL', description: 'URL of the page.' }),
    title: t.string({
      nullable: true,
      description: 'Name of the declaration, library or package.',
      resolve: ({ content }) => content?.title ?? null,
    }),
    kind: t.string({
      nullable: true,
      description: 'Kind of the declaration, or `library` or `package`.',
      resolve: ({ content }) => content?.kind ?? null,
    }),
    libraryName: t.string({
      nullable: true,
      description: 'Name of the library. Null for the overview.',
      resolve: ({ content }) => content?.library?.name ?? null,
    }),
    libraryPath: t.string({
      nullable: true,
      description: 'Path of the page of the library. Null for the overview.',
      resolve: ({ content }) => content?.library?.path ?? null,
    }),
    sections: t.field({
      type: [SectionRef],
      extensions: { size: 10 },
      description: 'Table of contents.',
      resolve: ({ content }) => content?.contents ?? [],
    }),
    html: t.string({
      nullable: true,
      description: 'Content as sanitized HTML. Null for pages of dartdoc, which are at `url`.',
      resolve: ({ content }) => content?.html ?? null,
    }),
  }),
})

const ApiDocumentationRef = builder.objectRef<ApiDocumentation>('ApiDocumentation').implement({
  description: 'The generated API documentation of a version. Existing pages stay available while newer ones are generated.',
  fields: (t) => ({
    state: t.expose('state', { type: StateRef, description: 'State of the documentation.' }),
    url: t.expose('url', { type: 'URL', nullable: true, description: 'URL of the pages. Null without pages.' }),
    engine: t.string({
      nullable: true,
      description: 'Generator of the pages: `built-in` or `dartdoc`. Null without pages.',
      resolve: ({ docs }) => docs?.engine ?? null,
    }),
    engineVersion: t.string({
      nullable: true,
      description: 'Version of the generator.',
      resolve: ({ docs }) => docs?.engineVersion ?? null,
    }),
    generatedAt: t.field({
      type: 'DateTime',
      nullable: true,
      description: 'When the pages were generated.',
      resolve: ({ docs }) => docs?.generatedAt ?? null,
    }),
    pages: t.int({ description: 'Number of pages.', resolve: ({ docs }) => docs?.pages ?? 0 }),
    error: t.string({ nullable: true, description: 'Why the last attempt failed.', resolve: ({ docs }) => docs?.error ?? null }),
  }),
})

builder.objectFields(ApiDocumentationRef, (t) => ({
  page: t.field({
    type: PageRef,
    nullable: true,
    extensions: { cost: 100 },
    description: 'A page, or the nearest page above it that exists. Null without pages.',
    args: {
      path: t.arg.string({
        required: true,
        description: 'A library, such as `shapes`, or a declaration in it, such as `shapes/Circle/area`. Empty for the overview.',
      }),
    },
    resolve: async ({ of }, { path }, context) => {
      const found = of && (await findApiPage(context, of, path))
      return found && { ...found, url: addressOf(context, of, found.content !== null, found.path) }
    },
  }),
  libraries: t.field({
    type: [LibraryRef],
    extensions: { cost: 100, size: 5 },
    description: 'The libraries. Empty without pages, and for pages of dartdoc.',
    resolve: async ({ of }, _args, context) => (of && (await listLibraries(context, of))) ?? [],
  }),
  declarations: t.field({
    type: [LocatedRef],
    extensions: { cost: 50, size: 100 },
    description: 'The documented declarations of a file, by line. Empty without pages, and for pages of dartdoc.',
    args: { file: t.arg.string({ required: true, description: 'Path in the archive, such as `lib/main.dart`.' }) },
    resolve: async ({ of }, { file }, context) => (of && (await listDeclarations(context, of, file))) ?? [],
  }),
}))

builder.objectField(PackageVersionRef, 'apiDocumentation', (t) =>
  t.field({
    ...ofPublicVersion,
    type: ApiDocumentationRef,
    description: 'The generated API documentation and its state.',
    resolve: documentationOf,
  }),
)

async function documentationOf(version: PackageVersion, _args: object, context: Context): Promise<ApiDocumentation> {
  const { id } = version
  const [docs, settings, isAwaited] = await Promise.all([loadDocs(context, id), loadScoringSettings(context), loadAwaited(context, id)])
  const state = shownState(docs, generatesDocs(settings), isAwaited ?? false)
  if (docs?.sha256 == null) return { state, url: null, docs, of: null }
  const pkg = await loadPackage(context, version.package.id)
  const of = { name: pkg?.name ?? '', version: version.version, packed: { sha256: docs.sha256, bytes: docs.bytes } }
  return { state, url: addressOf(context, of, docs.engine !== 'dartdoc', ''), docs, of }
}

/** Returns the URL of a page. Pages that the console does not show, such as those of dartdoc, have an origin of their own. */
function addressOf({ request, config }: Context, { name, version }: Documented, isInConsole: boolean, path: string): string {
  const [base, encoded] = [publicUrl(request, config.SERVER_URL), encodeURIComponent(version)]
  const page = path.split('/').map(encodeURIComponent).join('/')
  if (!isInConsole) return `${base}/documentation/${name}/${encoded}/${page}`
  return `${base}/packages/${name}/versions/${encoded}/api${page && `/${page}`}`
}
