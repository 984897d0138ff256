import type { Api } from './api.ts'
import { type KnownPackage, librariesReached, type LibraryGraph, packageOf, type Runtime } from './reach.ts'
import { type Platform, platformNames, platforms, runtimes } from './runtimes.ts'

/** What a pubspec says about platforms, and what is known of others. */
export type PlatformFacts = {
  name: string
  /** The SDKs besides Dart's that it needs, also for its development. */
  sdks: readonly string[]
  /** Whether it is an app or a package of Flutter's, or depends on one. */
  usesFlutter: boolean
  /** The platforms under `platforms:`; empty when it names none. */
  platforms: readonly string[]
  /** Those under `flutter: plugin: platforms:`; null when it is no plugin. */
  pluginPlatforms: readonly string[] | null
  /** The file below `lib/` that is a plugin's for the web; null when there is none. */
  webPlugin: string | null
  /** Whether it has programs in `bin/`. */
  hasPrograms: boolean
  /** The names of the packages that its users get along with it. */
  dependencies: readonly string[]
  /** The packages that it leads to, as far as they are known. */
  packages: ReadonlyMap<string, KnownPackage>
}

/** Why something is not supported: a chain of files or packages, each of which imports or needs the next; empty when the pubspec declares others. */
type Obstacle = { path: string[] }

/** Something that is not supported. */
export type Hindrance = Obstacle & { tag: string }

/**
 * Tags of SDKs, platforms and runtimes, and what hinders those that are missing. A package that is not known, such as one of pub.dev, is assumed to
 * hinder none; `unknownPackages` names these.
 */
export type PlatformSupport = { tags: string[]; hindrances: Hindrance[]; unknownPackages: string[] }

/** Where a package works, by pana's rules: what its pubspec declares, else what its library, that of its name or all of them, does not rule out by what it imports. */
export function platformsOf(api: Pick<Api, 'libraries' | 'files'>, facts: PlatformFacts): PlatformSupport {
  const roots = rootsOf(api, facts)
  if (!facts.usesFlutter && api.libraries.length === 0 && facts.hasPrograms) return programs
  const graph = { name: facts.name, files: api.files, packages: facts.packages }
  const unknown = new Set<string>()
  const look: Look = (runtime, platform) => {
    const isForPlugin = platform === 'web' || runtime === runtimes.wasm
    return obstacleIn(graph, isForPlugin ? withWebPlugin(roots, facts) : roots, { runtime, platform, unknown })
  }
  const sdks = sdkSupport(look, facts)
  const found = platformNames.map((platform) => [`platform:${platform}`, platformObstacle(platform, look, roots, facts)] as const)
  const isForDart = sdks.some(([tag, obstacle]) => tag === 'sdk:dart' && obstacle === null)
  const ran = isForDart ? runtimesOf(look) : []
  const wasm = ['is:wasm-ready', look(runtimes.wasm, null)] as const
  const all = [...sdks, ...found, ...ran, wasm]
  return {
    tags: all.flatMap(([tag, obstacle]) => (obstacle === null ? [tag] : [])),
    hindrances: all.flatMap(([tag, obstacle]) => (obstacle === null ? [] : [{ tag, ...obstacle }])),
    unknownPackages: [...unknown],
  }
}

/** What stands in the way; null when nothing does. Without a platform, what packages declare does not count. */
type Look = (runtime: Runtime, platform: Platform | null) => Obstacle | null

/** A package without libraries, but with programs, runs where terminals are. */
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

const withWebPlugin = (roots: readonly string[], { webPlugin }: PlatformFacts): string[] =>
  webPlugin === null ? [...roots] : [...roots, `lib/${webPlugin}`]

type Search = { runtime: Runtime; platform: Platform | null; unknown: Set<string> }

/** The nearest library that is not there, or that its package does not declare for the platform. Adds the packages that are not known to `unknown`. */
function obstacleIn(graph: LibraryGraph, roots: readonly string[], { runtime, platform, unknown }: Search): Obstacle | null {
  const declared = (to: string) => (platform === null ? null : (graph.packages.get(packageOf(to) ?? '')?.platforms ?? null))
  for (const { to, path, isUnknown } of librariesReached(graph, roots, runtime, (each) => declared(each) !== null)) {
    const isMissing = to.startsWith('dart:') && !runtime.has(to.slice('dart:'.length))
    if (isMissing || (platform !== null && declared(to)?.includes(platform) === false)) return { path: path() }
    if (isUnknown) unknown.add(packageOf(to) ?? '')
  }
  return null
}

function sdkSupport(look: Look, facts: PlatformFacts): (readonly [string, Obstacle | null])[] {
  const needing = (isThere: (sdk: string) => boolean): Obstacle | null => {
    if (!facts.sdks.every(isThere)) return declaredOtherwise
    return obstacleAmongPackages(facts, ({ sdks }) => !sdks.every(isThere))
  }
  return [
    ['sdk:dart', needing(() => false) ?? look(runtimes.anyDart, null)],
    ['sdk:flutter', needing((sdk) => sdk === 'flutter') ?? look(runtimes.anyFlutter, null)],
  ]
}

const declaredOtherwise: Obstacle = { path: [] }

/** The nearest of the packages that one leads to, of which something holds. */
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

/** What a pubspec declares is trusted. Without libraries, what the pubspecs of dependencies declare counts. */
function platformObstacle(platform: Platform, look: Look, roots: readonly string[], facts: PlatformFacts): Obstacle | null {
  const declared = facts.platforms.length > 0 ? facts.platforms : facts.pluginPlatforms
  if (declared !== null) return declared.includes(platform) ? null : declaredOtherwise
  if (roots.length === 0) return obstacleAmongPackages(facts, ({ platforms: others }) => others?.includes(platform) === false)
  const { dart, flutter } = platforms[platform]
  const byFlutter = look(flutter, platform)
  if (byFlutter === null || facts.usesFlutter || dart === null) return byFlutter
  return look(dart, platform)
}

const runtimesOf = (look: Look): (readonly [string, Obstacle | null])[] => [
  ['runtime:native-aot', look(runtimes.nativeAot, null)],
  ['runtime:native-jit', look(runtimes.nativeJit, null)],
  ['runtime:web', look(runtimes.web, null)],
]
