import { z } from 'zod'

/** A criterion with the points granted to a version. A criterion of the built-in engine is a check: it grants all points or none. */
const criterion = z.object({
  id: z.string(),
  title: z.string(),
  granted: z.number().int().nonnegative(),
  maximum: z.number().int().nonnegative(),
  /** Reason for the points, as Markdown. */
  reason: z.string(),
  /** How to get the remaining points, as Markdown; null if all points were granted or there is no remedy. */
  remedy: z.string().nullable(),
})
export type Criterion = z.infer<typeof criterion>

const section = z.object({
  /** Section ids of pana: `convention`, `documentation`, `platform`, `analysis`, `dependency`. */
  id: z.string(),
  title: z.string(),
  granted: z.number().int().nonnegative(),
  maximum: z.number().int().nonnegative(),
  /** `not_measured` when no criterion in the section was measured; the maximum is then 0. */
  status: z.enum(['passed', 'partial', 'failed', 'not_measured']),
  criteria: z.array(criterion),
})
export type Section = z.infer<typeof section>

/** The result of an analysis. Points are sums over the measured criteria. */
export const reportSchema = z.object({
  engine: z.object({ name: z.enum(['built-in', 'pana']), version: z.string() }),
  sections: z.array(section),
  /** The checks of the built-in engine, kept with a report by pana. Absent if `sections` has them. */
  checks: z.array(criterion).optional(),
  /** Criteria that were not measured, with the reason. They do not count towards the maximum. */
  notMeasured: z.array(z.object({ id: z.string(), title: z.string(), reason: z.string() })),
  /** Tags in the format of pub.dev: `platform:web`, `sdk:flutter`, `is:null-safe`, … */
  tags: z.array(z.string()),
  /** Notes in Markdown that do not affect the points, such as removals in a minor release. */
  notes: z.array(z.string()),
  /** Number of public API elements with doc comments; null when no library could be read. */
  documented: z.object({ documented: z.number().int(), total: z.number().int() }).nullable(),
  /** Sizes of the unpacked files in bytes by kind, such as `dart`, `image`, `font`, `other`; largest first. */
  sizes: z.array(z.object({ kind: z.string(), files: z.number().int(), bytes: z.number().int() })),
  /** Set if parts of the public API are missing, because files exceeded a limit or have unknown syntax. */
  isIncomplete: z.literal(true).optional(),
  /** Packages that must be known to determine the supported platforms. Internal, not shown to users. */
  unknownPackages: z.array(z.string()).optional(),
  /** Packages of this server that the report could name when it was stored. Internal, not shown to users. */
  leadsTo: z.array(z.string()).optional(),
})
export type Report = z.infer<typeof reportSchema>

type Points = { granted: number; maximum: number }

/** Adds up the points of sections or criteria. */
export const sumOf = (all: readonly Points[]): Points => ({
  granted: all.reduce((sum, { granted }) => sum + granted, 0),
  maximum: all.reduce((sum, { maximum }) => sum + maximum, 0),
})

/** Returns the checks of a version. They are the same for every package, unlike the points of pana. */
export const checksOf = ({ engine, sections, checks }: Pick<Report, 'engine' | 'sections' | 'checks'>): Criterion[] =>
  checks ?? (engine.name === 'built-in' ? sections.flatMap(({ criteria }) => criteria) : [])

/** Number of checks of the built-in engine. It divides 100, so that `percent` gives the number of passed checks. */
export const totalChecks = 10
export const passedChecksOf = (percent: number): number => Math.round((percent * totalChecks) / 100)

/** Returns the share of passed checks in percent, or null if the report is by a release with other checks. */
export function percentOf(report: Report): number | null {
  const checks = checksOf(report)
  const passed = checks.filter(({ granted, maximum }) => granted === maximum).length
  return checks.length === totalChecks ? Math.floor((100 * passed) / totalChecks) : null
}

/** Returns the granted and maximum points of a report. */
export const pointsOf = ({ sections }: Pick<Report, 'sections'>): Points => sumOf(sections)

/** Describes a result, such as "passed 8 of 10 checks". */
export function outcomeOf(report: Report): string {
  const [{ granted, maximum }, percent] = [pointsOf(report), percentOf(report)]
  const checks = percent === null ? [] : [`passed ${passedChecksOf(percent)} of ${totalChecks} checks`]
  const points = report.engine.name === 'pana' ? [`got ${granted} of ${maximum} points`] : []
  return [...checks, ...points].join(' and ')
}
