import { builder } from '../graphql/builder.ts'
import { type Check, checkHealth, type Health } from './service.ts'

const HealthStatus = builder.enumType('HealthStatus', {
  description: 'Whether the server works.',
  values: {
    OK: { value: 'ok', description: 'Every component works.' },
    DEGRADED: { value: 'degraded', description: 'At least one component fails.' },
  },
})

const CheckStatus = builder.enumType('HealthCheckStatus', {
  description: 'Whether a component works.',
  values: {
    OK: { value: 'ok', description: 'It works.' },
    ERROR: { value: 'error', description: 'It fails.' },
    INITIALIZING: { value: 'initializing', description: 'It is getting ready.' },
  },
})

const HealthCheck = builder.objectRef<Check>('HealthCheck').implement({
  description: 'How a component answered.',
  fields: (t) => ({
    status: t.expose('status', { type: CheckStatus, description: 'Whether it works.' }),
    latencyMs: t.exposeFloat('latencyMs', { description: 'How long it took, in milliseconds.' }),
    message: t.string({ nullable: true, description: 'What is wrong, if anything.', resolve: (check) => check.message ?? null }),
  }),
})

const HealthRef = builder.objectRef<Health>('Health').implement({
  description: 'Whether the server and its components work.',
  fields: (t) => ({
    status: t.expose('status', { type: HealthStatus, description: 'Overall status.' }),
    metadataStore: t.field({ type: HealthCheck, description: 'The database.', resolve: ({ checks }) => checks.metadata_store }),
    blobStore: t.field({ type: HealthCheck, description: 'Where the archives are.', resolve: ({ checks }) => checks.blob_store }),
    searchIndex: t.field({ type: HealthCheck, description: 'The search index.', resolve: ({ checks }) => checks.search_index }),
    version: t.exposeString('version', { description: 'Version of the server.' }),
    timestamp: t.expose('timestamp', { type: 'DateTime', description: 'When the checks ran.' }),
  }),
})

builder.queryField('health', (t) =>
  t.field({
    type: HealthRef,
    description: 'Whether the server and its components work.',
    skipTypeScopes: true,
    extensions: { beforeSetup: true },
    resolve: (_root, _args, context) => checkHealth(context),
  }),
)
