import { otherSdksOf } from '../../registry/archive/pubspec.ts'
import { isObject, type JsonObject } from '../../registry/archive/yaml.ts'
import { platformsOf, type PlatformSupport } from '../dart/platforms.ts'
import { code, type Subject } from './judge.ts'
import type { PackageContents } from './unpack.ts'

/** Determines the platforms that the package supports. */
export function supportOf({ contents, api, packages }: Subject): PlatformSupport {
  const { pubspec, document, files } = contents
  const sdks = otherSdksOf(pubspec)
  return platformsOf(api, {
    name: pubspec.name,
    sdks,
    usesFlutter: sdks.includes('flutter') || 'flutter' in document || pubspec.dependencies.some(({ name }) => name === 'flutter'),
    platforms: pubspec.platforms,
    pluginPlatforms: pubspec.pluginPlatforms,
    webPlugin: webPluginOf(document, new Set(files.map(({ path }) => path)), pubspec.name),
    hasPrograms: files.some(({ path }) => /^bin\/.+\.dart$/.test(path)),
    dependencies: pubspec.dependencies.flatMap(({ kind, name }) => (kind === 'direct' ? [name] : [])),
    packages,
  })
}

/** Returns the file below `lib/` that registers the plugin for the web, or null. */
function webPluginOf(document: JsonObject, paths: ReadonlySet<string>, name: string): string | null {
  const { web } = pluginPlatformsOf(document)
  if (!isObject(web)) return null
  const file = typeof web.fileName === 'string' ? web.fileName : `${name}_web.dart`
  return paths.has(`lib/${file}`) ? file : null
}

const names = new Map(['Android', 'iOS', 'Linux', 'macOS', 'web', 'Windows'].map((name) => [`platform:${name.toLowerCase()}`, name]))

/** Returns notes in Markdown on platforms that are not supported, or not by current means (WebAssembly, Swift packages). */
export function platformNotes({ contents, api }: Subject, { tags, hindrances }: PlatformSupport, builds: NativeBuilds): string[] {
  if (api.files.length === 0 && contents.tooLarge.length + contents.notText.length > 0) return []
  const supported = [...names.keys()].filter((tag) => tags.includes(tag))
  const missing = hindrances.flatMap((each) => (names.has(each.tag) ? [`- ${names.get(each.tag)}: ${because(each)}`] : []))
  const isWebSlow = supported.includes('platform:web') && !tags.includes('is:wasm-ready')
  return [
    ...(supported.length === 0 ? [`No platform is supported. ${remedyForAll}`] : []),
    ...(missing.length > 0 ? [`Platforms that are not supported:\n\n${missing.join('\n')}`] : []),
    ...(isWebSlow ? [wasmNote(hindrances)] : []),
    ...(builds.withoutSwiftPackage ?? []).map(swiftNote),
  ]
}

const remedyForAll =
  'Import libraries such as `dart:io` and `dart:js_interop` only where they exist, by conditional imports, or declare the platforms under `platforms:` in `pubspec.yaml`.'

const because = ({ path }: { path: string[] }): string =>
  path.length === 0 ? 'the pubspec declares other platforms.' : `${path.map(code).join(' → ')}.`

function wasmNote(hindrances: PlatformSupport['hindrances']): string {
  const path = hindrances.find(({ tag }) => tag === 'is:wasm-ready')?.path ?? []
  return `On the web it cannot be compiled to WebAssembly: ${path.map(code).join(' → ')}. Use \`dart:js_interop\` and \`package:web\` in place of \`dart:html\`, \`dart:js\` and \`package:js\`.`
}

const swiftNote = (path: string): string =>
  `The plugin for iOS or macOS is not a Swift package. Add ${code(path)}, so that it can be built by the Swift Package Manager.`

/** How the native parts of a Flutter plugin are built. */
export type NativeBuilds = {
  /** Paths of missing `Package.swift` files for iOS and macOS; null when the plugin has no parts for these platforms. */
  withoutSwiftPackage: string[] | null
  /** Whether the Android part uses the Kotlin support built into the Android Gradle plugin; null when there is no Android part. */
  usesBuiltInKotlin: boolean | null
}

/** Describes how the native parts of a Flutter plugin are built. Source: pana's rules. Ignores platforms that another package implements. */
export function nativeBuildsOf({ document, pubspec, files, others }: PackageContents): NativeBuilds {
  const platforms = pluginPlatformsOf(document)
  const paths = new Set(files.map(({ path }) => path))
  const manifests = ['ios', 'macos'].flatMap((system) => {
    const declared = platforms[system]
    if (!isObject(declared) || !('pluginClass' in declared) || 'default_package' in declared) return []
    return [`${declared.sharedDarwinSource === true ? 'darwin' : system}/${pubspec.name}/Package.swift`]
  })
  const gradle = others.get('android/build.gradle') ?? others.get('android/build.gradle.kts')
  return {
    withoutSwiftPackage: manifests.length === 0 ? null : [...new Set(manifests)].filter((path) => !paths.has(path)),
    usesBuiltInKotlin: isObject(platforms.android) && gradle !== undefined ? !ownKotlin.test(gradle) : null,
  }
}

const ownKotlin =
  /^[ \t]*apply[ \t]+plugin:[ \t]*['"](?:kotlin-android|org\.jetbrains\.kotlin\.android)['"]|\bid[ \t(]+['"](?:kotlin-android|org\.jetbrains\.kotlin\.android)['"]|^[ \t]*(?:android\.)?kotlinOptions[ \t]*\{/m

function pluginPlatformsOf({ flutter }: JsonObject): JsonObject {
  const plugin = isObject(flutter) ? flutter.plugin : null
  return isObject(plugin) && isObject(plugin.platforms) ? plugin.platforms : {}
}
