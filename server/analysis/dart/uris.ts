import { posix } from 'node:path'

/** Resolves a URI in the file `from` to a file of this package. Returns null for other packages and `dart:` libraries. */
export function resolveUri(uri: string, from: string, packageName: string | null): string | null {
  const own = /^package:([^/]+)\/(.+)$/.exec(uri)
  if (own !== null) return own[1] === packageName ? posix.normalize(`lib/${own[2]}`) : null
  if (/^[a-z][a-z0-9+.-]*:/i.test(uri) || uri.startsWith('/')) return null
  const path = posix.normalize(posix.join(posix.dirname(from), decoded(uri)))
  return path.startsWith('lib/') ? path : null
}

function decoded(uri: string): string {
  try {
    return decodeURIComponent(uri)
  } catch {
    return uri
  }
}
