import type { Context } from '../../../platform/access/context.ts'
import { builder } from '../../../platform/graphql/builder.ts'
import { wordEnum } from '../../../platform/graphql/payload.ts'
import { AdvisorySeverity } from '../../advisories/refs.ts'
import type { Verdict } from '../policies/evaluate.ts'
import { type JudgedVersion, rejectingVerdict } from '../render.ts'
import { cachedVersions } from './cached.ts'
import type { UpstreamAdvisory, UpstreamPackage } from './package.ts'

const VerdictEffect = wordEnum<Verdict['effect']>('MirrorVerdictEffect', 'Effect of a policy on a version.', {
  retract: 'The version is marked as retracted: new resolutions do not choose it, and lockfiles that have it keep working.',
  refuse: 'The version is not available.',
})

export const VerdictRef = builder.objectRef<Verdict>('MirrorVerdict').implement({
  description: 'Verdict of a policy of the mirror on a version.',
  fields: (t) => ({
    rule: t.exposeString('rule', { description: 'The policy: `packages`, `advisories`, `licenses` or `minimumAge`.' }),
    isEnforced: t.boolean({
      description: 'Whether the policy is enforced. Otherwise it only records requests, and the verdict has no effect.',
      resolve: ({ mode }) => mode === 'enforce',
    }),
    effect: t.expose('effect', { type: VerdictEffect, description: 'Effect of the policy if it is enforced.' }),
    reason: t.exposeString('reason', { description: 'Why, as a sentence that package clients print.' }),
    until: t.expose('until', { type: 'DateTime', nullable: true, description: 'When the verdict ends by itself; null if it does not.' }),
  }),
})

/** A version of an upstream package. */
export type Version = JudgedVersion & { pkg: UpstreamPackage }

export const UpstreamVersionRef = builder.objectRef<Version>('UpstreamVersion').implement({
  description: 'A version of a package of the upstream server.',
  fields: (t) => ({
    version: t.expose('version', { type: 'SemVer', description: 'The version.' }),
    publishedAt: t.field({
      type: 'DateTime',
      nullable: true,
      description: 'When the version was published; null if the upstream server does not state it.',
      resolve: ({ published }) => (published === null ? null : new Date(published)),
    }),
    isRetracted: t.exposeBoolean('retracted', { description: 'Whether the version was retracted on the upstream server.' }),
    isRefused: t.boolean({
      description: 'Whether a policy of the mirror refuses the version.',
      resolve: ({ verdicts }) => rejectingVerdict(verdicts) !== null,
    }),
    sdkConstraint: t.string({
      nullable: true,
      description: 'The Dart SDK constraint, such as `^3.4.0`.',
      resolve: ({ pubspec }) => environmentOf(pubspec).sdk,
    }),
    flutterConstraint: t.string({
      nullable: true,
      description: 'The Flutter constraint; null if the version does not state one.',
      resolve: ({ pubspec }) => environmentOf(pubspec).flutter,
    }),
    isCached: t.boolean({
      description: 'Whether the archive is in the mirror, so that it can be downloaded without the upstream server.',
      resolve: async ({ version, pkg }, _args, context) => (await cachedOf(context, pkg)).has(version),
    }),
    verdicts: t.field({
      type: [VerdictRef],
      extensions: { size: 2 },
      description: 'What the policies of the mirror say about the version. Empty if they have nothing against it.',
      resolve: ({ verdicts }) => verdicts,
    }),
  }),
})

function environmentOf({ environment }: JudgedVersion['pubspec']): { sdk: string | null; flutter: string | null } {
  const stated = (environment ?? {}) as Record<string, unknown>
  const textOf = (value: unknown) => (typeof value === 'string' ? value.slice(0, 100) : null)
  return { sdk: textOf(stated.sdk), flutter: textOf(stated.flutter) }
}

function cachedOf({ em }: Context, pkg: UpstreamPackage): Promise<Set<string>> {
  let cached = cachedKnown.get(pkg)
  if (!cached) cachedKnown.set(pkg, (cached = cachedVersions(em, pkg.listing.name)))
  return cached
}
const cachedKnown = new WeakMap<UpstreamPackage, Promise<Set<string>>>()

export const UpstreamAdvisoryRef = builder.objectRef<UpstreamAdvisory>('UpstreamAdvisory').implement({
  description: 'A security advisory about a package of the upstream server.',
  fields: (t) => ({
    osvId: t.exposeString('osvId', { description: 'OSV identifier, such as GHSA-9v85-q87q-g4vg.' }),
    summary: t.exposeString('summary', { nullable: true, description: 'One-line summary.' }),
    severity: t.expose('severity', { type: AdvisorySeverity, nullable: true, description: 'Severity, where the advisory states one.' }),
    url: t.expose('url', { type: 'URL', nullable: true, description: 'URL of a page about the advisory.' }),
    affectsLatest: t.exposeBoolean('affectsLatest', { description: 'Whether the latest version is affected.' }),
    affectedVersions: t.exposeStringList('affectedVersions', {
      extensions: { cost: 3, size: 20 },
      description: 'Affected versions in ascending order, at most 500.',
    }),
    fixedVersions: t.exposeStringList('fixedVersions', {
      extensions: { size: 3 },
      description: 'Versions that fix the problem.',
    }),
  }),
})
