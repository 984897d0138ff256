import { compareParsed, known, type Version } from '../../pub/version.ts'

/** What choosing a latest version needs to know of each. */
export type Candidate = { version: string; retracted: boolean }

/**
 * Returns the version to show first: the highest stable one, else the highest pre-release, among those not retracted; if all are retracted,
 * among all. Null only for an empty list. A retracted result is displayed, but never named as the latest. Throws a RangeError for what is no canonical version. Source: pub_semver, `Version.primary`.
 * `pointersOf` in retraction/service.ts makes the same choice by a query; change both.
 */
export function latestOf<Entry extends Candidate>(versions: readonly Entry[]): Entry | null {
  const live = versions.filter(({ retracted }) => !retracted)
  return highest(live.length > 0 ? live : versions, (a, b) => stability(a) - stability(b) || compareParsed(a, b))
}

/**
 * The highest version by plain order among those not retracted, if it is a pre-release above the latest stable one (or there is no stable one);
 * else null. Throws a RangeError for what is no canonical version.
 */
export function latestPrereleaseOf<Entry extends Candidate>(versions: readonly Entry[]): Entry | null {
  const last = highest(
    versions.filter(({ retracted }) => !retracted),
    compareParsed,
  )
  return last && stability(known(last.version)) === 0 ? last : null
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
