import { compareParsed, fitsClient, parseVersion, readVersion, type Version } from './version.ts'

type Bound = { version: Version; included: boolean }

/** A version range; a null bound is unbounded. A range with `min` above `max` allows no version. */
export type Constraint = { min: Bound | null; max: Bound | null }

/**
 * Parses a version constraint: `any`, `^1.2.3`, `1.2.3`, or a combination of comparisons such as `>=1.0.0 <2.0.0`. Returns null for a constraint that
 * pub does not accept. Source: pub_semver, `VersionConstraint.parse`.
 */
export function parseConstraint(text: string): Constraint | null {
  const trimmed = text.trim()
  if (trimmed === 'any') return { min: null, max: null }
  if (trimmed.startsWith('^')) return compatibleWith(trimmed.slice(1).trim())
  const parts = comparisons(trimmed)
  return parts === null || parts.length === 0 ? null : withoutPreReleasesOfMax(parts.reduce(intersection))
}

/** Returns whether the constraint allows a version. Non-canonical versions are never allowed. Source: pub_semver, `VersionRange.allows`. */
export function allows(constraint: Constraint, version: string): boolean {
  const parsed = parseVersion(version)
  return parsed !== null && allowsParsed(constraint, parsed)
}

/** Returns whether the constraint allows a parsed version. */
export function allowsParsed({ min, max }: Constraint, version: Version): boolean {
  const aboveMin = min === null ? 1 : compareParsed(version, min.version)
  const belowMax = max === null ? -1 : compareParsed(version, max.version)
  return (aboveMin > 0 || (aboveMin === 0 && min?.included === true)) && (belowMax < 0 || (belowMax === 0 && max?.included === true))
}

/** Returns whether the constraint has both a lower and an upper bound. */
export const isBounded = ({ min, max }: Constraint) => min !== null && max !== null

/** Returns whether no version can satisfy the constraint. */
export function isImpossible({ min, max }: Constraint): boolean {
  if (!min || !max) return false
  const order = compareParsed(min.version, max.version)
  return order > 0 || (order === 0 && !(min.included && max.included))
}

const versionForm = String.raw`\d+\.\d+\.\d+(?:-[0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*)?(?:\+[0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*)?`

/** Expands a caret constraint: `^1.2.3` is `>=1.2.3 <2.0.0-0`, and `^0.0.3` is `>=0.0.3 <0.1.0-0`. */
function compatibleWith(text: string): Constraint | null {
  const version = readable(text)
  if (!version) return null
  const [major, minor] = version.release
  const next = major === 0n ? release(0n, minor + 1n, 0n) : release(major + 1n, 0n, 0n)
  return { min: { version, included: true }, max: { version: firstPreRelease(next), included: false } }
}

/** Splits a text into comparisons. Returns null if it contains anything else. The sticky pattern is created per call because it keeps state. */
function comparisons(text: string): Constraint[] | null {
  const comparison = new RegExp(String.raw`\s*([<>]=?)?\s*(${versionForm})\s*`, 'y')
  const found: Constraint[] = []
  while (comparison.lastIndex < text.length) {
    const match = comparison.exec(text)
    const version = readable(match?.[2] ?? '')
    if (!match || !version) return null
    found.push(comparisonOf(match[1] ?? '', version))
  }
  return found
}

function comparisonOf(operator: string, version: Version): Constraint {
  const bound = { version, included: operator !== '<' && operator !== '>' }
  return { min: operator.startsWith('<') ? null : bound, max: operator.startsWith('>') ? null : bound }
}

const intersection = (a: Constraint, b: Constraint): Constraint => ({ min: tighter(a.min, b.min, 1), max: tighter(a.max, b.max, -1) })

/** Returns the more restrictive of two bounds. `direction` is 1 for lower bounds and -1 for upper bounds. */
function tighter(a: Bound | null, b: Bound | null, direction: 1 | -1): Bound | null {
  if (!a || !b) return a ?? b
  const order = compareParsed(a.version, b.version) * direction
  if (order === 0) return a.included ? b : a
  return order > 0 ? a : b
}

/**
 * Excludes pre-releases of the upper bound: `<2.0.0` means `<2.0.0-0`, unless the lower bound is one of 2.0.0. Source: pub_semver, `VersionRange`.
 */
function withoutPreReleasesOfMax({ min, max }: Constraint): Constraint {
  if (!max || max.included || max.version.preRelease.length > 0 || max.version.build.length > 0 || isImpossible({ min, max }))
    return { min, max }
  const minIsPreReleaseOfMax = min !== null && min.version.preRelease.length > 0 && sameRelease(min.version, max.version)
  return minIsPreReleaseOfMax ? { min, max } : { min, max: { version: firstPreRelease(max.version), included: false } }
}

const sameRelease = (a: Version, b: Version) => a.release.every((number, index) => number === b.release[index])

function readable(text: string): Version | null {
  const version = readVersion(text)
  return version && fitsClient(version) ? version : null
}

const release = (...numbers: Version['release']): Version => ({ text: numbers.join('.'), release: numbers, preRelease: [], build: [] })

const firstPreRelease = ({ release: numbers }: Version): Version => ({
  text: `${numbers.join('.')}-0`,
  release: numbers,
  preRelease: [0n],
  build: [],
})
