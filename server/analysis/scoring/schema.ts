import { wordEnum } from '../../platform/graphql/payload.ts'
import { checksOf, type Criterion, passedChecksOf, type Report, type Section, totalChecks } from '../report/report.ts'
import { builder } from '../../platform/graphql/builder.ts'
import { audienceOf } from '../../platform/access/audience.ts'
import { viewerCan, canBrowse } from '../../platform/access/policy.ts'
import type { PackageVersion } from '../../registry/packages/entity.ts'
import { canSeeActivity } from '../../registry/packages/policy.ts'
import { ofPublicVersion, PackageVersionRef } from '../../registry/packages/refs.ts'
import { loadPackage, findPackage } from '../../registry/packages/service.ts'
import { mentionsHiddenPackages, logOf, renderRemark, reportOf, versionTags } from './report.ts'
import { type Score, scoreOf, type ScoreStatus } from './status.ts'
import type { Context } from '../../platform/access/context.ts'
import { loadDocs } from '../docs/service.ts'
import { watch } from '../../platform/graphql/subscriptions.ts'
import { findVersion } from '../../registry/packages/versions/service.ts'

const ScoreStatusEnum = wordEnum<ScoreStatus>('ScoreStatus', 'State of the analysis of a version.', {
  disabled: 'Not analyzed; scoring is switched off.',
  not_analyzed: 'Not analyzed; no analysis was requested.',
  pending: 'Waiting to be analyzed.',
  running: 'Being analyzed.',
  completed: 'Analyzed.',
  failed: 'The last analysis failed; see `error`.',
})

const SectionStatus = wordEnum<Section['status']>('ScoreSectionStatus', 'Result of a section of a report.', {
  passed: 'All points were granted.',
  partial: 'Some points were granted.',
  failed: 'No points were granted.',
  not_measured: 'Nothing was measured, so the section has no points.',
})

const renderReason = ({ reason }: { reason: string }, _args: object, context: Context) => renderRemark(context, reason)

const CriterionRef = builder.objectRef<Criterion>('ScoreCriterion').implement({
  description: 'A criterion that points are granted for, or a check, which passes with all points.',
  fields: (t) => ({
    key: t.exposeString('id', { description: 'Stable identifier across reports.' }),
    title: t.exposeString('title', { description: 'Title.' }),
    grantedPoints: t.exposeInt('granted', { description: 'Granted points.' }),
    maxPoints: t.exposeInt('maximum', { description: 'Maximum points.' }),
    reason: t.exposeString('reason', { description: 'Reason for the granted points, as Markdown.' }),
    reasonHtml: t.string({ description: 'The reason as sanitized HTML.', resolve: renderReason }),
    remedyHtml: t.string({
      nullable: true,
      description: 'The remedy as sanitized HTML.',
      resolve: ({ remedy }, _args, context) => (remedy === null ? null : renderRemark(context, remedy)),
    }),
    remedy: t.exposeString('remedy', {
      nullable: true,
      description: 'How to get the missing points, as Markdown. Null if none are missing.',
    }),
  }),
})

const SectionRef = builder.objectRef<Section>('ScoreSection').implement({
  description: 'A section of a report.',
  fields: (t) => ({
    key: t.exposeString('id', {
      description: 'Stable identifier across reports: `convention`, `documentation`, `platform`, `analysis` or `dependency`.',
    }),
    title: t.exposeString('title', { description: 'Title.' }),
    grantedPoints: t.exposeInt('granted', { description: 'Granted points.' }),
    maxPoints: t.exposeInt('maximum', { description: 'Maximum points.' }),
    status: t.expose('status', { type: SectionStatus, description: 'Result of the section.' }),
    criteria: t.expose('criteria', { extensions: { size: 5 }, type: [CriterionRef], description: 'Criteria of the section.' }),
  }),
})

const NotMeasuredRef = builder.objectRef<Report['notMeasured'][number]>('ScoreNotMeasured').implement({
  description: 'A criterion that was not measured. It does not count towards the maximum points.',
  fields: (t) => ({
    key: t.exposeString('id', { description: 'Identifier of the criterion or section.' }),
    title: t.exposeString('title', { description: 'Title.' }),
    reason: t.exposeString('reason', { description: 'Why the criterion was not measured, as Markdown.' }),
    reasonHtml: t.string({ description: 'The reason as sanitized HTML.', resolve: renderReason }),
  }),
})

const DocumentedRef = builder.objectRef<NonNullable<Report['documented']>>('ScoreDocumented').implement({
  description: 'Documentation coverage of the public API.',
  fields: (t) => ({
    documented: t.exposeInt('documented', { description: 'Number of declarations and members with a doc comment.' }),
    total: t.exposeInt('total', { description: 'Number of declarations and members.' }),
  }),
})

const SizeRef = builder.objectRef<Report['sizes'][number]>('ScoreSize').implement({
  description: 'Total size of the files of one kind.',
  fields: (t) => ({
    kind: t.exposeString('kind', { description: 'Kind of file, such as `dart`, `image` or `font`.' }),
    files: t.exposeInt('files', { description: 'Number of files.' }),
    bytes: t.expose('bytes', { type: 'BigInt', description: 'Unpacked size in bytes.' }),
  }),
})

const ReportRef = builder.objectRef<Report>('ScoreReport').implement({
  description: 'Report of the analysis of a version.',
  fields: (t) => ({
    sections: t.expose('sections', {
      extensions: { size: 6 },
      type: [SectionRef],
      description: 'Sections of the report, with their points.',
    }),
    checks: t.field({
      extensions: { size: 10 },
      type: [CriterionRef],
      description: 'The checks, which are the same for every package. Empty for an analysis by a release without checks.',
      resolve: (report) => report.checks ?? [],
    }),
    notMeasured: t.expose('notMeasured', {
      extensions: { size: 5 },
      type: [NotMeasuredRef],
      description: 'Criteria that were not measured.',
    }),
    tags: t.exposeStringList('tags', { extensions: { size: 15 }, description: 'Tags derived from the analysis, as on pub.dev.' }),
    notes: t.exposeStringList('notes', { extensions: { size: 5 }, description: 'Notes without points, as Markdown.' }),
    notesHtml: t.stringList({
      extensions: { size: 5 },
      description: 'The notes as sanitized HTML.',
      resolve: ({ notes }, _args, context) => Promise.all(notes.map((note) => renderRemark(context, note))),
    }),
    documented: t.expose('documented', {
      type: DocumentedRef,
      nullable: true,
      description: 'Doc comment coverage. Null if no library was read.',
    }),
    sizes: t.expose('sizes', { extensions: { size: 10 }, type: [SizeRef], description: 'Archive size by kind of file, largest first.' }),
  }),
})

type Scored = Score & { of: PackageVersion }

const ScoreRef = builder.objectRef<Scored>('Score').implement({
  description:
    'Score of a version. Points and report come from the last successful analysis, even while a later one is waiting, running or has failed.',
  fields: (t) => ({
    status: t.expose('status', { type: ScoreStatusEnum, description: 'State of the analysis.' }),
    error: t.string({
      nullable: true,
      description: 'Error of the last analysis, if it failed. Anonymous callers only see a generic message.',
      // Error messages can contain output of the pub client, which can mention any package.
      resolve: ({ error }, _args, context) => (error !== null && audienceOf(context) === 'public' ? 'The analysis failed.' : error),
    }),
    grantedPoints: t.exposeInt('granted', { nullable: true, description: 'Granted points. Null until the version is analyzed.' }),
    maxPoints: t.exposeInt('maximum', {
      nullable: true,
      description: 'Maximum points of all measured criteria. Null until the version is analyzed.',
    }),
    passedChecks: t.int({
      nullable: true,
      description: 'Number of passed checks. Null until the version is analyzed.',
      resolve: ({ percent }) => (percent === null ? null : passedChecksOf(percent)),
    }),
    totalChecks: t.int({ description: 'Number of checks, which is the same for every package.', resolve: () => totalChecks }),
    percent: t.exposeInt('percent', {
      nullable: true,
      description: 'Percentage of passed checks, from 0 to 100. Used for sorting and filtering searches.',
    }),
    isIncomplete: t.exposeBoolean('isIncomplete', {
      description:
        'Whether parts of the public API are missing, because files exceed a limit of the analysis or could not be parsed. The version is then not compared with others.',
    }),
    engine: t.exposeString('engine', { nullable: true, description: 'Analysis engine: `built-in` or `pana`.' }),
    engineVersion: t.exposeString('engineVersion', { nullable: true, description: 'Version of the engine.' }),
    startedAt: t.expose('startedAt', { type: 'DateTime', nullable: true, description: 'When the last analysis began.' }),
    finishedAt: t.expose('finishedAt', { type: 'DateTime', nullable: true, description: 'When the last analysis ended.' }),
    awaitsPana: t.exposeBoolean('awaitsPana', {
      description: 'Whether an analysis by pana is pending. Until then, the report is from the built-in engine.',
    }),
  }),
})

builder.objectFields(ScoreRef, (t) => ({
  report: t.field({
    extensions: { cost: 5 },
    type: ReportRef,
    nullable: true,
    description: 'The full report. Null until the version is analyzed, or if the report mentions packages that you cannot see.',
    resolve: async ({ versionId, granted, percent }, _args, context) => {
      const report = granted === null ? null : await reportOf(context, versionId)
      if (!report || (await mentionsHiddenPackages(context, versionId, report))) return null
      return { ...report, checks: percent === null ? [] : checksOf(report) }
    },
  }),
  log: t.string({
    extensions: { cost: 5 },
    nullable: true,
    description: 'Output of the engine, or null if the engine printed nothing. Visible only to those who manage the package.',
    resolve: async ({ of }, _args, context) => ((await viewerCan(context, canSeeActivity, of.package)) ? logOf(context, of.id) : null),
  }),
}))

builder.objectFields(PackageVersionRef, (t) => ({
  tags: t.stringList({
    ...ofPublicVersion,
    description:
      'Tags with the prefix `sdk:`, `platform:`, `license:`, `topic:`, `publisher:` or `is:`. Each tag can be used as a search filter.',
    resolve: async (version, _args, context) => {
      const pkg = await loadPackage(context, version.package.id)
      return pkg ? versionTags(context, pkg, version) : []
    },
  }),
  licenseId: t.string({
    ...ofPublicVersion,
    nullable: true,
    description: 'SPDX identifier of the license, or `unknown` for an unrecognized text. Null if the license has not been determined.',
    resolve: ({ license }: PackageVersion) => license ?? null,
  }),
  score: t.field({
    ...ofPublicVersion,
    type: ScoreRef,
    description: 'Score of the version.',
    resolve: async (version, _args, context) => ({ ...(await scoreOf(context, version.id)), of: version }),
  }),
}))

type Watched = { of: PackageVersion; score: Score; docs: string }

const isInProgress = (state: string) => state === 'pending' || state === 'running'

builder.subscriptionField('versionScoreChanged', (t) =>
  t.field({
    skipTypeScopes: true,
    authScopes: { browse: true },
    type: PackageVersionRef,
    description:
      'Returns a version now and whenever the state of its score or API documentation changes, until both are final. For callers who may read the version.',
    args: {
      package: t.arg.string({ required: true, description: 'Name of the package.' }),
      version: t.arg({ type: 'SemVer', required: true, description: 'Version number.' }),
    },
    subscribe: (_root, args, context) =>
      watch<Watched>(context, {
        permits: canBrowse,
        read: (reader) => readState(reader, args.package, args.version),
        tag: ({ score, docs }) => [score.status, score.error, score.finishedAt?.getTime(), score.awaitsPana, docs].join(' '),
        isLast: ({ score, docs }) => !isInProgress(score.status) && !score.awaitsPana && !isInProgress(docs),
        missing: 'There is no such version on this server.',
      }),
    resolve: ({ value }) => value.of,
  }),
)

async function readState(context: Context, name: string, version: string): Promise<Watched | null> {
  const pkg = await findPackage(context, name)
  const of = pkg && (await findVersion(context, pkg, version))
  if (!of) return null
  return { of, score: await scoreOf(context, of.id), docs: (await loadDocs(context, of.id))?.state ?? 'none' }
}
