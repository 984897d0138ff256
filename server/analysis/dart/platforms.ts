import type { Api } from './api.ts'
import { type KnownPackage, type LibraryGraph, packageOf, reachableLibraries, type Runtime } from './reachable-libraries.ts'

const everywhere = 'async collection convert core developer math typed_data _internal'
const native = 'ffi io isolate'
const browser = 'html html_common indexed_db js js_interop js_interop_unsafe js_util svg web_audio web_gl web_sql _js_annotations'
const runtime = (...libraries: string[]): Runtime => new Set(libraries.join(' ').split(' '))

/** The runtimes of Dart code and the `dart:` libraries they provide. Source: pana, `lib/src/tag/_specs.dart`. */
const runtimes = {
  nativeAot: runtime(everywhere, native, 'cli nativewrappers'),
  nativeJit: runtime(everywhere, native, 'cli mirrors nativewrappers'),
  web: runtime(everywhere, browser),
  wasm: runtime(everywhere, 'ui ui_web js_interop js_interop_unsafe'),
  flutterNative: runtime(everywhere, native, 'ui'),
  flutterWeb: runtime(everywhere, browser, 'ui ui_web'),
  /** Union of all runtimes without Flutter. */
  anyDart: runtime(everywhere, native, browser, 'cli mirrors nativewrappers'),
  /** Union of all runtimes with Flutter. */
  anyFlutter: runtime(everywhere, native, browser, 'cli ui ui_web'),
}

/** The runtimes of Dart programs and Flutter apps on a platform. */
type PlatformRuntimes = { dart: Runtime | null; flutter: Runtime }

const onDesktop: PlatformRuntimes = { dart: runtimes.nativeJit, flutter: runtimes.flutterNative }
const platforms: readonly (readonly [name: string, PlatformRuntimes])[] = [
  ['android', { dart: runtimes.nativeAot, flutter: runtimes.flutterNative }],
  ['ios', { dart: null, flutter: runtimes.flutterNative }],
  ['windows', onDesktop],
  ['linux', onDesktop],
  ['macos', onDesktop],
  ['web', { dart: runtimes.web, flutter: runtimes.flutterWeb }],
]

/** The platform declarations of a pubspec, and the known dependencies. */
export type PlatformFacts = {
  name: string
  /** Required SDKs other than Dart, including those of dev dependencies. */
  sdks: readonly string[]
  /** Whether the package is a Flutter app or package, or depends on one. */
  usesFlutter: boolean
  /** Platforms declared under `platforms:`; empty without such a section. */
  platforms: readonly string[]
  /** Platforms declared under `flutter: plugin: platforms:`; null if the package is not a plugin. */
  pluginPlatforms: readonly string[] | null
  /** File below `lib/` that implements the plugin for the web; null without such a file. */
  webPlugin: string | null
  /** Whether the package has programs in `bin/`. */
  hasPrograms: boolean
  /** Names of the direct dependencies, without dev dependencies. */
  dependencies: readonly string[]
  /** The known packages among the transitive dependencies. */
  packages: ReadonlyMap<string, KnownPackage>
}

/** Why a platform is not supported: the chain of imports or dependencies that rules it out; empty if the pubspec declares other platforms. */
type Obstacle = { path: string[] }

/**
 * The tags of the supported SDKs, platforms and runtimes, and the reason for each unsupported one. Dependencies that this server does not know are
 * assumed to support everything; `unknownPackages` lists them.
 */
export type PlatformSupport = { tags: string[]; hindrances: (Obstacle & { tag: string })[]; unknownPackages: string[] }

/**
 * Determines the supported platforms by pana's rules. Platforms declared in the pubspec take precedence. Otherwise a platform is supported unless an
 * import rules it out; the imports start at the library with the package's name, or else at all libraries.
 */
export function platformsOf(api: Pick<Api, 'libraries' | 'files'>, facts: PlatformFacts): PlatformSupport {
  const roots = rootsOf(api, facts)
  if (!facts.usesFlutter && api.libraries.length === 0 && facts.hasPrograms) return programs
  const graph = { name: facts.name, files: api.files, packages: facts.packages }
  const unknown = new Set<string>()
  const look: Look = (runtime, platform) => {
    const isForPlugin = facts.webPlugin !== null && (platform === 'web' || runtime === runtimes.wasm)
    return obstacleIn(graph, isForPlugin ? [...roots, `lib/${facts.webPlugin}`] : roots, { runtime, platform, unknown })
  }
  const dart = sdkObstacle(facts, () => false) ?? look(runtimes.anyDart)
  const all: [tag: string, Obstacle | null][] = [
    ['sdk:dart', dart],
    ['sdk:flutter', sdkObstacle(facts, (sdk) => sdk === 'flutter') ?? look(runtimes.anyFlutter)],
  ]
  for (const [name, offered] of platforms) all.push([`platform:${name}`, platformObstacle(name, offered, look, roots, facts)])
  if (dart === null) {
    all.push(['runtime:native-aot', look(runtimes.nativeAot)])
    all.push(['runtime:native-jit', look(runtimes.nativeJit)])
    all.push(['runtime:web', look(runtimes.web)])
  }
  all.push(['is:wasm-ready', look(runtimes.wasm)])
  return {
    tags: all.flatMap(([tag, obstacle]) => (obstacle === null ? [tag] : [])),
    hindrances: all.flatMap(([tag, obstacle]) => (obstacle === null ? [] : [{ tag, ...obstacle }])),
    unknownPackages: [...unknown],
  }
}

/** Finds the first obstacle to running on a runtime and platform; null if it works. Without a platform, declared platforms are ignored. */
type Look = (runtime: Runtime, platform?: string) => Obstacle | null

/** Support of a package with programs but without libraries: the desktop platforms. */
const programs: PlatformSupport = {
  tags: ['sdk:dart', 'sdk:flutter', 'platform:linux', 'platform:macos', 'platform:windows', 'runtime:native-aot', 'runtime:native-jit'],
  hindrances: ['android', 'ios', 'web'].map((platform) => ({ tag: `platform:${platform}`, path: [] })),
  unknownPackages: [],
}

function rootsOf({ libraries, files }: Pick<Api, 'libraries' | 'files'>, { name }: PlatformFacts): string[] {
  const all = libraries.map(({ path }) => `lib/${path}`)
  const primary = all.filter((path) => path === `lib/${name}.dart`)
  if (primary.length > 0) return primary
  return all.length > 0 ? all : files.map(({ path }) => path)
}

type Search = { runtime: Runtime; platform: string | undefined; unknown: Set<string> }

/** Finds the nearest library that does not exist in the runtime, or whose package does not declare the platform. */
function obstacleIn(graph: LibraryGraph, roots: readonly string[], { runtime, platform, unknown }: Search): Obstacle | null {
  const declared = (to: string) => (platform === undefined ? null : (graph.packages.get(packageOf(to) ?? '')?.platforms ?? null))
  for (const { to, path, isUnknown } of reachableLibraries(graph, roots, runtime, (each) => declared(each) !== null)) {
    const isMissing = to.startsWith('dart:') && !runtime.has(to.slice('dart:'.length))
    if (isMissing || (platform !== undefined && declared(to)?.includes(platform) === false)) return { path: path() }
    if (isUnknown) unknown.add(packageOf(to) ?? '')
  }
  return null
}

function sdkObstacle(facts: PlatformFacts, isAvailable: (sdk: string) => boolean): Obstacle | null {
  if (!facts.sdks.every(isAvailable)) return declaredOtherwise
  return obstacleAmongPackages(facts, ({ sdks }) => !sdks.every(isAvailable))
}

const declaredOtherwise: Obstacle = { path: [] }

/** Finds the nearest transitive dependency that matches a condition. */
function obstacleAmongPackages({ dependencies, packages }: PlatformFacts, holds: (known: KnownPackage) => boolean): Obstacle | null {
  const paths = new Map(dependencies.map((name) => [name, [name]]))
  for (const [name, path] of paths) {
    const known = packages.get(name)
    if (known === undefined) continue
    if (holds(known)) return { path }
    for (const each of known.dependencies) if (!paths.has(each)) paths.set(each, [...path, each])
  }
  return null
}

/** Trusts the pubspec. A package without libraries supports what its dependencies declare. */
function platformObstacle(
  platform: string,
  { dart, flutter }: PlatformRuntimes,
  look: Look,
  roots: readonly string[],
  facts: PlatformFacts,
): Obstacle | null {
  const declared = facts.platforms.length > 0 ? facts.platforms : facts.pluginPlatforms
  if (declared !== null) return declared.includes(platform) ? null : declaredOtherwise
  if (roots.length === 0) return obstacleAmongPackages(facts, ({ platforms: others }) => others?.includes(platform) === false)
  const byFlutter = look(flutter, platform)
  return byFlutter === null || facts.usesFlutter || dart === null ? byFlutter : look(dart, platform)
}
