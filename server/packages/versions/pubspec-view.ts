import { z } from 'zod'
import type { PackageVersion } from '../entity.ts'

/** A dependency as a pubspec states it. `hostedUrl` is null for the client's default registry; `sdk` names one, for what comes with it. */
export type Dependency = {
  name: string
  constraint: string
  kind: 'direct' | 'dev'
  source: 'hosted' | 'sdk' | 'git' | 'path'
  hostedUrl: string | null
  sdk: string | null
}

/** What the registry shows of a pubspec. */
export type PubspecView = ReturnType<typeof viewOf>

/** The pubspec of a version, read once per version in memory. It was checked when it was published. */
export function pubspecOf(version: PackageVersion): PubspecView {
  let view = views.get(version)
  if (!view) views.set(version, (view = readPubspec(version.pubspec)))
  return view
}

/** The same from the text that is stored. */
export const readPubspec = (pubspec: string): PubspecView => viewOf(stored.parse(JSON.parse(pubspec)))

const views = new WeakMap<PackageVersion, PubspecView>()

const text = z
  .string()
  .nullish()
  .transform((value) => value?.trim() || null)
const list = z
  .array(z.string())
  .nullish()
  .transform((value) => value ?? [])
const described = z
  .record(z.string(), z.json())
  .nullish()
  .transform((value) => value ?? {})

const stored = z.object({
  description: text,
  homepage: text,
  repository: text,
  issue_tracker: text,
  documentation: text,
  topics: list,
  funding: list,
  environment: z.record(z.string(), z.string().nullable()),
  dependencies: described,
  dev_dependencies: described,
  platforms: described,
  executables: described,
  // Flutter checks its own section; here, an odd one is none.
  flutter: z
    .looseObject({ plugin: z.looseObject({ platforms: z.record(z.string(), z.json()).nullish() }).nullish() })
    .nullish()
    .catch(null),
})

function viewOf(pubspec: z.infer<typeof stored>) {
  const {
    dependencies,
    dev_dependencies: devDependencies,
    environment,
    issue_tracker: issueTracker,
    platforms,
    executables,
    flutter,
    ...rest
  } = pubspec
  return {
    ...rest,
    issueTracker,
    platforms: Object.keys(platforms),
    executables: Object.keys(executables),
    /** The platforms that a Flutter plugin is made for; null when it is no plugin. */
    pluginPlatforms: flutter?.plugin ? Object.keys(flutter.plugin.platforms ?? {}) : null,
    environment: Object.entries(environment).map(([sdk, constraint]) => ({ sdk, constraint: constraint?.trim() || 'any' })),
    dependencies: [...dependenciesOf(dependencies, 'direct'), ...dependenciesOf(devDependencies, 'dev')],
    needsFlutter: 'flutter' in environment || 'flutter' in dependencies,
  }
}

const hostedForm = z.union([z.string(), z.looseObject({ url: z.string().nullish() }).transform(({ url }) => url ?? null)]).nullable()

const dependencyForm = z.union([
  z
    .string()
    .nullable()
    .transform((version) => ({ version, hosted: null, sdk: null, source: 'hosted' as const })),
  z
    .looseObject({ version: z.string().nullish(), hosted: hostedForm.optional(), sdk: z.string().optional() })
    .transform(({ version = null, hosted = null, sdk = null, ...rest }) => ({ version, hosted, sdk, source: sourceOf(sdk, rest) })),
])

function dependenciesOf(entries: z.infer<typeof described>, kind: Dependency['kind']): Dependency[] {
  return Object.entries(entries).map(([name, entry]) => {
    const { version, hosted, sdk, source } = dependencyForm.parse(entry)
    return { name, constraint: version?.trim() || 'any', kind, source, hostedUrl: hosted, sdk }
  })
}

function sourceOf(sdk: string | null, rest: object): Dependency['source'] {
  if (sdk !== null) return 'sdk'
  if ('git' in rest) return 'git'
  return 'path' in rest ? 'path' : 'hosted'
}
