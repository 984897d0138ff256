import { type Dependency, describeDependencies } from './dependencies.ts'
import { isObject, type Json, type JsonObject } from './yaml.ts'

/** What a pubspec says, as publishing, search and pages read it. Texts are null and lists empty where it says nothing. */
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
  /** Constraints by SDK: `sdk` for Dart, `flutter`, … */
  environment: { sdk: string; constraint: string }[]
  /** What it depends on: for its users first, then for its own development. */
  dependencies: Dependency[]
  /** Commands that `dart pub global activate` installs. */
  executables: string[]
  /** The platforms that the author declares. */
  platforms: string[]
  /** The platforms with native code of a Flutter plugin; null when it is no plugin. */
  pluginPlatforms: string[] | null
  /** Whether it works with Flutter only: it has a constraint on Flutter, or depends on something that comes with it. */
  needsFlutter: boolean
}

/** Reads a pubspec that was checked when it was published. Whatever the rules are now, this gives something. */
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
    needsFlutter: 'flutter' in fieldsOf(document.environment) || direct.some(({ sdk }) => sdk === 'flutter'),
  }
}

/** The SDKs besides Dart's that a package needs, also for its development. */
export const otherSdksOf = ({ environment, dependencies }: Pick<Pubspec, 'environment' | 'dependencies'>): string[] => [
  ...new Set([...environment, ...dependencies].flatMap(({ sdk }) => (sdk === null || sdk === 'sdk' || sdk === 'dart' ? [] : [sdk]))),
]

/** Plugins of the first format, which names no platforms, had native code for exactly these. */
const firstPlatforms = ['android', 'ios']

function pluginPlatformsOf(plugin: Json | undefined): string[] | null {
  if (!isObject(plugin)) return null
  return isObject(plugin.platforms) ? Object.keys(plugin.platforms) : firstPlatforms
}

const textOf = (value: Json | undefined) => (typeof value === 'string' && value.trim()) || null
const textsOf = (value: Json | undefined) => (Array.isArray(value) ? value.filter((each) => typeof each === 'string') : [])
const fieldsOf = (value: Json | undefined): JsonObject => (isObject(value) ? value : {})
