import type { ApiChanges } from '../changes.ts'
import type { Surface, SurfaceDeclaration } from '../surface.ts'

type Library = Surface['libraries'][number]
type Reexport = NonNullable<Library['reexports']>[number]
type Side = { library: Library; shown: readonly SurfaceDeclaration[] }

/** Compares the exports from other packages: by name if the exports list names, else by URI. */
export function compareExports(before: Side, after: Side, { added, removed }: ApiChanges): void {
  removed.push(...lostExports(before, after))
  added.push(...lostExports(after, before))
}

/** Returns the exports of one version that the other version certainly does not have. */
function lostExports({ library }: Side, other: Side): ApiChanges['added'] {
  const missingExport = (uri: string, name = uri) => ({ library: library.path, kind: 'export', name, signature: `export '${uri}'` })
  const [own, theirs] = [library.reexports, other.library.reexports]
  if (own === undefined || theirs === undefined) {
    const kept = new Set(other.library.foreignExports)
    return [...new Set(library.foreignExports)].filter((uri) => !kept.has(uri)).map((uri) => missingExport(uri))
  }
  const shown = new Set(other.shown.map(({ name }) => name))
  const uris = new Set(theirs.map(({ uri }) => uri))
  // An export without `show` in the other version may provide the same names.
  const isOpen = theirs.some((each) => !namesShown(each) && !own.some(({ uri }) => uri === each.uri))
  const whole = new Set(own.filter((each) => !namesShown(each) && !uris.has(each.uri)).map(({ uri }) => uri))
  const names = new Map(own.flatMap((each) => (namesShown(each) ?? []).map((name) => [name, each.uri] as const)))
  const lost = [...names].filter(([name]) => !shown.has(name) && !theirs.some((each) => showsName(each, name)))
  return [...(isOpen ? [] : [...whole].map((uri) => missingExport(uri))), ...lost.map(([name, uri]) => missingExport(uri, name))]
}

/** Returns the names that an export shows, or null if it does not list names. */
const namesShown = ({ combinators }: Reexport): string[] | null => {
  const shown = combinators.filter(({ shows }) => shows)
  return shown.length === 0
    ? null
    : shown.flatMap(({ names }) => names).filter((name) => combinators.every((each) => each.names.includes(name) === each.shows))
}

const showsName = ({ combinators }: Reexport, name: string): boolean =>
  combinators.every(({ shows, names }) => names.includes(name) === shows)

/**
 * Finds the export from another package that may provide a name which the other version declares: an export that shows the name, or one that the
 * other version does not have. Returns null if there is no such export.
 */
export function exportOf(name: string, library: Library, other: Library): string | null {
  const known = new Set((other.reexports ?? []).map((each) => JSON.stringify(each)))
  const found = (library.reexports ?? []).find(
    (each) => showsName(each, name) && (namesShown(each) !== null || !known.has(JSON.stringify(each))),
  )
  return found === undefined ? null : `export '${found.uri}'`
}
