import { z } from 'zod'
import { builder } from '../graphql/builder.ts'
import { payload } from '../graphql/payload.ts'
import { packageName } from '../packages/parameters.ts'
import { SdkInstallRef } from '../sdks/refs.ts'
import { setDefaultSdk } from '../sdks/service.ts'
import { countCoverage, countWork, defaultSdk, type SettingsState, settingsState, updateSettings } from './administer.ts'
import { maxConcurrency } from '../settings/scoring.ts'
import { regenerateDocs, rescore, scoreVersions } from './requests.ts'

const CoverageRef = builder.objectRef<Awaited<ReturnType<typeof countCoverage>>>('ScoringCoverage').implement({
  description: 'How many versions are analyzed.',
  fields: (t) => ({
    versions: t.exposeInt('versions', { description: 'All versions of all packages.' }),
    scored: t.exposeInt('scored', { description: 'Those that have a report.' }),
  }),
})

const WorkersRef = builder.objectRef<Awaited<ReturnType<typeof countWork>>>('ScoringWorkers').implement({
  description: 'How busy the analysis is, on all instances.',
  fields: (t) => ({
    active: t.exposeInt('active', { description: 'Analyses that run.' }),
    queued: t.exposeInt('queued', { description: 'Versions that wait for theirs.' }),
  }),
})

const SettingsRef = builder.objectRef<SettingsState>('ScoringSettings').implement({
  description: 'How versions are analyzed on this server.',
  authScopes: { scope: 'admin' },
  fields: (t) => ({
    permittedByEnvironment: t.exposeBoolean('permittedByEnvironment', { description: 'Whether SCORING_ENABLED permits it at all.' }),
    scoringEnabled: t.exposeBoolean('scoringEnabled', {
      description: 'Whether versions are analyzed: when they are published, and on request.',
    }),
    docsEnabled: t.exposeBoolean('docsEnabled', { description: 'Whether API documentation is generated along with it.' }),
    concurrency: t.exposeInt('concurrency', { description: 'How many versions each server process analyzes at once.' }),
    timeoutSeconds: t.exposeInt('timeoutSeconds', { description: 'How long the analysis of a version may take, in seconds.' }),
    defaultSdk: t.field({
      type: SdkInstallRef,
      nullable: true,
      description: 'The SDK that packages are analyzed with: the default Dart SDK, else the default Flutter SDK; null while there is none.',
      resolve: (_settings, _args, { em }) => defaultSdk(em),
    }),
    workers: t.field({
      type: WorkersRef,
      description: 'How busy the analysis is.',
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
    type: payload('UpdateScoringSettingsPayload', 'The settings as they are now.', {
      settings: { type: SettingsRef, description: 'How versions are analyzed on this server.' },
    }),
    description: 'Changes how versions are analyzed. Those that wait stay in the queue while scoring is off.',
    typeOptions: { description: 'The settings to change; what is left out stays.' },
    argOptions: { description: 'The settings.' },
    input: {
      scoringEnabled: t.input.boolean({ description: 'Whether versions are analyzed.' }),
      docsEnabled: t.input.boolean({ description: 'Whether API documentation is generated along with it.' }),
      concurrency: t.input.int({
        description: 'How many versions each server process analyzes at once, 1 to 16.',
        validate: between(1, maxConcurrency),
      }),
      timeoutSeconds: t.input.int({
        description: 'How long the analysis of a version may take, 10 to 3600 seconds.',
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
  payload(name, 'What was queued.', { jobId: { type: 'ID', description: 'The plain identifier of the job.' } })

builder.mutationField('rescoreVersion', (t) =>
  t.withAuth({ scope: 'admin' }).fieldWithInput({
    type: queued('RescoreVersionPayload'),
    description: 'Has a version analyzed afresh, for administrators. Its report stays until there is another one.',
    typeOptions: { description: 'The version to analyze.' },
    argOptions: { description: 'Which one.' },
    input: {
      package: t.input.string({ required: true, description: 'Name of its package.', validate: packageName }),
      version: t.input.field({ type: 'SemVer', required: true, description: 'Which version.' }),
    },
    resolve: async (_root, { input }, context) => ({ jobId: await rescore(context, input) }),
  }),
)

builder.mutationField('regenerateDocumentation', (t) =>
  t.withAuth({ scope: 'admin' }).fieldWithInput({
    type: queued('RegenerateDocumentationPayload'),
    description: "Has the API documentation of a package's latest version generated afresh, for administrators.",
    typeOptions: { description: 'The package.' },
    argOptions: { description: 'Which one.' },
    input: { package: t.input.string({ required: true, description: 'Its name.', validate: packageName }) },
    resolve: async (_root, { input }, context) => ({ jobId: await regenerateDocs(context, input.package) }),
  }),
)

builder.mutationField('scoreRemainingVersions', (t) =>
  t.withAuth({ scope: 'admin' }).int({
    description:
      'Has every version analyzed that has no report, the newest first, for administrators; what is published meanwhile comes first. Gives how many were queued.',
    resolve: (_root, _args, context) => scoreVersions(context),
  }),
)

builder.mutationField('rescoreAllVersions', (t) =>
  t.withAuth({ scope: 'admin' }).int({
    description:
      'Has every version analyzed afresh, the newest first, for administrators: after a change of SDK. Gives how many were queued.',
    resolve: (_root, _args, context) => scoreVersions(context, { again: true }),
  }),
)
