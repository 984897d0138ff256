import { type Dependency, describeDependencies } from './dependencies.ts'
import { isObject, type Json, type JsonObject } from './yaml.ts'

/** The pubspec fields used by publishing, search and pages. Missing texts are null, and missing lists are empty. */
export type Pubspec = {
  name: string
  version: string
  description: string | null
  homepage: string | null
  repository: string | null
  issueTracker: string | null
  documentation: string | null
  topics: string[]
  funding: string[]
  /** SDK constraints. `sdk` is the SDK's name: `sdk` for Dart, `flutter`, … */
  environment: { sdk: string; constraint: string }[]
  /** Direct dependencies, followed by dev dependencies. */
  dependencies: Dependency[]
  /** Commands that `dart pub global activate` installs. */
  executables: string[]
  /** Platforms that the author declares. */
  platforms: string[]
  /** Platforms for which a Flutter plugin has native code; null if the package is not a plugin. */
  pluginPlatforms: string[] | null
  /** The federated plugin that the package implements for a platform. */
  implementedPlugin: string | null
  /** Pictures of the package. Paths are those of the archive. */
  screenshots: { path: string; description: string }[]
  /** Whether the package requires Flutter: it has a Flutter constraint or depends on a package of the Flutter SDK. */
  needsFlutter: boolean
}

/** Converts a pubspec that was validated at publishing. Never throws, even if the rules have changed since. */
export function describePubspec(document: JsonObject): Pubspec {
  const direct = describeDependencies(document.dependencies, 'direct')
  return {
    name: textOf(document.name) ?? '',
    version: textOf(document.version) ?? '',
    description: textOf(document.description),
    homepage: textOf(document.homepage),
    repository: textOf(document.repository),
    issueTracker: textOf(document.issue_tracker),
    documentation: textOf(document.documentation),
    topics: textsOf(document.topics),
    funding: textsOf(document.funding),
    environment: Object.entries(fieldsOf(document.environment)).map(([sdk, constraint]) => ({
      sdk,
      constraint: textOf(constraint) ?? 'any',
    })),
    dependencies: [...direct, ...describeDependencies(document.dev_dependencies, 'dev')],
    executables: Object.keys(fieldsOf(document.executables)),
    platforms: Object.keys(fieldsOf(document.platforms)),
    pluginPlatforms: pluginPlatformsOf(fieldsOf(document.flutter).plugin),
    implementedPlugin: textOf(fieldsOf(fieldsOf(document.flutter).plugin).implements),
    screenshots: screenshotsOf(document.screenshots),
    needsFlutter: 'flutter' in fieldsOf(document.environment) || direct.some(({ sdk }) => sdk === 'flutter'),
  }
}

/** Returns the SDKs other than Dart that a package needs, including for its development. */
export const otherSdksOf = ({ environment, dependencies }: Pick<Pubspec, 'environment' | 'dependencies'>): string[] => [
  ...new Set([...environment, ...dependencies].flatMap(({ sdk }) => (sdk === null || sdk === 'sdk' || sdk === 'dart' ? [] : [sdk]))),
]

function pluginPlatformsOf(plugin: Json | undefined): string[] | null {
  if (!isObject(plugin)) return null
  // The first plugin format does not list platforms.
  return isObject(plugin.platforms) ? Object.keys(plugin.platforms) : ['android', 'ios']
}

function screenshotsOf(value: Json | undefined): Pubspec['screenshots'] {
  if (!Array.isArray(value)) return []
  return value.flatMap((entry) => {
    const { path, description } = fieldsOf(entry)
    return typeof path === 'string' ? [{ path: path.replace(/^(?:\.\/)+/, ''), description: textOf(description) ?? '' }] : []
  })
}

const textOf = (value: Json | undefined) => (typeof value === 'string' && value.trim()) || null
const textsOf = (value: Json | undefined) => (Array.isArray(value) ? value.filter((each) => typeof each === 'string') : [])
const fieldsOf = (value: Json | undefined): JsonObject => (isObject(value) ? value : {})
