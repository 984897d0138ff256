import { parseConstraint } from '../../platform/pub/constraint.ts'
import { isAllowedHost, isOwnUrl, normalHostedUrl, type HostedRules } from '../../platform/pub/hosted-url.ts'
import { nameFault } from '../../platform/pub/package-name.ts'
import { quoted, rejectArchive } from './reject.ts'
import { isObject, type Json, type JsonObject } from './yaml.ts'

/** A dependency declared in a pubspec. `hostedUrl` is null for the client's default registry. `sdk` is the name of the SDK for `source: 'sdk'`. */
export type Dependency = {
  name: string
  constraint: string
  kind: 'direct' | 'dev'
  source: 'hosted' | 'sdk' | 'git' | 'path'
  hostedUrl: string | null
  sdk: string | null
}

/** Converts a dependency field that was validated at publishing. */
export function describeDependencies(listed: Json | undefined, kind: Dependency['kind']): Dependency[] {
  return Object.entries(isObject(listed) ? listed : {}).map(([name, spec]) => {
    const { version = null, ...source } = isObject(spec) ? spec : { version: spec }
    const stated = typeof version === 'string' ? version.trim() : ''
    return { name, constraint: stated || 'any', kind, ...originOf(source) }
  })
}

function originOf(stated: JsonObject): Pick<Dependency, 'source' | 'hostedUrl' | 'sdk'> {
  const { sdk, hosted } = stated
  if (typeof sdk === 'string') return { source: 'sdk', hostedUrl: null, sdk }
  for (const source of ['git', 'path'] as const) if (source in stated) return { source, hostedUrl: null, sdk: null }
  const url = isObject(hosted) ? hosted.url : hosted
  return { source: 'hosted', hostedUrl: typeof url === 'string' ? url : null, sdk: null }
}

/**
 * Validates a dependency field. In `dependencies`, git and path sources are rejected, and hosted sources must be an allowed registry; the other
 * fields accept any source. Packages on this server must follow `nameFault`; other registries, such as pub.dev, have old packages with upper-case
 * names. Throws `PackageRejected` naming the dependency. Source: `_parseDependencies` of the pub client.
 */
export function checkDependencies(
  field: 'dependencies' | 'dev_dependencies' | 'dependency_overrides',
  listed: JsonObject | null | undefined,
  packageName: string,
  rules: HostedRules,
): void {
  for (const [name, spec] of Object.entries(listed ?? {})) {
    const fail: Fail = (fault) => rejectArchive(`pubspec.yaml: ${field}.${name.slice(0, 100)} ${fault}`)
    if (!/^[A-Za-z_]\w{0,63}$/.test(name)) fail('is not a package name. Use letters, digits and underscores.')
    if (name === packageName) fail('is the package itself. Remove it.')
    const origin = checkForm(name, spec, fail)
    const fault = origin.url !== null && isOwnUrl(origin.url, rules) ? nameFault(name) : null
    if (fault) fail(`is hosted on this server, where a package name ${fault}.`)
    if (field === 'dependencies') checkOrigin(name, origin, rules, fail)
  }
}

type Fail = (fault: string) => never

/** The source of a dependency, and its registry URL if specified. */
type Origin = { source: string; url: string | null }

function checkForm(name: string, spec: Json, fail: Fail): Origin {
  if (Array.isArray(spec)) fail('must be a version constraint or a mapping.')
  const { version = null, ...sources } = isObject(spec) ? spec : { version: spec }
  const [source = 'hosted', ...more] = Object.keys(sources)
  if (more.length > 0) fail(`has more than one source. Keep one of ${[source, ...more].join(', ').slice(0, 200)}.`)
  if (!['hosted', 'sdk', 'git', 'path'].includes(source)) fail(`has the unknown source ${quoted(source)}. Use a hosted package.`)
  checkConstraint(version, fail)
  if (source === 'sdk') checkSdk(sources.sdk, fail)
  return { source, url: source === 'hosted' ? checkHosted(name, sources.hosted ?? null, fail) : null }
}

/** Validates `hosted: url` and `hosted: {name, url}`. Returns the normalized URL, or null if the URL is omitted. */
function checkHosted(name: string, described: Json, fail: Fail): string | null {
  if (described === null) return null
  if (typeof described === 'string')
    return normalHostedUrl(described) ?? fail('has a hosted URL that is not http or https with a host. Correct it.')
  if (!isObject(described)) return fail('must have hosted as a URL, or as a mapping of name and url.')
  const { name: hostedName = name, url = null, ...others } = described
  if (hostedName !== name) fail(`must have the hosted name ${quoted(name)}, the same as its key.`)
  if (Object.keys(others).length > 0) fail(`has the unknown hosted field ${quoted(Object.keys(others).join(', '))}. Remove it.`)
  return checkHosted(name, typeof url === 'string' || url === null ? url : [], fail)
}

function checkSdk(described: Json | undefined, fail: Fail): void {
  if (typeof described !== 'string' || !['dart', 'flutter', 'fuchsia'].includes(described)) fail('must have sdk: flutter or sdk: dart.')
}

function checkConstraint(version: Json, fail: Fail): void {
  if (version === null) return
  if (typeof version !== 'string' || !parseConstraint(version)) fail('must have a version constraint such as ^1.0.0 or any, as text.')
}

function checkOrigin(name: string, { source, url }: Origin, rules: HostedRules, fail: Fail): void {
  if (source === 'git' || source === 'path') fail(`comes from ${source}. Publish ${name} and depend on its hosted version.`)
  if (url !== null && !isAllowedHost(url, rules))
    fail(
      `is hosted at ${quoted(url)}, which this server does not allow. Use pub.dev or ${rules.serverUrl}, or ask its administrator to add the URL to ALLOWED_HOSTED_URLS.`,
    )
}
