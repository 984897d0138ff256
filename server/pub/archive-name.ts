import { parseVersion } from './version.ts'

/** Where the archive of a version is. `+` needs no escaping in a path (RFC 3986 §3.3). */
export const archiveUrl = (serverUrl: string, name: string, version: string): string =>
  `${serverUrl}/api/archives/${name}-${version}.tar.gz`

/** Name and version in `<name>-<version>.tar.gz`: names have no hyphen, versions may. Null when it is no such file name. */
export function splitArchiveName(file: string): { name: string; version: string } | null {
  const [, name = '', version = ''] = /^([a-z][a-z0-9_]{0,63})-(.+)\.tar\.gz$/.exec(file) ?? []
  return name && parseVersion(version) ? { name, version } : null
}
