import { isPackageName } from './package-name.ts'
import { parseVersion } from './version.ts'

/** Where the archive of a version is. `+` needs no escaping in a path (RFC 3986 §3.3). */
export const archiveUrl = (serverUrl: string, name: string, version: string): string =>
  `${serverUrl}/api/archives/${archiveFile(name, version)}`

/** The file name of the archive of a version. */
export const archiveFile = (name: string, version: string): string => `${name}-${version}.tar.gz`

/** Name and version in `<name>-<version>.tar.gz`: names have no hyphen, versions may. Null when it is no such file name. */
export function splitArchiveName(file: string): { name: string; version: string } | null {
  const [, name = '', version = ''] = /^(\w+)-(.+)\.tar\.gz$/.exec(file) ?? []
  return isPackageName(name) && parseVersion(version) ? { name, version } : null
}
