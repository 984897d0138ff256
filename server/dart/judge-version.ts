import { compareParsed, parseVersion, type Version } from '../pub/version.ts'
import type { ApiChanges } from './changes.ts'

/** Parts of a version, least first: `prerelease` changes nothing else, `build` only what follows a `+`. */
const steps = ['build', 'prerelease', 'patch', 'minor', 'major'] as const
export type Step = (typeof steps)[number]

export type Verdict = {
  isHonest: boolean
  /** What the version's number says, and the least that the changes ask for. */
  step: Step
  needed: Step
  /** Such as `2 removals in a minor release`; null for an honest number. */
  sentence: string | null
}

/** Whether a version's number says what changed since an earlier one, as Dart reads semantic versions: before 1.0.0, a minor release breaks, and a patch adds. Null for what is no later version. */
export function judgeVersion(earlier: string, later: string, changes: ApiChanges): Verdict | null {
  const [before, after] = [parseVersion(earlier), parseVersion(later)]
  if (before === null || after === null || compareParsed(before, after) >= 0) return null
  const step = stepBetween(before, after)
  const breaking = changes.removed.length + changes.changed.filter(({ breaks }) => breaks.length > 0).length
  const isEarly = after.release[0] === 0n
  const needed = breaking > 0 ? (isEarly ? 'minor' : 'major') : changes.added.length > 0 ? (isEarly ? 'patch' : 'minor') : 'build'
  const isHonest = step === 'prerelease' || steps.indexOf(step) >= steps.indexOf(needed)
  return { isHonest, step, needed, sentence: isHonest ? null : `${told(changes, breaking)} in ${releases[step]}` }
}

/** A prerelease is on its way to its own release: what changes from one to the next, or to that release, is as its number says. */
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

function told({ added, removed }: ApiChanges, breaking: number): string {
  if (breaking === 0) return counted(added.length, 'addition')
  const changed = breaking - removed.length
  return [
    ...(removed.length > 0 ? [counted(removed.length, 'removal')] : []),
    ...(changed > 0 ? [counted(changed, 'breaking change')] : []),
  ].join(' and ')
}

const counted = (count: number, noun: string): string => `${count} ${noun}${count === 1 ? '' : 's'}`
