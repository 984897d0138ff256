import { parseVersion } from './version.ts'

/** Returns whether a text has the form of a package name. Includes reserved words, which a few old packages have as their name. */
export const isPackageName = (text: string): boolean => /^[a-z][a-z0-9_]{0,63}$/.test(text)

/**
 * Returns whether a text has the form of a name on another package server: a Dart identifier. Names such as _fe_analyzer_shared start with an underscore,
 * and old packages such as Autolinker have capitals.
 */
export const isUpstreamName = (text: string): boolean => /^[A-Za-z_][A-Za-z0-9_]{0,63}$/.test(text)

/** The rule for package names, for error messages. */
export const nameRule = 'must be 1 to 64 lowercase letters, digits and underscores, starting with a letter'

/** Returns what is wrong with the name of a package to be published, as a phrase to follow the name; null if it is valid. */
export function nameFault(name: string): string | null {
  if (!isPackageName(name)) return nameRule
  return reservedWords.has(name) ? `must not be ${name}, a reserved word of Dart` : null
}

/** Returns whether a name in any spelling matches a pattern in lower case (see `matchesPattern`). */
export const matchesName = (pattern: string, spelled: string): boolean => matchesPattern(pattern, spelled.toLowerCase())

/** Returns whether a name matches a pattern, in which `*` stands for any characters. Takes linear time per `*`, unlike a regular expression. */
export const matchesPattern = (pattern: string, name: string): boolean => patternTest(pattern)(name)

/** Returns a test for names that match a pattern (see `matchesPattern`), for a pattern that is used often. */
export function patternTest(pattern: string): (name: string) => boolean {
  const [start = '', ...others] = pattern.split('*')
  const end = others.pop()
  if (end === undefined) return (name) => name === start
  const shortest = start.length + end.length
  return (name) => {
    if (!name.startsWith(start) || !name.endsWith(end) || name.length < shortest) return false
    let at = start.length
    for (const part of others) {
      const found = name.indexOf(part, at)
      if (found < 0) return false
      at = found + part.length
    }
    return at <= name.length - end.length
  }
}

/** The pub client rejects a pubspec with one of these names. The list omits words that old packages have as their name (async, get, …). */
const reservedWords = new Set(
  `abstract as assert await break case catch class const continue covariant default deferred do else enum export extends external false final finally for
  hide if implements import in inline interface is late library mixin new null of on operator part required rethrow return sealed set super switch this
  throw true try type var void while with yield`.split(/\s+/),
)

/** Returns the URL of a version's archive. `+` needs no escaping in a path (RFC 3986 §3.3). */
export const archiveUrl = (serverUrl: string, name: string, version: string): string =>
  `${serverUrl}/api/archives/${archiveFile(name, version)}`

/** Returns the file name of a version's archive. */
export const archiveFile = (name: string, version: string): string => `${name}-${version}.tar.gz`

/** Splits `<name>-<version>.tar.gz` into name and version. Names contain no hyphens, versions may. Returns null for other file names. */
export function splitArchiveName(file: string): { name: string; version: string } | null {
  const [, name = '', version = ''] = /^(\w+)-(.+)\.tar\.gz$/.exec(file) ?? []
  return isUpstreamName(name) && parseVersion(version) ? { name, version } : null
}

/** Returns the name in `<name>-<version>.tar.gz` without checking the version, which is cheaper than `splitArchiveName`. */
export const packageOfArchive = (file: string): string => file.slice(0, Math.max(file.indexOf('-'), 0))
