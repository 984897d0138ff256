import { constants, gunzipSync } from 'node:zlib'

/** The names in an outline are read from its first bytes: what a large API declares last is left out. */
export const packedSurfaceBytes = 64 * 1024
const maxBytes = 4 * 1024 ** 2

/**
 * The names that a public API declares, from the beginning of its outline as gzipped JSON (server/dart/surface.ts): types and functions first, then members.
 * The outline is not parsed, since that could take a tenth of a second, and its end may be missing.
 */
export function namesInSurface(packed: Uint8Array): string[] {
  const [main, members] = [new Set<string>(), new Set<string>()]
  for (const [, kind = '', name = ''] of shown(read(packed)).matchAll(declared)) {
    if (types.has(kind)) main.add(name)
    else if (!unnamed.has(kind)) members.add(name)
  }
  return [...main.union(members)]
}

/** What the package's libraries show comes first; hidden types stand behind the list of libraries. */
const shown = (surface: string): string => surface.split('],"libraries":[', 1)[0] ?? ''

/** The order in which server/dart/surface.ts writes the properties. Quotes within a text have a backslash before them. */
const declared = /"kind":"([a-z ]{1,20})","name":"([\w.$]{1,200})"/g

const types = new Set(['class', 'mixin', 'extension', 'extension type', 'enum', 'function', 'typedef'])
/** Constructors repeat the name of their type. */
const unnamed = new Set(['constructor', 'operator'])

/** Empty for what unpacks to too much. */
function read(packed: Uint8Array): string {
  try {
    return gunzipSync(packed, { finishFlush: constants.Z_SYNC_FLUSH, maxOutputLength: maxBytes }).toString()
  } catch {
    return ''
  }
}
