import { compareParsed, known, type Version } from '../../../platform/pub/version.ts'

/** Fields needed to select the latest version. */
export type Candidate = { version: string; retracted: boolean }

/**
 * Returns the version to show first: the highest stable version, else the highest pre-release. Ignores retracted versions unless all are; then
 * the result is not the latest version. Null for an empty list. Throws a RangeError for a version that is not canonical.
 * Source: pub_semver, `Version.primary`. `latestVersionsOf` implements the same rule as queries; a test compares them.
 */
export function latestOf<Entry extends Candidate>(versions: readonly Entry[]): Entry | null {
  const live = versions.filter(({ retracted }) => !retracted)
  return highest(live.length > 0 ? live : versions, (a, b) => stability(a) - stability(b) || compareParsed(a, b))
}

/** Returns the highest version that is not retracted if it is a pre-release, else null. Throws a RangeError as `latestOf`. */
export function latestPrereleaseOf<Entry extends Candidate>(versions: readonly Entry[]): Entry | null {
  const last = highest(
    versions.filter(({ retracted }) => !retracted),
    compareParsed,
  )
  return last && stability(known(last.version)) === 0 ? last : null
}

/**
 * Returns the version that a version is compared with by default: the next lower one of the best kind. Stable versions are compared with stable ones
 * if possible, pre-releases with any. Retracted versions are the last choice. Null if there is no lower version.
 */
export function previousOf<Entry extends Candidate>(versions: readonly Entry[], of: string): Entry | null {
  const later = known(of)
  const isStable = stability(later) === 1
  const rank = ({ version, retracted }: Entry) => (retracted ? 0 : 2) + (isStable ? stability(known(version)) : 0)
  const lower = versions.filter(({ version }) => compareParsed(known(version), later) < 0)
  const best = Math.max(...lower.map(rank))
  return highest(
    lower.filter((entry) => rank(entry) === best),
    compareParsed,
  )
}

const stability = (version: Version) => (version.preRelease.length === 0 ? 1 : 0)

function highest<Entry extends Candidate>(entries: readonly Entry[], compare: (a: Version, b: Version) => number): Entry | null {
  let best: { entry: Entry; version: Version } | null = null
  for (const entry of entries) {
    const version = known(entry.version)
    if (best === null || compare(version, best.version) > 0) best = { entry, version }
  }
  return best?.entry ?? null
}
