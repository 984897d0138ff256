import { z } from 'zod'

/** Something that a version gets points for. */
const criterion = z.object({
  id: z.string(),
  title: z.string(),
  granted: z.number().int().nonnegative(),
  maximum: z.number().int().nonnegative(),
  /** Why it got these points, as Markdown. */
  reason: z.string(),
  /** How to get the rest, as Markdown; null where nothing is missing or nothing helps. */
  remedy: z.string().nullable(),
})
export type Criterion = z.infer<typeof criterion>

const section = z.object({
  /** As pana names them: `convention`, `documentation`, `platform`, `analysis`, `dependency`; `size` is ours. */
  id: z.string(),
  title: z.string(),
  granted: z.number().int().nonnegative(),
  maximum: z.number().int().nonnegative(),
  /** `not_measured` when nothing in it was measured; it has no maximum then. */
  status: z.enum(['passed', 'partial', 'failed', 'not_measured']),
  criteria: z.array(criterion),
})
export type Section = z.infer<typeof section>

/** What an analysis found a version to be worth. Points are sums of what was measured. */
export const reportSchema = z.object({
  engine: z.object({ name: z.enum(['built-in', 'pana']), version: z.string() }),
  sections: z.array(section),
  /** What the engine did not measure, and why; it is left out of the maximum. */
  notMeasured: z.array(z.object({ id: z.string(), title: z.string(), reason: z.string() })),
  /** What follows from the analysis, as pub.dev's tags: `platform:web`, `sdk:flutter`, `is:null-safe`, … */
  tags: z.array(z.string()),
  /** Remarks without points, as Markdown, such as removals in a minor release. */
  notes: z.array(z.string()),
  /** Share of the public API with doc comments; null when no library could be read. */
  documented: z.object({ documented: z.number().int(), total: z.number().int() }).nullable(),
  /** Bytes of the unpacked files by kind, largest first, such as `dart`, `image`, `font`, `other`. */
  sizes: z.array(z.object({ kind: z.string(), files: z.number().int(), bytes: z.number().int() })),
  /** The packages of which more must be known to say where it works; nobody is shown this. */
  unknownPackages: z.array(z.string()).optional(),
  /** The packages of this server that it could name when it was stored; nobody is shown this. */
  leadsTo: z.array(z.string()).optional(),
})
export type Report = z.infer<typeof reportSchema>

/** The points of a report: those granted, of those that could have been. */
export const pointsOf = ({ sections }: Pick<Report, 'sections'>): { granted: number; maximum: number } => ({
  granted: sections.reduce((sum, { granted }) => sum + granted, 0),
  maximum: sections.reduce((sum, { maximum }) => sum + maximum, 0),
})
