import type { Api } from './api.ts'
import { librariesReached, type Reached, type Runtime } from './reach.ts'
import { type Platform, platformNames, platforms, runtimes } from './runtimes.ts'

/** What a pubspec says about platforms, and what is known of others. */
export type PlatformFacts = {
  name: string
  /** Whether it needs Flutter's SDK. */
  needsFlutter: boolean
  /** The platforms under `platforms:`; empty when it names none. */
  platforms: readonly string[]
  /** Those under `flutter: plugin: platforms:`; null when it is no plugin. */
  pluginPlatforms: readonly string[] | null
  /** The file below `lib/` that is a plugin's for the web; null when there is none. */
  webPlugin: string | null
  /** Whether it has programs in `bin/`. */
  hasPrograms: boolean
  /** The platforms of packages that it depends on, by name, as far as they are known. */
  packages: ReadonlyMap<string, readonly string[]>
}

/** Something that is not supported, and why: a chain of files, each of which imports the next, the last being what is missing there; empty when the pubspec declares others. */
export type Hindrance = { tag: string; path: string[] }

/** Tags of SDKs, platforms and runtimes, and what hinders those that are missing. */
export type PlatformSupport = { tags: string[]; hindrances: Hindrance[] }

/** Where a package works, by pana's rules: what its pubspec declares, else what its library, that of its name or all of them, does not rule out by what it imports. */
export function platformsOf(api: Pick<Api, 'libraries' | 'files'>, facts: PlatformFacts): PlatformSupport {
  const roots = rootsOf(api, facts)
  if (!facts.needsFlutter && api.libraries.length === 0 && facts.hasPrograms) return programs
  const look: Look = (runtime, platform) =>
    hindranceAmong(
      librariesReached(api, facts.name, platform === 'web' ? withWebPlugin(roots, facts) : roots, runtime),
      runtime,
      platform,
      facts,
    )
  const sdks = sdkSupport(look, facts)
  const found = platformNames.map((platform) => [`platform:${platform}`, platformHindrance(platform, look, facts)] as const)
  const isForDart = sdks.some(([tag, path]) => tag === 'sdk:dart' && path === null)
  const ran = isForDart ? runtimesOf(look) : []
  const wasm = ['is:wasm-ready', look(runtimes.wasm, 'web')] as const
  const all = [...sdks, ...found, ...ran, wasm]
  return {
    tags: all.flatMap(([tag, path]) => (path === null ? [tag] : [])),
    hindrances: all.flatMap(([tag, path]) => (path === null ? [] : [{ tag, path }])),
  }
}

/** The path to what hinders; null when nothing does. */
type Look = (runtime: Runtime, platform: Platform | null) => string[] | null

/** A package without libraries, but with programs, runs where terminals are. */
const programs: PlatformSupport = {
  tags: ['sdk:dart', 'sdk:flutter', 'platform:linux', 'platform:macos', 'platform:windows', 'runtime:native-aot', 'runtime:native-jit'],
  hindrances: ['android', 'ios', 'web'].map((platform) => ({ tag: `platform:${platform}`, path: [] })),
}

function rootsOf({ libraries, files }: Pick<Api, 'libraries' | 'files'>, { name }: PlatformFacts): string[] {
  const all = libraries.map(({ path }) => `lib/${path}`)
  const primary = all.filter((path) => path === `lib/${name}.dart`)
  if (primary.length > 0) return primary
  return all.length > 0 ? all : files.map(({ path }) => path)
}

const withWebPlugin = (roots: readonly string[], { webPlugin }: PlatformFacts): string[] =>
  webPlugin === null ? [...roots] : [...roots, `lib/${webPlugin}`]

function hindranceAmong(
  reached: Iterable<Reached>,
  runtime: Runtime,
  platform: Platform | null,
  { packages }: PlatformFacts,
): string[] | null {
  for (const { to, path } of reached) {
    if (to.startsWith('dart:') && !runtime.has(to.slice('dart:'.length))) return path
    const known = packages.get(/^package:([^/]+)\//.exec(to)?.[1] ?? '')
    if (platform !== null && known !== undefined && !known.includes(platform)) return path
  }
  return null
}

function sdkSupport(look: Look, { needsFlutter }: PlatformFacts): (readonly [string, string[] | null])[] {
  return [
    ['sdk:dart', needsFlutter ? [] : look(runtimes.anyDart, null)],
    ['sdk:flutter', look(runtimes.anyFlutter, null)],
  ]
}

/** What a pubspec declares is trusted. */
function platformHindrance(platform: Platform, look: Look, facts: PlatformFacts): string[] | null {
  const declared = facts.platforms.length > 0 ? facts.platforms : facts.pluginPlatforms
  if (declared !== null) return declared.includes(platform) ? null : []
  const { dart, flutter } = platforms[platform]
  const byFlutter = look(flutter, platform)
  if (byFlutter === null || facts.needsFlutter || dart === null) return byFlutter
  return look(dart, platform)
}

const runtimesOf = (look: Look): (readonly [string, string[] | null])[] => [
  ['runtime:native-aot', look(runtimes.nativeAot, null)],
  ['runtime:native-jit', look(runtimes.nativeJit, null)],
  ['runtime:web', look(runtimes.web, null)],
]
