import { known, type Identifier } from './version.ts'

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

/**
 * Encodes a list of identifiers. `A` ends the list and sorts before `B` (negative), `C` (positive) and `D` (text): shorter lists sort first, numbers
 * before texts.
 */
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
