import { isPackageName } from './package-name.ts'
import { parseVersion } from './version.ts'

/** Returns the URL of a version's archive. `+` needs no escaping in a path (RFC 3986 §3.3). */
export const archiveUrl = (serverUrl: string, name: string, version: string): string =>
  `${serverUrl}/api/archives/${archiveFile(name, version)}`

/** Returns the file name of a version's archive. */
export const archiveFile = (name: string, version: string): string => `${name}-${version}.tar.gz`

/** Splits `<name>-<version>.tar.gz` into name and version. Names contain no hyphens, versions may. Returns null for other file names. */
export function splitArchiveName(file: string): { name: string; version: string } | null {
  const [, name = '', version = ''] = /^(\w+)-(.+)\.tar\.gz$/.exec(file) ?? []
  return isPackageName(name) && parseVersion(version) ? { name, version } : null
}
