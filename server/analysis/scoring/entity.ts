import { defineEntity, type InferEntity, p } from '@mikro-orm/core'
import { Base } from '../../platform/db/base.ts'
import { PackageVersion } from '../../registry/packages/entity.ts'
import type { InferKyselyDB } from '@mikro-orm/sql'

/**
 * The result of a version's last analysis, or its error. Whether an analysis is queued or running is recorded in its job. A report stays while a
 * later analysis runs, and if that fails.
 */
export const ScoreReport = defineEntity({
  name: 'ScoreReport',
  tableName: 'score_reports',
  properties: {
    version: () => p.manyToOne(PackageVersion).deleteRule('cascade').primary(),
    /** Number of analyses begun. Each analysis takes the next number. */
    runs: p.integer().default(0),
    /** Number of the analysis that produced this result. Results of analyses with a lower number are discarded. */
    generation: p.integer().default(0),
    startedAt: p.datetime(3).nullable(),
    finishedAt: p.datetime(3).nullable(),
    engine: p.string().length(16).nullable(),
    engineVersion: p.string().length(64).nullable(),
    granted: p.integer().nullable(),
    maximum: p.integer().nullable(),
    /** The percentage that servers of the release before checks show. Older reports have a percentage of points. */
    percent: p.integer().nullable(),
    /** Percentage of passed checks, from 0 to 100; null before the first analysis, and for analyses by a release without checks. */
    checksPercent: p.integer().nullable(),
    /** The report as JSON text. */
    report: p.text().nullable(),
    /** The tags that search supports, separated by spaces. */
    tags: p.text().default(''),
    /** Why the last analysis failed; null if it succeeded. */
    error: p.string().length(1000).nullable(),
    /** Whether parts of the public API are missing, because files exceeded a limit or have unknown syntax. */
    isIncomplete: p.boolean().default(false),
    /** Log output of the analysis engine. */
    log: p.text().nullable(),
  },
})
export type ScoreReport = InferEntity<typeof ScoreReport>

/** The public API of a version, for comparisons: gzipped JSON. */
export const VersionSurface = defineEntity({
  name: 'VersionSurface',
  tableName: 'version_surfaces',
  properties: {
    version: () => p.manyToOne(PackageVersion).deleteRule('cascade').primary(),
    surface: p.blob(),
  },
})
export type VersionSurface = InferEntity<typeof VersionSurface>

/** How the public API of a version differs from that of an earlier one, found by its last analysis. */
export const VersionApiVerdict = defineEntity({
  name: 'VersionApiVerdict',
  tableName: 'version_api_verdicts',
  properties: {
    version: () => p.manyToOne(PackageVersion).deleteRule('cascade').primary(),
    comparedWith: p.string().length(64),
    verdict: p.string().length(16),
    /** Whether the version number reflects the changes; null if it is not later than the other one. */
    isHonest: p.boolean().nullable(),
  },
})
export type VersionApiVerdict = InferEntity<typeof VersionApiVerdict>

export const logLevels = ['info', 'warning', 'error'] as const
export type LogLevel = (typeof logLevels)[number]

/** A line of the scoring log. Packages are referenced by name, because log entries outlive packages. */
export const ScoringLogEntry = defineEntity({
  name: 'ScoringLogEntry',
  tableName: 'scoring_log',
  extends: Base,
  properties: {
    level: p.enum(logLevels),
    package: p.string().length(64).nullable(),
    version: p.string().length(64).nullable(),
    message: p.string().length(1000),
  },
})
export type ScoringLogEntry = InferEntity<typeof ScoringLogEntry>

declare module '../../platform/db/query.ts' {
  interface Tables extends InferKyselyDB<typeof ScoreReport | typeof VersionSurface | typeof VersionApiVerdict | typeof ScoringLogEntry> {}
}
