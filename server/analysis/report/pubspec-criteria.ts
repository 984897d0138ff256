import { isIP } from 'node:net'
import type { Pubspec } from '../../registry/archive/pubspec.ts'
import { isObject, type JsonObject } from '../../registry/archive/yaml.ts'
import { webUrl } from '../../platform/pub/hosted-url.ts'
import { check, code, type Fault, type Finding, firstOf, type Subject } from './judge.ts'

/** Rates whether the pubspec is complete and valid. Source: pana's rules. */
export function judgePubspec({ contents, facts }: Subject): Finding[] {
  const { pubspec, document, files } = contents
  const faults = [
    ...descriptionFaults(pubspec.description),
    ...sdkFaults(pubspec),
    ...pluginFaults(document),
    ...executableFaults(document, new Set(files.map(({ path }) => path))),
    ...sourceFaults(pubspec),
    ...(facts.isPrivate ? [] : urlFaults(pubspec)),
  ]
  return [
    check({ id: 'pubspec', title: 'Complete `pubspec.yaml`' }, faults, 'Its fields are complete and well formed.'),
    facts.isPrivate ? privateUrls : { ...reachable, reason: 'The built-in engine does not open URLs.' },
  ]
}

const reachable = { id: 'url-reachability', title: 'URLs of the pubspec can be reached, and the repository has this package' }
const privateUrls = {
  id: 'urls',
  title: 'URLs in the pubspec are public and secure',
  reason: 'The package is private: its URLs need not be public.',
}

/** Limits of the description length, as in pana. Search engines show about as much. */
const [shortest, longest] = [50, 180]

function descriptionFaults(description: string | null): Fault[] {
  const length = description?.length ?? 0
  const remedy = 'Write 60 to 180 characters that say what the package does and for whom, as `description` in `pubspec.yaml`.'
  if (length === 0) return [{ fault: 'There is no `description`.', remedy }]
  if (length < shortest) return [{ fault: `The \`description\` has only ${length} characters.`, remedy }]
  return length > longest ? [{ fault: `The \`description\` has ${length} characters; result lists cut it off.`, remedy }] : []
}

function sdkFaults({ environment, dependencies }: Pubspec): Fault[] {
  const named = [...environment.map(({ sdk }) => sdk), ...dependencies.flatMap(({ sdk }) => (sdk === null ? [] : [sdk]))]
  const unknown = [...new Set(named)].filter((sdk) => !['sdk', 'dart', 'flutter'].includes(sdk))
  const remedy = 'Name only `sdk` (for Dart) and `flutter` under `environment`, and depend on packages of these SDKs only.'
  return unknown.length === 0 ? [] : [{ fault: `It requires an unknown SDK: ${firstOf(unknown.map(code))}.`, remedy }]
}

/** Flutter 1.10 introduced the declaration by platform. */
function pluginFaults({ flutter }: JsonObject): Fault[] {
  const plugin = isObject(flutter) ? flutter.plugin : null
  const old = isObject(plugin) ? ['androidPackage', 'iosPrefix', 'pluginClass'].filter((key) => key in plugin) : []
  if (old.length === 0) return []
  const fault = `The Flutter plugin is declared in the format used before Flutter 1.10: ${old.map(code).join(', ')}.`
  return [{ fault, remedy: 'Declare each platform of the plugin under `flutter: plugin: platforms:`.' }]
}

function executableFaults({ executables }: JsonObject, paths: ReadonlySet<string>): Fault[] {
  const scripts = Object.entries(isObject(executables) ? executables : {}).map(([name, script]) =>
    typeof script === 'string' && script.trim() ? script.trim() : name,
  )
  const missing = scripts.map((script) => `bin/${script.replace(/\.dart$/, '')}.dart`).filter((path) => !paths.has(path))
  if (missing.length === 0) return []
  const fault = `\`executables\` names ${firstOf(missing.map(code))}, which the archive does not have.`
  return [{ fault, remedy: 'Add the script to `bin/`, or remove it from `executables`.' }]
}

function sourceFaults({ homepage, repository }: Pubspec): Fault[] {
  if (homepage || repository) return []
  const remedy = 'Add `repository` with the URL of the source code, so that users can read it and report problems.'
  return [{ fault: 'There is neither a `repository` nor a `homepage`.', remedy }]
}

function urlFaults({ homepage, repository, issueTracker, documentation, funding }: Pubspec): Fault[] {
  const named = { homepage, repository, issue_tracker: issueTracker, documentation }
  const given = [...Object.entries(named), ...funding.map((url) => ['funding', url] as const)]
  return given.flatMap(([field, url]) => (url ? urlFault(field, url) : []))
}

function urlFault(field: string, text: string): Fault[] {
  const url = webUrl(text)
  const where = `\`${field}\` (${code(text)})`
  if (!url) return [{ fault: `${where} is not a URL.`, remedy: `Write a whole https URL as \`${field}\`.` }]
  if (!isPublicHost(url.hostname))
    return [{ fault: `${where} has a host that is not public.`, remedy: `Name a public host in \`${field}\`, or leave it out.` }]
  if (url.protocol !== 'https:') return [{ fault: `${where} is insecure.`, remedy: `Use an https URL as \`${field}\`.` }]
  return []
}

const isPublicHost = (host: string) =>
  isIP(host.replaceAll(/[[\]]/g, '')) === 0 &&
  /\.[a-z0-9-]{2,}$/i.test(host) &&
  !/\.(?:local|localhost|internal|lan|test|example)$/i.test(host)
