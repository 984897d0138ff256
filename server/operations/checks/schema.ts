import { builder } from '../../platform/graphql/builder.ts'
import type { Check } from './cached-check.ts'
import { checkHealth, type Health } from './service.ts'

const HealthStatus = builder.enumType('HealthStatus', {
  description: 'Health of the server.',
  values: {
    OK: { value: 'ok', description: 'Every component works.' },
    DEGRADED: { value: 'degraded', description: 'At least one component fails.' },
  },
})

const CheckStatus = builder.enumType('HealthCheckStatus', {
  description: 'Health of a component.',
  values: {
    OK: { value: 'ok', description: 'The component works.' },
    ERROR: { value: 'error', description: 'The component fails.' },
    INITIALIZING: { value: 'initializing', description: 'The component is being initialized.' },
  },
})

const HealthCheck = builder.objectRef<Check>('HealthCheck').implement({
  description: 'Result of the health check of a component.',
  fields: (t) => ({
    status: t.expose('status', { type: CheckStatus, description: 'Health of the component.' }),
    latencyMs: t.exposeFloat('latencyMs', { description: 'Duration of the check, in milliseconds.' }),
    message: t.string({ nullable: true, description: 'Error message, if the check failed.', resolve: (check) => check.message ?? null }),
  }),
})

const HealthRef = builder.objectRef<Health>('Health').implement({
  description: 'Health of the server and its components.',
  fields: (t) => ({
    status: t.expose('status', { type: HealthStatus, description: 'Overall status.' }),
    metadataStore: t.field({ type: HealthCheck, description: 'The database.', resolve: ({ checks }) => checks.metadata_store }),
    blobStore: t.field({ type: HealthCheck, description: 'The archive store.', resolve: ({ checks }) => checks.blob_store }),
    searchIndex: t.field({ type: HealthCheck, description: 'The search index.', resolve: ({ checks }) => checks.search_index }),
    version: t.exposeString('version', { description: 'Version of the server.' }),
    timestamp: t.expose('timestamp', { type: 'DateTime', description: 'Time of the checks.' }),
  }),
})

builder.queryField('health', (t) =>
  t.field({
    type: HealthRef,
    description: 'Health of the server and its components.',
    skipTypeScopes: true,
    extensions: { beforeSetup: true },
    resolve: (_root, _args, context) => checkHealth(context),
  }),
)
