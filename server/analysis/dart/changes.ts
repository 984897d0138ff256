import { z } from 'zod'
import { compareParsed, parseVersion, type Version } from '../../platform/pub/version.ts'

const element = z.object({
  /** Path below `lib/` of the library that exports the element. */
  library: z.string(),
  /** Kind, such as `class`, `method` or `library`. */
  kind: z.string(),
  /** Qualified name: `Name`, `Name.member`, or the path of a library. */
  name: z.string(),
})

const single = element.extend({ signature: z.string() })

/** Differences between the public APIs of two versions. */
export const apiChangesSchema = z.object({
  added: z.array(single),
  removed: z.array(single),
  changed: z.array(
    element.extend({
      before: z.string(),
      after: z.string(),
      /** Reasons why callers may break, as sentence fragments; empty for a compatible change. */
      breaks: z.array(z.string()),
    }),
  ),
})
export type ApiChanges = z.infer<typeof apiChangesSchema>

/** What the differences mean for code that uses the package. */
export const apiVerdicts = ['breaking', 'additive', 'none'] as const

/** How the public API changed since the version `from`. `isHonest` is null unless `from` is an earlier version. */
export const apiVerdictSchema = z.object({ from: z.string(), verdict: z.enum(apiVerdicts), isHonest: z.boolean().nullable() })
export type ApiVerdict = z.infer<typeof apiVerdictSchema>

/** Summarizes the differences between the public APIs of two versions. */
export function apiVerdictOf(earlier: string, later: string, changes: ApiChanges): ApiVerdict {
  const isBreaking = changes.removed.length > 0 || changes.changed.some(({ breaks }) => breaks.length > 0)
  const verdict = isBreaking ? 'breaking' : changes.added.length + changes.changed.length > 0 ? 'additive' : 'none'
  return { from: earlier, verdict, isHonest: judgeVersion(earlier, later, changes)?.isHonest ?? null }
}

/** Kinds of version increments, smallest first. `build` changes only the part after `+`. */
const steps = ['build', 'prerelease', 'patch', 'minor', 'major'] as const
type Step = (typeof steps)[number]

type Verdict = {
  isHonest: boolean
  /** The actual increment, and the smallest one that the changes require. */
  step: Step
  needed: Step
  /** Such as `2 removals in a minor release`; null if the increment is large enough. */
  sentence: string | null
}

/**
 * Checks whether a version number follows semantic versioning, in Dart's reading: before 1.0.0, a minor release may break and a patch may add.
 * Returns null unless `later` is a later version.
 */
export function judgeVersion(earlier: string, later: string, changes: ApiChanges): Verdict | null {
  const [before, after] = [parseVersion(earlier), parseVersion(later)]
  if (before === null || after === null || compareParsed(before, after) >= 0) return null
  const step = stepBetween(before, after)
  const breaking = changes.removed.length + changes.changed.filter(({ breaks }) => breaks.length > 0).length
  const isEarly = after.release[0] === 0n
  const needed = breaking > 0 ? (isEarly ? 'minor' : 'major') : changes.added.length > 0 ? (isEarly ? 'patch' : 'minor') : 'build'
  const isHonest = step === 'prerelease' || steps.indexOf(step) >= steps.indexOf(needed)
  return { isHonest, step, needed, sentence: isHonest ? null : `${summarize(changes, breaking)} in ${releases[step]}` }
}

/** Changes between prereleases, or from a prerelease to its release, count as a prerelease step, which may contain any change. */
function stepBetween(before: Version, after: Version): Step {
  const at = before.release.findIndex((number, index) => number !== after.release[index])
  if (at !== -1) return (['major', 'minor', 'patch'] as const)[at] ?? 'patch'
  return before.preRelease.length > 0 ? 'prerelease' : 'build'
}

const releases = {
  build: 'a release that differs by its build number',
  prerelease: 'a prerelease',
  patch: 'a patch release',
  minor: 'a minor release',
  major: 'a major release',
}

function summarize({ added, removed }: ApiChanges, breaking: number): string {
  if (breaking === 0) return amountOf(added.length, 'addition')
  const changed = breaking - removed.length
  return [removed.length > 0 && amountOf(removed.length, 'removal'), changed > 0 && amountOf(changed, 'breaking change')]
    .filter(Boolean)
    .join(' and ')
}

/** Returns a count with its noun, such as `1 link` or `2 links`. */
export const amountOf = (count: number, noun: string): string => `${count} ${noun}${count === 1 ? '' : 's'}`
