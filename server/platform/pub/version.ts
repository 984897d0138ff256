/** A dot-separated part of a pre-release or of build metadata. */
type Identifier = bigint | string

/** A version as parsed by pub_semver. Numbers have arbitrary size. */
export type Version = {
  text: string
  release: [major: bigint, minor: bigint, patch: bigint]
  /** Pre-release identifiers; empty for a stable version. */
  preRelease: Identifier[]
  build: Identifier[]
}

/** Maximum length of a version in characters (pub's own limit). */
export const maxVersionLength = 64

/**
 * Parses a version in canonical form: three numbers, optional `-pre` and `+build`, no leading zeros. Returns null for other texts, including versions
 * longer than 64 characters. Source: pub_semver, `Version.canonicalizedVersion`.
 */
export function parseVersion(text: string): Version | null {
  const version = readVersion(text)
  return version !== null && canonical(version) === text ? version : null
}

/** Parses a version like `parseVersion`, but allows leading zeros, as pub_semver does within constraints. */
export function readVersion(text: string): Version | null {
  const match = text.length <= maxVersionLength ? form.exec(text) : null
  if (!match) return null
  const [, major = '', minor = '', patch = '', preRelease, build] = match
  return { text, release: [BigInt(major), BigInt(minor), BigInt(patch)], preRelease: identifiers(preRelease), build: identifiers(build) }
}

/** Compares two versions like pub_semver, `Version.compareTo`: `1.0.0-dev < 1.0.0 < 1.0.0+1`. Returns a negative number, zero or a positive one. */
export function compareParsed(a: Version, b: Version): number {
  return (
    compareLists(a.release, b.release) ||
    Number(isStable(a)) - Number(isStable(b)) ||
    compareLists(a.preRelease, b.preRelease) ||
    compareLists(a.build, b.build)
  )
}

/** Returns whether a version is a pre-release. Build metadata alone does not make it one. Throws a RangeError for a non-canonical version. */
export const isPrerelease = (text: string): boolean => !isStable(known(text))

/** Returns whether pub can parse the version: its release numbers must fit into 64-bit integers. */
export const fitsClient = ({ release }: Version): boolean => release.every((number) => number <= largestInteger)

/** Parses a version like `parseVersion`, but throws a RangeError instead of returning null. */
export function known(text: string): Version {
  const version = parseVersion(text)
  if (!version) throw new RangeError(`Not a canonical version: ${text}`)
  return version
}

const form = /^(\d+)\.(\d+)\.(\d+)(?:-([0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*))?(?:\+([0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*))?$/
/** Identifiers that Dart parses as integers. The sign is part of the number, so `-5` in `1.0.0--5` is a number. */
const integer = /^-?\d+$/
/** Hexadecimal identifiers, which Dart also parses as integers. Their canonical form is decimal. */
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

/** Compares lists of identifiers. Shorter lists sort first, numbers before texts. */
function compareLists(a: readonly Identifier[], b: readonly Identifier[]): number {
  const differing = a.findIndex((part, index) => part !== b[index])
  const [left, right] = [a[differing], b[differing]]
  if (left === undefined) return a.length - b.length
  if (right === undefined) return 1
  if (typeof left !== typeof right) return typeof left === 'bigint' ? -1 : 1
  return left < right ? -1 : 1
}

/**
 * Returns an ASCII key whose byte order (memcmp: SQLite BINARY, PostgreSQL COLLATE "C") equals the order of `compareParsed`. Every part is
 * self-delimiting, so no key is a prefix of another. Throws a RangeError for a non-canonical version.
 */
export function versionKey(text: string): string {
  const { release, preRelease, build } = known(text)
  return release.map(positive).join('') + (preRelease.length > 0 ? list(preRelease) : afterEveryList) + list(build)
}

/** Sorts a stable version after all its pre-releases. */
const afterEveryList = '~'

/** Encodes a list of identifiers, ended by `A`, which sorts before `B` (negative), `C` (positive) and `D` (text). */
const list = (parts: Identifier[]) => `${parts.map(identifier).join('')}A`

function identifier(part: Identifier): string {
  if (typeof part === 'string') return `D${part}!`
  return part < 0n ? `B${negative(-part)}` : `C${positive(part)}`
}

/** Encodes a number with a prefix character for its length, so that longer numbers sort later. 64 digits at most keep the prefix printable. */
function positive(value: bigint): string {
  const digits = value.toString()
  return String.fromCharCode(32 + digits.length) + digits
}

/** Encodes the absolute value of a negative number with inverted length and digits, so that longer numbers sort first. */
function negative(value: bigint): string {
  const digits = value.toString()
  return String.fromCharCode(126 - digits.length) + digits.replace(/\d/g, (digit) => String(9 - Number(digit)))
}
