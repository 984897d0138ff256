import { defineEntity, type InferEntity, p } from '@mikro-orm/core'
import { Base } from '../db/base.ts'
import { PackageVersion } from '../packages/entity.ts'

/**
 * What the last analysis of a version found, or why it failed. Whether one is waiting or running, its job says. A report that was made stays
 * while a later analysis runs, and when that fails.
 */
export const ScoreReport = defineEntity({
  name: 'ScoreReport',
  tableName: 'score_reports',
  properties: {
    version: () => p.manyToOne(PackageVersion).deleteRule('cascade').primary(),
    /** How many analyses were begun: each takes the next number. */
    runs: p.integer().default(0),
    /** The number of the analysis whose result this is; one with a lower number comes too late. */
    generation: p.integer().default(0),
    startedAt: p.datetime(3).nullable(),
    finishedAt: p.datetime(3).nullable(),
    engine: p.string().length(16).nullable(),
    engineVersion: p.string().length(64).nullable(),
    granted: p.integer().nullable(),
    maximum: p.integer().nullable(),
    /** The share of the points that it got, from 0 to 100, rounded down; null when nothing was measured. */
    percent: p.integer().nullable(),
    /** The report as JSON text. */
    report: p.text().nullable(),
    /** Its tags that searches know, with a blank between them. */
    tags: p.text().default(''),
    /** Why the last analysis failed; null when it did not. */
    error: p.string().length(1000).nullable(),
    /** What the engine printed. */
    log: p.text().nullable(),
  },
})
export type ScoreReport = InferEntity<typeof ScoreReport>

/** The public API of a version, as comparing needs it: gzipped JSON. */
export const VersionSurface = defineEntity({
  name: 'VersionSurface',
  tableName: 'version_surfaces',
  properties: {
    version: () => p.manyToOne(PackageVersion).deleteRule('cascade').primary(),
    surface: p.blob(),
  },
})
export type VersionSurface = InferEntity<typeof VersionSurface>

export const logLevels = ['info', 'warning', 'error'] as const
export type LogLevel = (typeof logLevels)[number]

/** A line of the scoring log. It names packages by value, since it outlives them. */
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
