import { z } from 'zod'
import type { StoredPackage } from '../dart/stored-surface.ts'
import { type Report, reportSchema } from './report.ts'

/** What this registry knows of a hosted dependency. */
export type DependencyFacts = {
  /** Its versions that are not retracted, in any order. `publishedAt` is ISO 8601. */
  versions: { version: string; publishedAt: string }[]
  isDiscontinued: boolean
  replacedBy: string | null
}

/** What the registry knows of a version and its archive does not say. Whoever gives the same facts gets the same report. */
export type PackageFacts = {
  name: string
  version: string
  /** Only members read it: what an open-source package should have, it need not. */
  isPrivate: boolean
  /** By the names of direct dependencies that come from this registry; null or left out for what it does not know, such as those of pub.dev. */
  dependencies: Record<string, DependencyFacts | null>
  /** The latest versions of the packages that it leads to through its dependencies and theirs, by name, as far as they come from this registry. */
  packages: Record<string, StoredPackage>
  /** The latest stable Dart SDK that this server knows, such as `3.11.0`; null for none. */
  dart: string | null
  /** When the analysis takes place, as ISO 8601: a dependency's release of the last 30 days need not be supported yet. */
  now: string
}

export type AnalysisTask = {
  /** Path of the .tar.gz on disk. */
  archive: string
  facts: PackageFacts
  /** The folder, on the server's disk, in which the packed pages of API documentation are wanted; null when they are not. */
  docs: { folder: string } | null
  /** The version before this one, to compare the public API with, and its surface as an analysis gave it. */
  earlier: { version: string; surface: Uint8Array } | null
}

export type AnalysisResult = {
  report: Report
  /** The public API in short, as gzipped JSON: what comparing two versions needs. */
  surface: Uint8Array
  /** Path of the packed pages in the folder that the task names; null when none were wanted, or there are too many. */
  docs: string | null
  /** Why there are no pages though they were wanted. */
  docsFailure: string | null
  usage: Usage
}

/** What an analysis took: time of a processor, the most memory that its process held, time by the clock. */
export type Usage = { cpuMs: number; peakBytes: number; ms: number }

/** What the process is asked; the archive lies in its folder. */
export type Question = { facts: PackageFacts; wantsDocs: boolean; earlier: AnalysisTask['earlier'] }

/** In the folder of the process. */
export const archiveName = 'archive.tar.gz'
export const docsName = 'docs.pages'

const usage = { cpuMs: z.number(), peakBytes: z.number(), residentBytes: z.number() }

/** What the process answers. `refused` says why an archive cannot be read. Pages of documentation lie in its folder. */
export const answerSchema = z.union([
  z.object({
    ...usage,
    docsFailure: z.string().nullable(),
    report: reportSchema,
    surface: z.instanceof<typeof Uint8Array<ArrayBufferLike>>(Uint8Array),
  }),
  z.object({ ...usage, refused: z.string() }),
])
export type Answer = z.infer<typeof answerSchema>
