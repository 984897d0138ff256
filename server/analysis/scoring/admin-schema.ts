import { z } from 'zod'
import { builder } from '../../platform/graphql/builder.ts'
import { replacedBy } from '../../platform/graphql/former-schema.ts'
import { connectionOf, payload, done, wordEnum } from '../../platform/graphql/payload.ts'
import { newestByDefault } from '../../platform/graphql/types.ts'
import { packageName } from '../../registry/packages/parameters.ts'
import { SdkInstallRef } from '../sdks/refs.ts'
import { setDefaultSdk } from '../sdks/service.ts'
import { clearLog, countCoverage, countWork, defaultSdk, listLog, type SettingsState, settingsState, updateSettings } from './administer.ts'
import { maxConcurrency } from '../../platform/settings/scoring.ts'
import { regenerateDocs, rescore, scoreVersions, panaKind } from './requests.ts'
import { analysisKind } from '../docs/service.ts'
import type { LogLevel, ScoringLogEntry } from './entity.ts'
import { batched } from '../../platform/db/batched.ts'
import { JobRef } from '../../platform/jobs/schema.ts'
import { PackageVersion } from '../../registry/packages/entity.ts'
import { PackageVersionRef } from '../../registry/packages/refs.ts'

const CoverageRef = builder.objectRef<Awaited<ReturnType<typeof countCoverage>>>('ScoringCoverage').implement({
  description: 'How many versions are analyzed.',
  fields: (t) => ({
    versions: t.exposeInt('versions', { description: 'Number of versions of all packages.' }),
    scored: t.exposeInt('scored', { description: 'Number of versions with a report.' }),
  }),
})

const WorkersRef = builder.objectRef<Awaited<ReturnType<typeof countWork>>>('ScoringWorkers').implement({
  description: 'Load of the analysis on all instances.',
  fields: (t) => ({
    active: t.exposeInt('active', { description: 'Number of running analyses.' }),
    queued: t.exposeInt('queued', { description: 'Number of versions waiting to be analyzed.' }),
  }),
})

const SettingsRef = builder.objectRef<SettingsState>('ScoringSettings').implement({
  description: 'How versions are analyzed on this server.',
  authScopes: { scope: 'admin' },
  fields: (t) => ({
    permittedByEnvironment: t.exposeBoolean('permittedByEnvironment', { description: 'Whether SCORING_ENABLED allows scoring.' }),
    scoringEnabled: t.exposeBoolean('scoringEnabled', { description: 'Whether versions are analyzed when published and on request.' }),
    docsEnabled: t.exposeBoolean('docsEnabled', { description: 'Whether the analysis also generates API documentation.' }),
    concurrency: t.exposeInt('concurrency', { description: 'Number of versions that each server process analyzes concurrently.' }),
    timeoutSeconds: t.exposeInt('timeoutSeconds', { description: 'Timeout for the analysis of a version, in seconds.' }),
    defaultSdk: t.field({
      type: SdkInstallRef,
      nullable: true,
      description: 'The SDK used to analyze packages: the default Dart SDK, else the default Flutter SDK. Null if no SDK is installed.',
      resolve: (_settings, _args, { em }) => defaultSdk(em),
    }),
    workers: t.field({
      type: WorkersRef,
      description: 'Load of the analysis.',
      resolve: (_settings, _args, context) => countWork(context),
    }),
    coverage: t.field({
      type: CoverageRef,
      description: 'How many versions are analyzed.',
      resolve: (_settings, _args, context) => countCoverage(context),
    }),
  }),
})

builder.queryField('scoringSettings', (t) =>
  t.withAuth({ scope: 'admin' }).field({
    type: SettingsRef,
    description: 'How versions are analyzed on this server, for administrators.',
    resolve: (_root, _args, context) => settingsState(context),
  }),
)

const between = (min: number, max: number) => {
  const message = `must be from ${min} to ${max}`
  return z.int().min(min, message).max(max, message).nullish()
}

builder.mutationField('updateScoringSettings', (t) =>
  t.withAuth({ scope: 'admin' }).fieldWithInput({
    type: payload('UpdateScoringSettingsPayload', 'The updated settings.', {
      settings: { type: SettingsRef, description: 'How versions are analyzed on this server.' },
    }),
    description: 'Changes the scoring settings. Waiting versions stay in the queue while scoring is off.',
    typeOptions: { description: 'The settings to change. Omitted settings stay unchanged.' },
    argOptions: { description: 'The settings.' },
    input: {
      scoringEnabled: t.input.boolean({ description: 'Whether versions are analyzed.' }),
      docsEnabled: t.input.boolean({ description: 'Whether the analysis also generates API documentation.' }),
      concurrency: t.input.int({
        description: 'Number of versions that each server process analyzes concurrently, 1 to 16.',
        validate: between(1, maxConcurrency),
      }),
      timeoutSeconds: t.input.int({
        description: 'Timeout for the analysis of a version, 10 to 3600 seconds.',
        validate: between(10, 3600),
      }),
      defaultSdk: t.input.globalID({ for: [SdkInstallRef], description: 'The SDK to make the default of its kind.' }),
    },
    resolve: async (_root, { input: { defaultSdk: sdk, ...settings } }, context) => {
      if (sdk) await setDefaultSdk(context, sdk.id)
      return { settings: await updateSettings(context, settings) }
    },
  }),
)

const queued = (name: string) =>
  payload(name, 'The queued job.', { jobId: { type: 'ID', description: 'Id of the job (not a global id).' } })

builder.mutationFields((t) => ({
  rescoreVersion: t.withAuth({ scope: 'admin' }).fieldWithInput({
    type: queued('RescoreVersionPayload'),
    description: 'Queues a new analysis of a version, for administrators. The current report stays until the new one is ready.',
    typeOptions: { description: 'The version to analyze.' },
    argOptions: { description: 'The version or package.' },
    input: {
      package: t.input.string({ required: true, description: 'Name of the package.', validate: packageName }),
      version: t.input.field({ type: 'SemVer', required: true, description: 'Version number.' }),
    },
    resolve: async (_root, { input }, context) => ({ jobId: await rescore(context, input) }),
  }),
  regenerateDocumentation: t.withAuth({ scope: 'admin' }).fieldWithInput({
    type: queued('RegenerateDocumentationPayload'),
    description: "Regenerates the API documentation of a package's latest version, for administrators.",
    typeOptions: { description: 'The package.' },
    argOptions: { description: 'The version or package.' },
    input: { package: t.input.string({ required: true, description: 'Name of the package.', validate: packageName }) },
    resolve: async (_root, { input }, context) => ({ jobId: await regenerateDocs(context, input.package) }),
  }),
}))

builder.mutationFields((t) => ({
  rescoreVersions: t.withAuth({ scope: 'admin' }).fieldWithInput({
    type: payload('RescoreVersionsPayload', 'The analyses that were queued.', {
      queuedCount: { type: 'Int', description: 'Number of queued versions.' },
    }),
    description:
      'Queues an analysis of every version, newest first, for administrators. Useful after changing the SDK. Newly published versions take precedence.',
    typeOptions: { description: 'The versions to analyze.' },
    argOptions: { description: 'Which versions.' },
    input: {
      withoutReportOnly: t.input.boolean({ description: 'Whether to analyze only versions without a report. Default: false.' }),
    },
    resolve: async (_root, { input }, context) => ({ queuedCount: await scoreVersions(context, { again: !input.withoutReportOnly }) }),
  }),
  scoreRemainingVersions: t.withAuth({ scope: 'admin' }).int({
    description:
      'Queues an analysis of every version without a report, newest first, for administrators. Newly published versions take precedence. Returns the number of queued versions.',
    deprecationReason: replacedBy('rescoreVersions'),
    resolve: (_root, _args, context) => scoreVersions(context),
  }),
  rescoreAllVersions: t.withAuth({ scope: 'admin' }).int({
    description:
      'Queues a new analysis of every version, newest first, for administrators. Useful after changing the SDK. Returns the number of queued versions.',
    deprecationReason: replacedBy('rescoreVersions'),
    resolve: (_root, _args, context) => scoreVersions(context, { again: true }),
  }),
}))

const LevelEnum = wordEnum<LogLevel>('ScoringLogLevel', 'Severity of a scoring log entry.', {
  info: 'Normal operation.',
  warning: 'Completed with a problem.',
  error: 'Failure.',
})

const EntryRef = builder.objectRef<ScoringLogEntry>('ScoringLogEntry').implement({
  description: 'An entry of the scoring log.',
  authScopes: { scope: 'admin' },
  fields: (t) => ({
    at: t.expose('createdAt', { type: 'DateTime', description: 'When the entry was written.' }),
    level: t.expose('level', { type: LevelEnum, description: 'Severity.' }),
    package: t.exposeString('package', { nullable: true, description: 'Name of the affected package.' }),
    version: t.exposeString('version', { nullable: true, description: 'The affected version.' }),
    message: t.exposeString('message', { description: 'Message text.' }),
  }),
})

builder.queryField('scoringLog', (t) =>
  t.withAuth({ scope: 'admin' }).connection(
    {
      type: EntryRef,
      description: 'Scoring log, newest entries first, for administrators. The last 1,000 entries are kept.',
      args: {
        level: t.arg({ type: LevelEnum, description: 'Only entries of this level.' }),
        package: t.arg.string({ description: 'Only entries about the package with this name.' }),
        direction: t.arg(newestByDefault),
      },
      resolve: (_root, args, { em }) => listLog(em, args, args),
    },
    connectionOf(EntryRef),
  ),
)

builder.mutationField('clearScoringLog', (t) =>
  t.withAuth({ scope: 'admin' }).field({
    type: payload('ClearScoringLogPayload', 'The scoring log after it was cleared.', {
      clearedAt: { type: 'DateTime', description: 'When the log was cleared.' },
    }),
    extensions: { formerResult: true },
    description: 'Clears the scoring log, for administrators.',
    resolve: (_root, _args, context) => done(clearLog(context), { clearedAt: context.now() }),
  }),
)

const loadVersion = batched(
  async (em, ids) => new Map((await em.find(PackageVersion, { id: { $in: ids } }, { populate: ['package'] })).map((one) => [one.id, one])),
)

builder.objectField(JobRef, 'version', (t) =>
  t.field({
    type: PackageVersionRef,
    nullable: true,
    description: 'The version to analyze. Null for other jobs, or if the version was deleted.',
    resolve: ({ kind, subject }, _args, context) => (kind === analysisKind || kind === panaKind ? loadVersion(context, subject) : null),
  }),
)
