import { constants, gunzipSync } from 'node:zlib'

/** Number of leading compressed bytes of an API outline from which names are read. Names at the end of a larger API are ignored. */
export const packedSurfaceBytes = 64 * 1024
const maxBytes = 4 * 1024 ** 2

/**
 * Extracts the names that a public API declares from the beginning of its outline, which is gzipped JSON (server/analysis/dart/surface.ts). Types and
 * functions come first, then members. Uses a regular expression, because parsing could take a tenth of a second and the JSON may be truncated.
 */
export function namesInSurface(packed: Uint8Array): string[] {
  const [main, members] = [new Set<string>(), new Set<string>()]
  for (const [, kind = '', name = ''] of shown(read(packed)).matchAll(declared)) {
    if (types.has(kind)) main.add(name)
    else if (!unnamed.has(kind)) members.add(name)
  }
  return [...main.union(members)]
}

/** Returns the part of the outline with the exported declarations. Hidden types follow the list of libraries and are dropped. */
const shown = (surface: string): string => surface.split('],"libraries":[', 1)[0] ?? ''

/**
 * Matches a declaration. Relies on the property order written by server/analysis/dart/surface.ts. Quotes inside JSON strings are escaped with a backslash, so
 * string contents cannot match.
 */
const declared = /"kind":"([a-z ]{1,20})","name":"([\w.$]{1,200})"/g

const types = new Set(['class', 'mixin', 'extension', 'extension type', 'enum', 'function', 'typedef'])
/** Constructors repeat the name of their type. */
const unnamed = new Set(['constructor', 'operator'])

/** Decompresses an outline; returns an empty string if the result exceeds `maxBytes`. */
function read(packed: Uint8Array): string {
  try {
    return gunzipSync(packed, { finishFlush: constants.Z_SYNC_FLUSH, maxOutputLength: maxBytes }).toString()
  } catch {
    return ''
  }
}
