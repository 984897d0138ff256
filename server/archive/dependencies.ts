import { parseConstraint } from '../pub/constraint.ts'
import { isAllowedHost, normalHostedUrl, type HostedRules } from '../pub/hosted-url.ts'
import { quoted, refuse } from './refuse.ts'
import type { Json, JsonObject } from './yaml.ts'

/** A dependency as a pubspec states it. `hostedUrl` is null for the client's default registry. */
export type Dependency = {
  name: string
  constraint: string
  source: 'hosted' | 'sdk' | 'git' | 'path'
  hostedUrl: string | null
  sdk: string | null
}

/** The fields of a pubspec that list dependencies. Only the first matters to the users of a package. */
export type DependencyField = 'dependencies' | 'dev_dependencies' | 'dependency_overrides'

/**
 * Reads a list of dependencies. In `dependencies` neither git nor path is taken, and hosted only from an allowed registry; elsewhere from anywhere.
 * Throws `PackageRejected` naming the dependency. Sources: pub's protocol ("What an archive must be"), pub's `_parseDependencies`.
 */
export function readDependencies(
  field: DependencyField,
  listed: JsonObject | null | undefined,
  packageName: string,
  rules: HostedRules,
): Dependency[] {
  return Object.entries(listed ?? {}).map(([name, spec]) => {
    const fail: Fail = (fault) => refuse(`pubspec.yaml: ${field}.${name.slice(0, 100)} ${fault}`)
    if (!/^[A-Za-z_]\w{0,63}$/.test(name)) fail('is not a package name. Use letters, digits and underscores.')
    if (name === packageName) fail('is the package itself. Remove it.')
    const dependency = read(name, spec, fail)
    if (field === 'dependencies') checkSource(dependency, rules, fail)
    return dependency
  })
}

type Fail = (fault: string) => never

function read(name: string, spec: Json, fail: Fail): Dependency {
  if (spec === null || typeof spec !== 'object') return hosted(name, spec, null, fail)
  if (Array.isArray(spec)) return fail('must be a version constraint or a mapping.')
  const { version = null, ...sources } = spec
  const [source = 'hosted', ...more] = Object.keys(sources)
  if (more.length > 0) fail(`has more than one source. Keep one of ${[source, ...more].join(', ').slice(0, 200)}.`)
  const described = sources[source] ?? null
  if (source === 'hosted') return hosted(name, version, described, fail)
  if (source === 'sdk') return { name, constraint: constraint(version, fail), source, hostedUrl: null, sdk: sdk(described, fail) }
  if (source === 'git' || source === 'path') return { name, constraint: constraint(version, fail), source, hostedUrl: null, sdk: null }
  return fail(`has the unknown source ${quoted(source)}. Use a hosted package.`)
}

function hosted(name: string, version: Json, described: Json, fail: Fail): Dependency {
  return { name, constraint: constraint(version, fail), source: 'hosted', hostedUrl: hostedUrl(name, described, fail), sdk: null }
}

/** `hosted: url`, or `hosted: {name, url}`; null without a URL. */
function hostedUrl(name: string, described: Json, fail: Fail): string | null {
  if (described === null) return null
  if (typeof described === 'string')
    return normalHostedUrl(described) ?? fail('has a hosted URL that is not http or https with a host. Correct it.')
  if (typeof described !== 'object' || Array.isArray(described)) return fail('must have hosted as a URL, or as a mapping of name and url.')
  const { name: hostedName = name, url = null, ...others } = described
  if (hostedName !== name) fail(`must have the hosted name ${quoted(name)}, the same as its key.`)
  if (Object.keys(others).length > 0) fail(`has the unknown hosted field ${quoted(Object.keys(others).join(', '))}. Remove it.`)
  return hostedUrl(name, typeof url === 'string' || url === null ? url : [], fail)
}

function sdk(described: Json, fail: Fail): string {
  return typeof described === 'string' && ['dart', 'flutter', 'fuchsia'].includes(described)
    ? described
    : fail('must have sdk: flutter or sdk: dart.')
}

function constraint(version: Json, fail: Fail): string {
  if (version === null) return 'any'
  if (typeof version !== 'string' || !parseConstraint(version))
    return fail('must have a version constraint such as ^1.0.0 or any, as text.')
  return version.trim()
}

function checkSource({ name, source, hostedUrl: url }: Dependency, rules: HostedRules, fail: Fail) {
  if (source === 'git' || source === 'path') fail(`comes from ${source}. Publish ${name} and depend on its hosted version.`)
  if (url !== null && !isAllowedHost(url, rules))
    fail(
      `is hosted at ${quoted(url)}, which this server does not allow. Use pub.dev or ${rules.serverUrl}, or ask its administrator to add the URL to ALLOWED_HOSTED_URLS.`,
    )
}
