import { z } from 'zod'
import { type Report, reportSchema } from './report.ts'
import { type ApiVerdict, apiVerdictSchema } from '../dart/changes.ts'
import type { StoredPackage } from '../dart/surface.ts'

/** Registry data about a hosted dependency. */
export type DependencyFacts = {
  /** Versions that are not retracted, in any order. `publishedAt` is in ISO 8601 format. */
  versions: { version: string; publishedAt: string }[]
  isDiscontinued: boolean
  replacedBy: string | null
}

/** Registry data about a version that is not part of its archive. Equal facts give equal reports. */
export type PackageFacts = {
  name: string
  version: string
  /** Whether only members can read the package. Private packages are exempt from open-source rules. */
  isPrivate: boolean
  /** Data of direct dependencies hosted in this registry, by name. Null or missing for unknown packages, such as those on pub.dev. */
  dependencies: Record<string, DependencyFacts | null>
  /** Latest versions of all direct and transitive dependencies hosted in this registry, by name. */
  packages: Record<string, StoredPackage>
  /** Latest stable Dart SDK known to this server, such as `3.11.0`; null if none is known. */
  dart: string | null
  /** Time of the analysis in ISO 8601 format. Releases of dependencies from the last 30 days need not be supported yet. */
  now: string
}

export type AnalysisTask = {
  /** Path of the .tar.gz archive on disk. */
  archive: string
  facts: PackageFacts
  /** Folder on the server's disk for the packed API documentation; null when no documentation is requested. */
  docs: { folder: string } | null
  /** The previous version and its stored API surface, to compare the public API with. */
  earlier: { version: string; surface: Uint8Array } | null
}

export type AnalysisResult = {
  report: Report
  /** Summary of the public API as gzipped JSON, for comparing versions. */
  surface: Uint8Array
  /** How the public API differs from that of the earlier version; null without one. */
  apiVerdict: ApiVerdict | null
  /** Path of the packed pages in the requested folder; null when none were requested or they exceed a limit. */
  docs: string | null
  /** Reason why requested pages are missing. */
  docsFailure: string | null
  usage: Usage
}

/** Resources used by an analysis: CPU time, peak memory of the process, and elapsed time. */
export type Usage = { cpuMs: number; peakBytes: number; ms: number }

/** The question sent to the process. The archive is in the process's folder. */
export type Question = { facts: PackageFacts; wantsDocs: boolean; earlier: AnalysisTask['earlier'] }

/** File names in the process's folder. */
export const archiveName = 'archive.tar.gz'
export const docsName = 'docs.pages'

const usage = { cpuMs: z.number(), peakBytes: z.number(), residentBytes: z.number() }

/** The answer of the process. `refused` is the reason why an archive cannot be read. Documentation pages are written to the process's folder. */
export const answerSchema = z.union([
  z.object({
    ...usage,
    docsFailure: z.string().nullable(),
    report: reportSchema,
    apiVerdict: apiVerdictSchema.nullable(),
    surface: z.instanceof<typeof Uint8Array<ArrayBufferLike>>(Uint8Array),
  }),
  z.object({ ...usage, refused: z.string() }),
])
export type Answer = z.infer<typeof answerSchema>
