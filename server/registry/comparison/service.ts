import { z } from 'zod'
import type { Context } from '../../platform/access/context.ts'
import { turnOf } from '../../platform/http/limits.ts'
import { nullIfFailed, openTaskQueue, type TaskQueue } from '../../platform/threads/task-queue.ts'
import { compareParsed, parseVersion, type Version } from '../../platform/pub/version.ts'
import type { PackageVersion } from '../packages/entity.ts'
import { loadPackage } from '../packages/service.ts'
import { versionIn } from '../packages/versions/releases.ts'
import { findVersion, previousVersion } from '../packages/versions/service.ts'
import { listFiles, readPackageFile } from '../files/service.ts'
import type { DiffTask, TextDiff } from './diff-texts.ts'
import { compareFiles, type FileChange } from './file-changes.ts'

/** Two versions of a package that the caller may read. `to` is the version that is compared with `from`. */
export type Comparison = { from: PackageVersion; to: PackageVersion }

/** All differences between the files of two versions, and the unpacked sizes in bytes. */
export type FileComparison = { changes: FileChange[]; before: number; after: number }

declare module '../../platform/caches/caches.ts' {
  interface CachedValues {
    /** Changed files of two versions, keyed by the hashes of both archives. */
    file_changes: FileComparison
  }
}

/** Returns the pair of a version and `from`, or its previous version. Null if the other version does not exist for the caller. */
export async function findComparison(context: Context, to: PackageVersion, from: string | null): Promise<Comparison | null> {
  const pkg = await loadPackage(context, to.package.id)
  const other = pkg && (from === null ? await previousVersion(context, pkg, to) : await findVersion(context, pkg, from))
  return other ? { from: other, to } : null
}

/**
 * Compares the files of two versions. Archives are immutable, so results are cached.
 * @throws ApiError ServiceUnavailable if an archive cannot be read.
 */
export async function changedFiles(context: Context, { from, to }: Comparison): Promise<FileComparison> {
  const key = `${from.archiveSha256} ${to.archiveSha256}`
  const known = context.caches.file_changes.get(key)
  if (known) return known
  const [earlier, later] = [await listFiles(context, from), await listFiles(context, to)]
  const found = { changes: await compareFiles(earlier, later), before: totalSize(earlier), after: totalSize(later) }
  context.caches.file_changes.set(key, found)
  return found
}

const totalSize = (files: readonly { bytes: number }[]) => files.reduce((sum, { bytes }) => sum + bytes, 0)

/** The text difference of a changed file, or why it was not computed. */
export type FileDiff = { change: FileChange } & (
  | { state: 'text'; diff: TextDiff; before: string; after: string }
  | { state: 'binary' | 'too_large' | 'too_different' }
)

/** Maximum size of each side of a text comparison in bytes. */
const maxTextBytes = 512 * 1024

/** Compares the content of a file that differs between two versions. Returns null for any other path. @throws ApiError as `changedFiles`. */
export async function diffFile(context: Context, comparison: Comparison, path: string, lines: number): Promise<FileDiff | null> {
  const { changes } = await changedFiles(context, comparison)
  const change = changes.find((one) => one.path === path)
  if (!change) return null
  if (Math.max(change.before ?? 0, change.after ?? 0) > maxTextBytes) return { change, state: 'too_large' }
  context.budget?.spendText((change.before ?? 0) + (change.after ?? 0))
  const before = change.before === null ? '' : await readText(context, comparison.from, change.previousPath ?? path)
  const after = change.after === null ? '' : await readText(context, comparison.to, path)
  if (before === null || after === null) return { change, state: 'binary' }
  const diff = await diffInThread(context, { before, after, context: lines })
  return diff ? { change, state: 'text', diff, before, after } : { change, state: 'too_different' }
}

const decoder = new TextDecoder('utf-8', { fatal: true })

/** Returns the text of a file, or null if it is binary: not UTF-8, or with a NUL character, as in Git. */
async function readText(context: Context, version: PackageVersion, path: string): Promise<string | null> {
  const found = await readPackageFile(context, version, path)
  if (!found || found.content.includes(0)) return null
  try {
    return decoder.decode(found.content)
  } catch {
    return null
  }
}

declare module '../../services.ts' {
  interface State {
    comparisonQueue?: TaskQueue
  }
}

const queueOf = ({ state }: Pick<Context, 'state'>): TaskQueue =>
  (state.comparisonQueue ??= openTaskQueue(new URL('./worker.ts', import.meta.url), {
    threads: 1,
    deadlineMs: 4000,
    idleMs: 10_000,
    heapMb: 192,
    waiting: 100,
    waitingPerKey: 20,
    maxWaitMs: 10_000,
    full: 'Too many comparisons are waiting. Try again in a moment.',
    failed: 'The files could not be compared. Try again in a minute.',
  }))

const line = z.object({
  kind: z.enum(['context', 'added', 'removed']),
  text: z.string(),
  marks: z.array(z.tuple([z.number(), z.number()])),
  hasNoNewline: z.boolean(),
})
const hunk = z.object({
  oldStart: z.number(),
  oldLines: z.number(),
  newStart: z.number(),
  newLines: z.number(),
  lines: z.array(line),
})
const answer = z
  .object({ hunks: z.array(hunk), added: z.number(), removed: z.number(), isTruncated: z.boolean() })
  .nullable() satisfies z.ZodType<TextDiff | null>

/**
 * Compares texts in a worker thread. Returns null if that takes too long or too much memory.
 * @throws ApiError ServiceUnavailable when too many comparisons are waiting, or no thread can be started.
 */
async function diffInThread(context: Context, task: DiffTask): Promise<TextDiff | null> {
  const work = queueOf(context).run(turnOf(context), task).catch(nullIfFailed)
  return answer.parse(await (context.budget?.uncounted(work) ?? work))
}

/** The part of a changelog about a range of versions: its Markdown and the versions that have a section in it, in their order. */
export type ChangelogExcerpt = { source: string; versions: string[] }

/**
 * Returns the sections of a Markdown changelog about versions above `after` up to `to`. A section starts with a heading that contains its version.
 * Sections of the highest heading level that names versions count. Returns null without such a section.
 */
export function changelogBetween(source: string, after: string, to: string): ChangelogExcerpt | null {
  const [low, high] = [parseVersion(after), parseVersion(to)]
  if (!low || !high) return null
  const lines = source.split(/\r?\n/)
  const headings = versionHeadings(lines)
  const level = Math.min(...headings.map((heading) => heading.level))
  const sections = headings.filter((heading) => heading.level === level)
  const kept = sections
    .map((section, index) => ({ ...section, end: sections[index + 1]?.line ?? lines.length }))
    .filter(({ version }) => compareParsed(version, low) > 0 && compareParsed(version, high) <= 0)
  if (kept.length === 0) return null
  return {
    source: kept.map(({ line, end }) => lines.slice(line, end).join('\n').trim()).join('\n\n'),
    versions: kept.map(({ version }) => version.text),
  }
}

type Heading = { line: number; level: number; version: Version }

function versionHeadings(lines: readonly string[]): Heading[] {
  const headings: Heading[] = []
  let fence: string | null = null
  for (const [line, text] of lines.entries()) {
    const mark = /^ {0,3}(`{3,}|~{3,})/.exec(text)?.[1]
    if (mark && (fence === null || (mark[0] === fence[0] && mark.length >= fence.length))) fence = fence === null ? mark : null
    if (fence !== null || mark) continue
    const heading = headingAt(lines, line)
    const version = heading && parseVersion(versionIn(heading.text) ?? '')
    if (heading && version) headings.push({ line, level: heading.level, version })
  }
  return headings
}

/** Returns the heading in a line: `## 1.2.0`, or a text underlined with `===` or `---`. */
function headingAt(lines: readonly string[], line: number): { level: number; text: string } | null {
  const text = (lines[line] ?? '').slice(0, maxHeading)
  const [, marks, title] = /^ {0,3}(#{1,6})\s+(.*)$/.exec(text) ?? []
  if (marks !== undefined && title !== undefined) return { level: marks.length, text: title }
  const under = /^ {0,3}(=+|-{2,})\s*$/.exec((lines[line + 1] ?? '').slice(0, maxHeading))?.[1]
  return under && text.trim() ? { level: under.startsWith('=') ? 1 : 2, text } : null
}

/** Headings longer than this name no version. */
const maxHeading = 200
