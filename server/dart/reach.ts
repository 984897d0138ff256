import { fileAt } from './addresses.ts'
import type { Api, LibraryImport } from './api.ts'
import { wellKnownImports } from './well-known-packages.ts'

/** Where programs run, by the libraries that `dart:` has there. */
export type Runtime = ReadonlySet<string>

/** What is known of another package. */
export type KnownPackage = {
  /** The SDKs besides Dart's that it needs, also for its development. */
  sdks: readonly string[]
  /** The platforms that its pubspec declares, for itself or as those of a plugin; null when it declares none. */
  platforms: readonly string[] | null
  /** The names of the packages that its users get along with it. */
  dependencies: readonly string[]
  /** What its libraries import, by their paths in the archive; null when that is not known. */
  files: ReadonlyMap<string, readonly ImportedUri[]> | null
}

/** An import or export, whichever it is. */
export type ImportedUri = Pick<LibraryImport, 'uri' | 'conditions'>

/** The libraries of a package and of those that it leads to. */
export type LibraryGraph = { name: string; files: Api['files']; packages: ReadonlyMap<string, KnownPackage> }

/** What a library imports and exports, itself or through others: `dart:` libraries and those of other packages by URI, files of this package by path. */
export type Reached = {
  /** `dart:io`, `package:web/web.dart` or `lib/src/io.dart`. */
  to: string
  /** Gives the libraries from a root to it, both included. */
  path(): string[]
  /** Whether it is a library of a package whose imports are not known. */
  isUnknown: boolean
}

/** Everything that files of a package reach where a runtime decides conditional imports, nearest first. What leaves import is not followed. */
export function* librariesReached(
  graph: LibraryGraph,
  roots: readonly string[],
  runtime: Runtime,
  isLeaf: (to: string) => boolean,
): Generator<Reached> {
  const files = new Map(graph.files.map(({ path, imports }) => [path, imports]))
  const cameFrom = new Map<string, string | null>(roots.map((root) => [root, null]))
  for (const to of cameFrom.keys()) {
    const next = isLeaf(to) ? [] : importsOf(to, files.get(to), graph, runtime)
    yield { to, path: () => pathTo(to, cameFrom), isUnknown: next === null }
    for (const each of next ?? []) if (!cameFrom.has(each)) cameFrom.set(each, to)
  }
}

/** What a library imports, of which `own` is known when it is one of the package itself; null when its package is not known. */
function importsOf(
  to: string,
  own: readonly ImportedUri[] | undefined,
  { name, packages }: LibraryGraph,
  runtime: Runtime,
): readonly string[] | null {
  if (own !== undefined) return own.map((each) => target(each, to, name, runtime))
  const [, other, path] = /^package:([^/]+)\/(.+)$/.exec(to) ?? []
  if (other === undefined || path === undefined) return []
  const files = packages.get(other)?.files
  if (files == null) return wellKnownImports.get(other) ?? null
  return (files.get(`lib/${path}`) ?? []).map((each) => {
    const uri = target(each, `lib/${path}`, other, runtime)
    return uri.startsWith('lib/') ? `package:${other}/${uri.slice('lib/'.length)}` : (fileAt(uri, 'lib/', name) ?? uri)
  })
}

/** The package that a URI names; null for other URIs and for paths. */
export const packageOf = (to: string): string | null => /^package:([^/]+)\//.exec(to)?.[1] ?? null

/** The URI that an import takes: that of the first condition that holds, else the one without. */
function target({ uri, conditions }: ImportedUri, from: string, packageName: string, runtime: Runtime): string {
  const met = conditions.find(({ condition }) => holds(condition, runtime))?.uri ?? uri
  return fileAt(met, from, packageName) ?? met
}

function holds(condition: string, runtime: Runtime): boolean {
  const [, name = '', wanted = 'true'] = /^([\w.]+)(?: == '(.*)')?$/.exec(condition) ?? []
  const isThere = name.startsWith('dart.library.') && runtime.has(name.slice('dart.library.'.length))
  return (isThere ? 'true' : '') === wanted
}

function pathTo(to: string, cameFrom: ReadonlyMap<string, string | null>): string[] {
  const path: string[] = []
  for (let at: string | null | undefined = to; at != null; at = cameFrom.get(at)) path.unshift(at)
  return path
}
