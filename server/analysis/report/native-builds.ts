import { isObject, type JsonObject } from '../../registry/archive/yaml.ts'
import type { PackageContents } from './unpack.ts'

/** How the native parts of a Flutter plugin are built. */
export type NativeBuilds = {
  /** Paths of missing `Package.swift` files for iOS and macOS; null when the plugin has no parts for these platforms. */
  withoutSwiftPackage: string[] | null
  /** Whether the Android part uses the Kotlin support built into the Android Gradle plugin; null when there is no Android part. */
  usesBuiltInKotlin: boolean | null
}

/** Describes how the native parts of a Flutter plugin are built. Source: pana's rules. Ignores platforms that another package implements. */
export function nativeBuildsOf({ document, pubspec, files, others }: PackageContents): NativeBuilds {
  const platforms = platformsOf(document)
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

function platformsOf({ flutter }: JsonObject): JsonObject {
  const plugin = isObject(flutter) ? flutter.plugin : null
  return isObject(plugin) && isObject(plugin.platforms) ? plugin.platforms : {}
}
