import { fileAt } from './addresses.ts'
import type { Api, LibraryImport } from './api.ts'

/** Where programs run, by the libraries that `dart:` has there. */
export type Runtime = ReadonlySet<string>

/** What a library imports and exports, itself or through others: `dart:` libraries and those of other packages by URI, files of this package by path. */
export type Reached = {
  /** `dart:io`, `package:web/web.dart` or `lib/src/io.dart`. */
  to: string
  /** From a root to it, both included. */
  path: string[]
}

/** Everything that files of a package reach where a runtime decides conditional imports, nearest first. What other packages import is not known, but for those that come with Flutter or wrap one library of Dart's. */
export function* librariesReached(
  { files }: Pick<Api, 'files'>,
  packageName: string,
  roots: readonly string[],
  runtime: Runtime,
): Generator<Reached> {
  const imports = new Map(files.map((file) => [file.path, file.imports]))
  const cameFrom = new Map<string, string | null>(roots.map((root) => [root, null]))
  for (const to of cameFrom.keys()) {
    yield { to, path: pathTo(to, cameFrom) }
    const next = imports.get(to)?.map((each) => target(each, to, packageName, runtime)) ?? wrapped(to)
    for (const each of next) if (!cameFrom.has(each)) cameFrom.set(each, to)
  }
}

/** The URI that an import takes: that of the first condition that holds, else the one without. */
function target({ uri, conditions }: LibraryImport, from: string, packageName: string, runtime: Runtime): string {
  const met = conditions.find(({ condition }) => holds(condition, runtime))?.uri ?? uri
  return fileAt(met, from, packageName) ?? met
}

function holds(condition: string, runtime: Runtime): boolean {
  const [, name = '', wanted = 'true'] = /^([\w.]+)(?: == '(.*)')?$/.exec(condition) ?? []
  const isThere = name.startsWith('dart.library.') && runtime.has(name.slice('dart.library.'.length))
  return (isThere ? 'true' : '') === wanted
}

/** Flutter's own code imports what it likes, and chooses what it uses. */
const flutter = ['dart:ui']
const libraryByPackage = new Map([
  ['flutter', flutter],
  ['flutter_localizations', flutter],
  ['flutter_test', flutter],
  ['flutter_web_plugins', ['dart:ui', 'dart:ui_web', 'dart:js_interop']],
  ['web', ['dart:js_interop', 'dart:js_interop_unsafe']],
  ['js', ['dart:js']],
  ['ffi', ['dart:ffi']],
])

const wrapped = (uri: string): string[] => libraryByPackage.get(/^package:([^/]+)\//.exec(uri)?.[1] ?? '') ?? []

function pathTo(to: string, cameFrom: ReadonlyMap<string, string | null>): string[] {
  const path: string[] = []
  for (let at: string | null | undefined = to; at != null; at = cameFrom.get(at)) path.unshift(at)
  return path
}
