import { wordEnum } from '../../platform/graphql/payload.ts'
import type { Context } from '../../platform/access/context.ts'
import { builder } from '../../platform/graphql/builder.ts'
import { publicUrl } from '../../platform/http/public-url.ts'
import { ofPublicVersion, PackageVersionRef } from '../../registry/packages/refs.ts'
import { loadPackage } from '../../registry/packages/service.ts'
import { loadScoringSettings } from '../../platform/settings/scoring.ts'
import type { PackageVersion } from '../../registry/packages/entity.ts'
import { type KnownDocs, loadAwaited, loadDocs, type ShownState, shownState, generatesDocs } from './service.ts'

type ApiDocumentation = { state: ShownState; url: string | null; docs: KnownDocs | null }

const StateRef = wordEnum<ShownState>('DocumentationState', 'State of the API documentation of a version.', {
  disabled: 'This server does not generate documentation.',
  not_analyzed: 'Not requested yet.',
  pending: 'Waiting to be generated.',
  running: 'Being generated.',
  completed: 'Generated.',
  failed: 'The last attempt failed; see `error`.',
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
  if (docs?.sha256 == null) return { state, url: null, docs }
  const pkg = await loadPackage(context, version.package.id)
  const base = publicUrl(context.request, context.config.SERVER_URL)
  return { state, url: `${base}/documentation/${pkg?.name ?? ''}/${encodeURIComponent(version.version)}/`, docs }
}
