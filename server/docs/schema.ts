import type { Context } from '../access/context.ts'
import { builder } from '../graphql/builder.ts'
import { publicUrl } from '../http/public-url.ts'
import { ofPublicVersion, PackageVersionRef } from '../packages/refs.ts'
import { loadPackage } from '../packages/service.ts'
import { loadScoringSettings } from '../settings/scoring.ts'
import type { PackageVersion } from '../packages/entity.ts'
import { type KnownDocs, loadAwaited, loadDocs, type ShownState, stateOf } from './service.ts'
import { generatesDocs } from './switch.ts'

type ApiDocumentation = { state: ShownState; url: string | null; docs: KnownDocs | null }

const StateRef = builder.enumType('DocumentationState', {
  description: 'How far the API documentation of a version is.',
  values: {
    DISABLED: { value: 'disabled', description: 'This server generates none.' },
    NOT_ANALYZED: { value: 'not_analyzed', description: 'It was not asked for yet.' },
    PENDING: { value: 'pending', description: 'It is about to be generated.' },
    RUNNING: { value: 'running', description: 'It is being generated.' },
    COMPLETED: { value: 'completed', description: 'It is there.' },
    FAILED: { value: 'failed', description: 'It could not be generated; `error` says why.' },
  } satisfies Record<Uppercase<ShownState>, { value: ShownState; description: string }>,
})

const ApiDocumentationRef = builder.objectRef<ApiDocumentation>('ApiDocumentation').implement({
  description: 'The generated API documentation of a version. Earlier pages stay while newer ones are generated.',
  fields: (t) => ({
    state: t.expose('state', { type: StateRef, description: 'How far it is.' }),
    url: t.expose('url', { type: 'URL', nullable: true, description: 'Where the pages are; null while there are none.' }),
    engine: t.string({
      nullable: true,
      description: 'What made the pages: `built-in` or `dartdoc`; null while there are none.',
      resolve: ({ docs }) => docs?.engine ?? null,
    }),
    engineVersion: t.string({ nullable: true, description: 'The version of that.', resolve: ({ docs }) => docs?.engineVersion ?? null }),
    generatedAt: t.field({
      type: 'DateTime',
      nullable: true,
      description: 'When the pages were made.',
      resolve: ({ docs }) => docs?.generatedAt ?? null,
    }),
    pages: t.int({ description: 'How many pages there are.', resolve: ({ docs }) => docs?.pages ?? 0 }),
    error: t.string({ nullable: true, description: 'Why the last attempt failed.', resolve: ({ docs }) => docs?.error ?? null }),
  }),
})

builder.objectField(PackageVersionRef, 'apiDocumentation', (t) =>
  t.field({
    ...ofPublicVersion,
    type: ApiDocumentationRef,
    description: 'The generated API documentation, and how far it is.',
    resolve: documentationOf,
  }),
)

async function documentationOf(version: PackageVersion, _args: object, context: Context): Promise<ApiDocumentation> {
  const { id } = version
  const [docs, settings, isAwaited] = await Promise.all([loadDocs(context, id), loadScoringSettings(context), loadAwaited(context, id)])
  const state = stateOf(docs, generatesDocs(settings), isAwaited ?? false)
  if (docs?.sha256 == null) return { state, url: null, docs }
  const pkg = await loadPackage(context, version.package.id)
  const base = publicUrl(context.request, context.config.SERVER_URL)
  return { state, url: `${base}/documentation/${pkg?.name ?? ''}/${encodeURIComponent(version.version)}/`, docs }
}
