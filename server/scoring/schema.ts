import type { Criterion, Report, Section } from '../analysis/report.ts'
import { builder } from '../graphql/builder.ts'
import { audienceOf } from '../access/audience.ts'
import { viewerCan } from '../access/viewer-can.ts'
import type { PackageVersion } from '../packages/entity.ts'
import { canSeeActivity } from '../packages/policy.ts'
import { ofPublicVersion, PackageVersionRef } from '../packages/refs.ts'
import { loadPackage } from '../packages/service.ts'
import { namesWhatIsHidden } from './hidden-names.ts'
import { logOf, renderRemark, reportOf } from './report.ts'
import { versionTags } from './score.ts'
import { type Score, scoreOf, type ScoreStatus } from './status.ts'

const ScoreStatusEnum = builder.enumType('ScoreStatus', {
  description: 'Whether a version is analyzed.',
  values: {
    DISABLED: { value: 'disabled', description: 'It is not, and scoring is switched off.' },
    NOT_ANALYZED: { value: 'not_analyzed', description: 'It is not, and its analysis was not asked for.' },
    PENDING: { value: 'pending', description: 'Its analysis waits for its turn.' },
    RUNNING: { value: 'running', description: 'It is being analyzed.' },
    COMPLETED: { value: 'completed', description: 'It is.' },
    FAILED: { value: 'failed', description: 'Its last analysis failed; `error` says why.' },
  } satisfies Record<Uppercase<ScoreStatus>, { value: ScoreStatus; description: string }>,
})

const SectionStatus = builder.enumType('ScoreSectionStatus', {
  description: 'How a section of a report turned out.',
  values: {
    PASSED: { value: 'passed', description: 'It got all its points.' },
    PARTIAL: { value: 'partial', description: 'It got some of them.' },
    FAILED: { value: 'failed', description: 'It got none.' },
    NOT_MEASURED: { value: 'not_measured', description: 'Nothing in it was measured, so it has no points.' },
  } satisfies Record<Uppercase<Section['status']>, { value: Section['status']; description: string }>,
})

const CriterionRef = builder.objectRef<Criterion>('ScoreCriterion').implement({
  description: 'Something that a version gets points for.',
  fields: (t) => ({
    key: t.exposeString('id', { description: 'Names it in every report.' }),
    title: t.exposeString('title', { description: 'What it is about.' }),
    grantedPoints: t.exposeInt('granted', { description: 'The points that it got.' }),
    maxPoints: t.exposeInt('maximum', { description: 'The points that it could have got.' }),
    reason: t.exposeString('reason', { description: 'Why it got these points, as Markdown.' }),
    reasonHtml: t.string({
      description: 'The reason as HTML that is safe to show.',
      resolve: ({ reason }, _args, context) => renderRemark(context, reason),
    }),
    remedyHtml: t.string({
      nullable: true,
      description: 'The remedy as HTML that is safe to show.',
      resolve: ({ remedy }, _args, context) => (remedy === null ? null : renderRemark(context, remedy)),
    }),
    remedy: t.exposeString('remedy', { nullable: true, description: 'How to get the rest, as Markdown; null where nothing is missing.' }),
  }),
})

const SectionRef = builder.objectRef<Section>('ScoreSection').implement({
  description: 'A section of a report.',
  fields: (t) => ({
    key: t.exposeString('id', {
      description: 'Names it in every report: `convention`, `documentation`, `platform`, `analysis`, `dependency` or `size`.',
    }),
    title: t.exposeString('title', { description: 'What it is about.' }),
    grantedPoints: t.exposeInt('granted', { description: 'The points that it got.' }),
    maxPoints: t.exposeInt('maximum', { description: 'The points that it could have got.' }),
    status: t.expose('status', { type: SectionStatus, description: 'How it turned out.' }),
    criteria: t.expose('criteria', { extensions: { size: 5 }, type: [CriterionRef], description: 'What it is made of.' }),
  }),
})

const NotMeasuredRef = builder.objectRef<Report['notMeasured'][number]>('ScoreNotMeasured').implement({
  description: 'Something that the engine did not measure. It is left out of the points that a version could get.',
  fields: (t) => ({
    key: t.exposeString('id', { description: 'Names the criterion or section.' }),
    title: t.exposeString('title', { description: 'What it is about.' }),
    reason: t.exposeString('reason', { description: 'Why it was not measured, as Markdown.' }),
    reasonHtml: t.string({
      description: 'The reason as HTML that is safe to show.',
      resolve: ({ reason }, _args, context) => renderRemark(context, reason),
    }),
  }),
})

const DocumentedRef = builder.objectRef<NonNullable<Report['documented']>>('ScoreDocumented').implement({
  description: 'How much of the public API has doc comments.',
  fields: (t) => ({
    documented: t.exposeInt('documented', { description: 'Declarations and members that have one.' }),
    total: t.exposeInt('total', { description: 'All of them.' }),
  }),
})

const SizeRef = builder.objectRef<Report['sizes'][number]>('ScoreSize').implement({
  description: 'The files of one kind.',
  fields: (t) => ({
    kind: t.exposeString('kind', { description: 'The kind, such as `dart`, `image` or `font`.' }),
    files: t.exposeInt('files', { description: 'How many there are.' }),
    bytes: t.expose('bytes', { type: 'BigInt', description: 'Their size in bytes, unpacked.' }),
  }),
})

const ReportRef = builder.objectRef<Report>('ScoreReport').implement({
  description: 'What an analysis of a version found.',
  fields: (t) => ({
    sections: t.expose('sections', { extensions: { size: 6 }, type: [SectionRef], description: 'What the points are for.' }),
    notMeasured: t.expose('notMeasured', { extensions: { size: 5 }, type: [NotMeasuredRef], description: 'What was not measured.' }),
    tags: t.exposeStringList('tags', { extensions: { size: 15 }, description: "What follows from the analysis, as pub.dev's tags." }),
    notes: t.exposeStringList('notes', { extensions: { size: 5 }, description: 'Remarks without points, as Markdown.' }),
    notesHtml: t.stringList({
      extensions: { size: 5 },
      description: 'The notes as HTML that is safe to show.',
      resolve: ({ notes }, _args, context) => Promise.all(notes.map((note) => renderRemark(context, note))),
    }),
    documented: t.expose('documented', {
      type: DocumentedRef,
      nullable: true,
      description: 'How much of the public API has doc comments; null when no library could be read.',
    }),
    sizes: t.expose('sizes', { extensions: { size: 10 }, type: [SizeRef], description: 'What the archive is made of, the largest first.' }),
  }),
})

type Scored = Score & { of: PackageVersion }

const ScoreRef = builder.objectRef<Scored>('Score').implement({
  description:
    'What an analysis found a version to be worth. Points and report are those of the last analysis that succeeded, also while another one waits, runs or has failed.',
  fields: (t) => ({
    status: t.expose('status', { type: ScoreStatusEnum, description: 'Whether it is analyzed.' }),
    error: t.string({
      nullable: true,
      description: 'Why its last analysis failed; members of this server are told more than that it did.',
      // What a package client prints can name any package.
      resolve: ({ error }, _args, context) => (error !== null && audienceOf(context) === 'public' ? 'The analysis failed.' : error),
    }),
    grantedPoints: t.exposeInt('granted', { nullable: true, description: 'The points that it got; null until it is analyzed.' }),
    maxPoints: t.exposeInt('maximum', {
      nullable: true,
      description: 'The points that it could have got: the sum of what was measured. Null until it is analyzed.',
    }),
    percent: t.exposeInt('percent', {
      nullable: true,
      description: 'The share of the points that it got, from 0 to 100, rounded down: what searches sort and filter by.',
    }),
    engine: t.exposeString('engine', { nullable: true, description: 'What analyzed it: `built-in` or `pana`.' }),
    engineVersion: t.exposeString('engineVersion', { nullable: true, description: 'Which version of that.' }),
    startedAt: t.expose('startedAt', { type: 'DateTime', nullable: true, description: 'When its last analysis began.' }),
    finishedAt: t.expose('finishedAt', { type: 'DateTime', nullable: true, description: 'When an analysis last ended.' }),
    awaitsPana: t.exposeBoolean('awaitsPana', {
      description: 'Whether pana has still to judge it, with an SDK; until then, this is what the built-in engine found.',
    }),
  }),
})

builder.objectFields(ScoreRef, (t) => ({
  report: t.field({
    extensions: { cost: 5 },
    type: ReportRef,
    nullable: true,
    description: 'The findings in detail; null until it is analyzed, or if they name packages that you cannot see.',
    resolve: async ({ versionId, granted }, _args, context) => {
      const report = granted === null ? null : await reportOf(context, versionId)
      return report && (await namesWhatIsHidden(context, versionId, report)) ? null : report
    },
  }),
  log: t.string({
    extensions: { cost: 5 },
    nullable: true,
    description: 'What the engine printed; null where it printed nothing, and for anybody but those who look after the package.',
    resolve: async ({ of }, _args, context) => ((await viewerCan(context, canSeeActivity, of.package)) ? logOf(context, of.id) : null),
  }),
}))

builder.objectFields(PackageVersionRef, (t) => ({
  tags: t.stringList({
    ...ofPublicVersion,
    description:
      'What it is, as `sdk:`, `platform:`, `license:`, `topic:`, `publisher:` and `is:` with a value; any of them is a filter in searches.',
    resolve: async (version, _args, context) => {
      const pkg = await loadPackage(context, version.package.id)
      return pkg ? versionTags(context, pkg, version) : []
    },
  }),
  licenseId: t.string({
    ...ofPublicVersion,
    nullable: true,
    description: 'SPDX identifier of its license, `unknown` for a text that is not recognized; null when nobody has looked yet.',
    resolve: ({ license }: PackageVersion) => license ?? null,
  }),
  score: t.field({
    ...ofPublicVersion,
    type: ScoreRef,
    description: 'What an analysis found it to be worth.',
    resolve: async (version, _args, context) => ({ ...(await scoreOf(context, version.id)), of: version }),
  }),
}))
