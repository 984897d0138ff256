import { builder } from '../../platform/graphql/builder.ts'
import { wordEnum } from '../../platform/graphql/payload.ts'
import { relyingParty } from '../../accounts/factors/challenges.ts'
import { ServerRef } from './refs.ts'
import type { Check } from './cached-check.ts'
import { checkHealth, clocksOf, type Health, requestFacts, describeSettings, storageOf } from './service.ts'
import { canActAsOwner, holdsScope } from '../../platform/access/policy.ts'
import { publicUrl } from '../../platform/http/public-url.ts'
import { canReadMirror } from '../../registry/mirror/access.ts'
import { version } from '../../platform/config/version.ts'

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

const SecondFactorPolicy = wordEnum('SecondFactorPolicy', 'Who must have a second factor.', {
  off: 'No user.',
  admins: 'Administrators and the owner.',
  all: 'All users.',
})

builder.objectType(ServerRef, {
  description: 'This server.',
  fields: (t) => ({
    version: t.string({ description: 'Version of the server.', resolve: () => version }),
    url: t.field({
      type: 'URL',
      description: 'Public URL of the server, as package clients use it.',
      resolve: (_server, _args, { request, config }) => publicUrl(request, config.SERVER_URL),
    }),
    passwordMinLength: t.int({
      description: 'Minimum length of a password, in characters.',
      resolve: (_server, _args, { config }) => config.PASSWORD_MIN_LENGTH,
    }),
    tokenMaxDays: t.int({
      nullable: true,
      description: 'Maximum lifetime of a new access token in days; null if tokens may have no expiration.',
      resolve: (_server, _args, { config }) => config.TOKEN_MAX_DAYS ?? null,
    }),
    queriesNeedToken: t.boolean({
      description:
        'Whether custom GraphQL queries require an access token. Other requests may then only use the operations of the console.',
      resolve: (_server, _args, { config }) => config.GRAPHQL_FREE_QUERIES === 'tokens',
    }),
    mirrorHost: t.string({
      nullable: true,
      description: 'Host of the package server that this server mirrors; null without a mirror that you may read.',
      resolve: (_server, _args, context) => (canReadMirror(context) ? new URL(context.config.UPSTREAM_URL ?? '').host : null),
    }),
    viewerCanAdminister: t.boolean({
      description: 'Whether you may administer the server.',
      resolve: (_server, _args, context) => holdsScope(context, 'admin'),
    }),
    viewerCanTransferOwnership: t.boolean({
      description: 'Whether you own the server and may transfer its ownership to another administrator.',
      resolve: (_server, _args, context) => canActAsOwner(context),
    }),
  }),
})

builder.objectFields(ServerRef, (t) => ({
  requireSecondFactor: t.field({
    type: SecondFactorPolicy,
    description: 'Who must have a second factor (REQUIRE_SECOND_FACTOR).',
    resolve: (_server, _args, { config }) => config.REQUIRE_SECOND_FACTOR,
  }),
  passkeyDomain: t.string({
    nullable: true,
    description: 'The domain that passkeys are bound to (the host of SERVER_URL); null if SERVER_URL allows no passkeys.',
    resolve: (_server, _args, { config }) => relyingParty(config)?.id ?? null,
  }),
}))

builder.queryField('server', (t) =>
  t.field({
    type: ServerRef,
    description: 'This server: its version, its URL, and your permissions.',
    skipTypeScopes: true,
    extensions: { beforeSetup: true },
    resolve: () => ({}),
  }),
)

const SettingRef = builder.objectRef<ReturnType<typeof describeSettings>[number]>('ConfigurationValue').implement({
  description: 'A setting.',
  fields: (t) => ({
    name: t.exposeString('name', { description: 'Name of the setting.' }),
    value: t.exposeString('value', { description: 'Value; asterisks for a secret.' }),
    problem: t.exposeString('problem', { nullable: true, description: 'Explanation if the value weakens security.' }),
  }),
})

const StorageRef = builder.objectRef<Awaited<ReturnType<typeof storageOf>>>('StorageFacts').implement({
  description: 'The archive store.',
  fields: (t) => ({
    backend: t.exposeString('backend', { description: '`filesystem` or `s3`.' }),
    path: t.exposeString('path', { nullable: true, description: 'The folder, or the bucket.' }),
    problem: t.exposeString('problem', { nullable: true, description: 'Error message, if the store does not work.' }),
    freeBytes: t.expose('freeBytes', { type: 'BigInt', nullable: true, description: 'Free space in bytes, if known.' }),
  }),
})

const ClocksRef = builder.objectRef<Awaited<ReturnType<typeof clocksOf>>>('ClockFacts').implement({
  description: 'Times of the server and of the database.',
  fields: (t) => ({
    server: t.expose('server', { type: 'DateTime', description: 'Time of the server.' }),
    database: t.expose('database', { type: 'DateTime', description: 'Time of the database.' }),
  }),
})

const RequestRef = builder.objectRef<ReturnType<typeof requestFacts>>('RequestFacts').implement({
  description: 'This request as seen by the server.',
  fields: (t) => ({
    clientAddress: t.exposeString('clientAddress', { description: 'Client address as determined by the server, used for rate limits.' }),
    peerAddress: t.exposeString('peerAddress', {
      nullable: true,
      description: 'Address of the connected peer: the last proxy, if there is one.',
    }),
    host: t.exposeString('host', { nullable: true, description: 'The Host header.' }),
    forwardedFor: t.exposeString('forwardedFor', { nullable: true, description: 'The X-Forwarded-For header.' }),
    forwardedProto: t.exposeString('forwardedProto', { nullable: true, description: 'The X-Forwarded-Proto header.' }),
    isSecure: t.exposeBoolean('isSecure', { description: 'Whether the server considers the connection encrypted.' }),
  }),
})

const SelfCheckRef = builder.objectRef<object>('SelfCheck').implement({
  description: 'Environment of the server: settings, storage, clocks and this request.',
  authScopes: { scope: 'admin' },
  fields: (t) => ({
    configuration: t.field({
      type: [SettingRef],
      description: 'The effective configuration.',
      resolve: (_check, _args, context) => describeSettings(context),
    }),
    storage: t.field({ type: StorageRef, description: 'The archive store.', resolve: (_check, _args, context) => storageOf(context) }),
    clocks: t.field({
      type: ClocksRef,
      description: 'Times of the server and of the database.',
      resolve: (_check, _args, context) => clocksOf(context),
    }),
    request: t.field({
      type: RequestRef,
      description: 'This request as seen by the server.',
      resolve: (_check, _args, context) => requestFacts(context),
    }),
  }),
})

builder.queryField('selfCheck', (t) =>
  t.withAuth({ scope: 'admin' }).field({
    type: SelfCheckRef,
    description: 'Environment of the server: settings, storage, clocks and this request. For administrators.',
    resolve: () => ({}),
  }),
)
