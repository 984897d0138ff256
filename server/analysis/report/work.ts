import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { buildPages } from '../api-pages/build.ts'
import { packPages, PagesTooLarge } from '../api-pages/pack.ts'
import { readApi } from '../dart/read-api.ts'
import { readComplete, readPackages, type Surface, surfaceOf } from '../dart/surface.ts'
import { ApiError } from '../../errors.ts'
import { type ApiChanges, apiVerdictOf, amountOf, judgeVersion } from '../dart/changes.ts'
import { compareSurfaces } from '../dart/compare/compare.ts'
import { buildReport, isIncomplete } from './build-report.ts'
import { code, firstOf, type Subject } from './judge.ts'
import { type AnalysisTask, type Answer, archiveName, docsName, type Question } from './task.ts'
import { repositoryOf } from '../../registry/markdown/links.ts'
import { unpack } from './unpack.ts'

/**
 * Analyzes the archive in a folder and, if requested, writes the documentation pages to the folder. Calls `keep` with the answer first, so that the
 * report survives a failure to do so.
 */
export async function work({ facts, wantsDocs, earlier }: Question, folder: string, keep: (answer: Answer) => void): Promise<Answer> {
  const usage = measure()
  try {
    const contents = await unpack(join(folder, archiveName))
    usage.sample()
    const api = await readApi(contents.sources, contents.pubspec.name)
    usage.sample()
    contents.sources.clear()
    const subject: Subject = { contents, facts, api, packages: readPackages(facts.packages) }
    usage.sample()
    const outline = surfaceOf(api, isIncomplete(subject))
    const changes = changesSince(earlier, outline)
    const change = earlier && changes && apiChangeNote(earlier.version, facts.version, changes)
    const apiVerdict = earlier && changes && apiVerdictOf(earlier.version, facts.version, changes)
    const report = buildReport(subject, change === null ? [] : [change])
    const surface = gzipSync(JSON.stringify(outline))
    if (wantsDocs) keep({ report, surface, apiVerdict, docsFailure: null, ...usage.totals() })
    const docsFailure = wantsDocs ? await writePages(subject, join(folder, docsName)) : null
    return { report, surface, apiVerdict, docsFailure, ...usage.totals() }
  } catch (error) {
    if (error instanceof ApiError) return { refused: `The archive cannot be read: ${error.message}`, ...usage.totals() }
    throw error
  }
}

/** Writes the documentation pages. Returns null on success, else the reason of the failure. */
async function writePages({ contents, facts, api }: Subject, path: string): Promise<string | null> {
  const { name, version } = facts
  const { description } = contents.pubspec
  const about = { name, version, description, repository: repositoryOf(contents.pubspec) }
  try {
    await packPages(buildPages(api, about), path)
    return null
  } catch (error) {
    if (error instanceof PagesTooLarge) return error.message
    throw error
  }
}

/** Triggers a garbage collection when the process has grown. */
function collectGarbage(): void {
  if (process.memoryUsage.rss() < collectAboveBytes) return
  globalThis.gc?.({ type: 'major', flavor: 'last-resort' })
  collectAboveBytes = process.memoryUsage.rss() + 16 * 1024 ** 2
}
let collectAboveBytes = 100 * 1024 ** 2

/** Measures the resources used by this process from now on. The peak memory is the maximum of the samples taken by `sample`. */
function measure() {
  const before = process.cpuUsage()
  let peakBytes = 0
  const sample = () => (peakBytes = Math.max(peakBytes, process.memoryUsage.rss()))
  return {
    sample,
    totals() {
      sample()
      collectGarbage()
      const { user, system } = process.cpuUsage(before)
      return { cpuMs: Math.round((user + system) / 1000), peakBytes, residentBytes: process.memoryUsage.rss() }
    },
  }
}

/** Compares the public API with that of the earlier version; null if either is incomplete or unknown. */
function changesSince(earlier: AnalysisTask['earlier'], surface: Surface): ApiChanges | null {
  const before = surface.isIncomplete ? null : earlier && readComplete(earlier.surface)
  return before && compareSurfaces(before, surface)
}

/** Describes in Markdown how the public API changed since an earlier version; null if it did not change. */
function apiChangeNote(earlier: string, version: string, changes: ApiChanges): string | null {
  const { added, removed, changed } = changes
  const counts = [[added.length, 'addition'] as const, [removed.length, 'removal'] as const, [changed.length, 'change'] as const]
  const amounts = counts.flatMap(([count, noun]) => (count > 0 ? [amountOf(count, noun)] : []))
  if (amounts.length === 0) return null
  const summary = `The public API has ${amounts.join(', ')} since ${code(earlier)}.`
  const verdict = judgeVersion(earlier, version, changes)
  if (!verdict || verdict.isHonest) return summary
  const broken = [...removed, ...changed.filter(({ breaks }) => breaks.length > 0)].map(({ name }) => name)
  const named = broken.length > 0 ? ` (${firstOf(broken.map(code))})` : ''
  return `${summary} **${verdict.sentence}**${named}: semantic versioning requires a ${verdict.needed} release.`
}
