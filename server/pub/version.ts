/** A number or a text between two dots of a pre-release or of build metadata. */
export type Identifier = bigint | string

/** A version as pub_semver reads it. Numbers have any size. */
export type Version = {
  text: string
  release: [major: bigint, minor: bigint, patch: bigint]
  /** Empty: a stable version. */
  preRelease: Identifier[]
  build: Identifier[]
}

/** Longest version that the registry knows (pub's own limit), in characters. */
export const maxVersionLength = 64

/**
 * Reads a version in its canonical form: three numbers, optional `-pre` and `+build`, no leading zeros anywhere.
 * Gives null for everything else, also for what is longer than 64 characters. Source: pub_semver, `Version.canonicalizedVersion`.
 */
export function parseVersion(text: string): Version | null {
  const version = readVersion(text)
  return version !== null && canonical(version) === text ? version : null
}

/** Like `parseVersion`, but also with leading zeros, as pub_semver takes versions inside a constraint. */
export function readVersion(text: string): Version | null {
  const match = text.length <= maxVersionLength ? form.exec(text) : null
  if (!match) return null
  const [, major = '', minor = '', patch = '', preRelease, build] = match
  return { text, release: [BigInt(major), BigInt(minor), BigInt(patch)], preRelease: identifiers(preRelease), build: identifiers(build) }
}

/** Negative, zero or positive, in pub_semver's order: `1.0.0-dev < 1.0.0 < 1.0.0+1`. Source: pub_semver, `Version.compareTo`. */
export function compareParsed(a: Version, b: Version): number {
  return (
    compareLists(a.release, b.release) ||
    Number(isStable(a)) - Number(isStable(b)) ||
    compareLists(a.preRelease, b.preRelease) ||
    compareLists(a.build, b.build)
  )
}

/** Whether a version has a pre-release part; build metadata alone leaves it stable. Throws a RangeError for what is no canonical version. */
export function isPrerelease(text: string): boolean {
  return !isStable(known(text))
}

/** Whether pub itself can read the version: its release numbers are 64-bit integers. */
export function fitsClient({ release }: Version): boolean {
  return release.every((number) => number <= largestInteger)
}

/** Throws a RangeError where `parseVersion` gives null. */
export function known(text: string): Version {
  const version = parseVersion(text)
  if (!version) throw new RangeError(`Not a canonical version: ${text}`)
  return version
}

const form = /^(\d+)\.(\d+)\.(\d+)(?:-([0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*))?(?:\+([0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*))?$/
/** What Dart reads as an integer: also with a sign, so `-5` in `1.0.0--5` is a number. */
const integer = /^-?\d+$/
/** Dart reads these as integers too; their canonical form would be decimal. */
const hexadecimal = /^-?0[xX][0-9A-Fa-f]+$/
const largestInteger = 2n ** 63n - 1n

function identifiers(list: string | undefined): Identifier[] {
  return list === undefined ? [] : list.split('.').map((part) => (integer.test(part) || hexadecimal.test(part) ? number(part) : part))
}

const number = (part: string) => (part.startsWith('-') ? -BigInt(part.slice(1)) : BigInt(part))

function canonical({ release, preRelease, build }: Version): string {
  return release.join('.') + (preRelease.length > 0 ? `-${preRelease.join('.')}` : '') + (build.length > 0 ? `+${build.join('.')}` : '')
}

const isStable = (version: Version) => version.preRelease.length === 0

/** Missing parts come first, numbers before texts. */
function compareLists(a: readonly Identifier[], b: readonly Identifier[]): number {
  const differing = a.findIndex((part, index) => part !== b[index])
  const [left, right] = [a[differing], b[differing]]
  if (left === undefined) return a.length - b.length
  if (right === undefined) return 1
  if (typeof left !== typeof right) return typeof left === 'bigint' ? -1 : 1
  return left < right ? -1 : 1
}
