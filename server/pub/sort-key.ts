import { known, type Identifier } from './version.ts'

/**
 * An ASCII text whose byte order (memcmp: SQLite BINARY, PostgreSQL COLLATE "C") is the order of `compareParsed`.
 * Every part says itself where it ends, so no key is cut short by another. Throws a RangeError for what is no canonical version.
 */
export function versionKey(text: string): string {
  const { release, preRelease, build } = known(text)
  return release.map(positive).join('') + (preRelease.length > 0 ? list(preRelease) : afterEveryList) + list(build)
}

/** A stable version comes after all its pre-releases. */
const afterEveryList = '~'

/** `A` ends the list and sorts before `B` negative, `C` positive, `D` text: missing parts come first, numbers before texts. */
const list = (parts: Identifier[]) => `${parts.map(identifier).join('')}A`

function identifier(part: Identifier): string {
  if (typeof part === 'string') return `D${part}!`
  return part < 0n ? `B${negative(-part)}` : `C${positive(part)}`
}

/** More digits, larger number: one character for their count goes before them. 64 digits at most, so it stays printable. */
function positive(value: bigint): string {
  const digits = value.toString()
  return String.fromCharCode(32 + digits.length) + digits
}

/** The mirror image: more digits, smaller number. */
function negative(value: bigint): string {
  const digits = value.toString()
  return String.fromCharCode(126 - digits.length) + digits.replace(/\d/g, (digit) => String(9 - Number(digit)))
}
