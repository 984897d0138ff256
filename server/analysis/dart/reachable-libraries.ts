import type { Api, LibraryImport } from './api.ts'
import { resolveUri } from './directives.ts'

/** A runtime, represented by the names of the `dart:` libraries it provides. */
export type Runtime = ReadonlySet<string>

/** Data of another package that determines the supported platforms. */
export type KnownPackage = {
  /** Required SDKs other than Dart, including those of dev dependencies. */
  sdks: readonly string[]
  /** Platforms declared in the pubspec, also as a plugin; null without a declaration. */
  platforms: readonly string[] | null
  /** Names of the direct dependencies, without dev dependencies. */
  dependencies: readonly string[]
  /** Imports of the package's libraries, by path in the archive; null if unknown. */
  files: Imports | null
}

type Imports = ReadonlyMap<string, readonly ImportedUri[]>

/** An import or export URI with its conditional alternatives. */
type ImportedUri = Pick<LibraryImport, 'uri' | 'conditions'>

/** The libraries of a package and of its transitive dependencies. */
export type LibraryGraph = { name: string; files: Api['files']; packages: ReadonlyMap<string, KnownPackage> }

/** A library that is imported or exported, directly or indirectly. */
type Reached = {
  /** URI, or path for files of this package: `dart:io`, `package:web/web.dart` or `lib/src/io.dart`. */
  to: string
  /** Returns the import chain from a root to this library, including both. */
  path(): string[]
  /** Whether the library belongs to a package with unknown imports. */
  isUnknown: boolean
}

/** Yields the libraries reachable from the roots, nearest first. The runtime selects conditional imports. Leaves are not followed. */
export function* reachableLibraries(
  graph: LibraryGraph,
  roots: readonly string[],
  runtime: Runtime,
  isLeaf: (to: string) => boolean,
): Generator<Reached> {
  const files = new Map(graph.files.map(({ path, imports }) => [path, imports]))
  const cameFrom = new Map<string, string | null>(roots.map((root) => [root, null]))
  for (const to of cameFrom.keys()) {
    const next = isLeaf(to) ? [] : importsOf(to, files, graph, runtime)
    yield { to, path: () => pathTo(to, cameFrom), isUnknown: next === null }
    for (const each of next ?? []) if (!cameFrom.has(each)) cameFrom.set(each, to)
  }
}

/** Returns the imports of a library. `files` are those of the package itself. Returns null if the library's package is unknown. */
function importsOf(to: string, files: Imports, { name, packages }: LibraryGraph, runtime: Runtime): readonly string[] | null {
  const own = files.get(to)
  if (own !== undefined) return own.map((each) => target(each, to, name, runtime))
  const [, other, path] = /^package:([^/]+)\/(.+)$/.exec(to) ?? []
  if (other === undefined || path === undefined) return []
  const others = packages.get(other)?.files
  if (others == null) return wellKnownImports.get(other) ?? null
  return (others.get(`lib/${path}`) ?? []).map((each) => {
    const uri = target(each, `lib/${path}`, other, runtime)
    return uri.startsWith('lib/') ? `package:${other}/${uri.slice('lib/'.length)}` : (resolveUri(uri, 'lib/', name) ?? uri)
  })
}

/** Returns the package name of a `package:` URI; null for other URIs and paths. */
export const packageOf = (to: string): string | null => /^package:([^/]+)\//.exec(to)?.[1] ?? null

/** Returns the imported URI: that of the first condition that holds, else the default URI. */
function target({ uri, conditions }: ImportedUri, from: string, packageName: string, runtime: Runtime): string {
  const met = conditions.find(({ condition }) => holds(condition, runtime))?.uri ?? uri
  return resolveUri(met, from, packageName) ?? met
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

/** Packages of Flutter's SDK, which select the platform libraries themselves, so only `dart:ui` counts. */
const flutter = ['flutter', 'flutter_driver', 'flutter_localizations', 'flutter_test', 'integration_test']

/** Assumed imports of packages that are part of Flutter or wrap a single Dart library. */
const wellKnownImports = new Map<string, readonly string[]>([
  ...flutter.map((name): [string, string[]] => [name, ['dart:ui']]),
  ['flutter_web_plugins', ['dart:ui', 'dart:ui_web', 'dart:js_interop']],
  ['web', ['dart:js_interop', 'dart:js_interop_unsafe']],
  ['js', ['dart:js']],
  ['ffi', ['dart:ffi']],
])
