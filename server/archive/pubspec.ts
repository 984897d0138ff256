import type { z } from 'zod'
import { readDependencies, type Dependency } from './dependencies.ts'
import { isOwnUrl, type HostedRules } from '../pub/hosted-url.ts'
import { pubspecSchema } from './pubspec-shape.ts'
import { quoted, refuse } from './refuse.ts'
import { readYaml, type Json, type JsonObject } from './yaml.ts'

/** A pubspec that may be published. */
export type Pubspec = {
  name: string
  version: string
  /** '' when there is none. */
  description: string
  homepage: string | null
  repository: string | null
  issueTracker: string | null
  documentation: string | null
  topics: string[]
  funding: string[]
  screenshots: { path: string; description: string }[]
  /** Constraints by SDK: `sdk` (always there), `flutter`, … */
  environment: Record<string, string>
  dependencies: Dependency[]
  devDependencies: Dependency[]
  /** Commands that `dart pub global activate` installs. */
  executables: string[]
  /** The platforms that the author declares, else null. */
  platforms: string[] | null
  /** Whether the package needs Flutter, and the platforms with native code if it is a plugin. */
  flutter: { required: boolean; pluginPlatforms: string[] | null }
  /** The whole pubspec, as the listing serves it. */
  document: JsonObject
}

/**
 * Reads and checks a pubspec. `rules` say which registries dependencies may come from and what `publish_to` must be.
 * Throws `PackageRejected` with one line that names the field. Source: pub's protocol, "What an archive must be".
 */
export function readPubspec(text: string, rules: HostedRules): Pubspec {
  const document = readYaml(text, 'pubspec.yaml')
  const parsed = pubspecSchema.safeParse(document)
  if (!parsed.success) return refuse(firstFault(parsed.error))
  const fields = parsed.data
  checkPublishTo(fields.publish_to, rules)
  const dependencies = readDependencies('dependencies', fields.dependencies, fields.name, rules)
  const devDependencies = readDependencies('dev_dependencies', fields.dev_dependencies, fields.name, rules)
  readDependencies('dependency_overrides', fields.dependency_overrides, fields.name, rules)
  return { ...plainFields(fields), dependencies, devDependencies, flutter: flutterUse(fields, dependencies), document }
}

type Fields = z.infer<typeof pubspecSchema>

function plainFields(fields: Fields) {
  return {
    name: fields.name,
    version: fields.version,
    description: fields.description?.trim() ?? '',
    homepage: fields.homepage ?? null,
    repository: fields.repository ?? null,
    issueTracker: fields.issue_tracker ?? null,
    documentation: fields.documentation ?? null,
    topics: fields.topics ?? [],
    funding: fields.funding ?? [],
    screenshots: fields.screenshots ?? [],
    environment: constraintsOf(fields.environment),
    executables: Object.keys(fields.executables ?? {}),
    platforms: fields.platforms ? Object.keys(fields.platforms) : null,
  }
}

/** Where no constraint is given, any version will do. */
function constraintsOf(environment: Fields['environment']): Record<string, string> {
  return Object.fromEntries(Object.entries(environment).map(([sdk, constraint]) => [sdk, constraint?.trim() ?? 'any']))
}

function firstFault(error: z.ZodError): string {
  const [issue] = error.issues
  return `pubspec.yaml: ${issue?.path.join('.').slice(0, 200)} ${issue?.message}.`
}

function checkPublishTo(publishTo: string | null | undefined, rules: HostedRules) {
  const { serverUrl } = rules
  if (publishTo === null || publishTo === undefined) return
  if (publishTo === 'none') refuse(`pubspec.yaml: publish_to is none, which forbids publishing. Remove it or set it to ${serverUrl}.`)
  if (!isOwnUrl(publishTo, rules)) refuse(`pubspec.yaml: publish_to is ${quoted(publishTo)}, not this server. Set it to ${serverUrl}.`)
}

function flutterUse({ flutter, environment }: Fields, dependencies: Dependency[]): Pubspec['flutter'] {
  const plugin = member(flutter, 'plugin')
  const platforms = member(plugin, 'platforms')
  const required = 'flutter' in environment || dependencies.some(({ sdk }) => sdk === 'flutter')
  return { required, pluginPlatforms: isObject(plugin) ? Object.keys(isObject(platforms) ? platforms : oldPlugin) : null }
}

/** Plugins of the first format had native code for exactly these. */
const oldPlugin = { android: null, ios: null }

const member = (value: Json | undefined, key: string) => (isObject(value) ? value[key] : undefined)
const isObject = (value: Json | undefined): value is JsonObject => typeof value === 'object' && value !== null && !Array.isArray(value)
