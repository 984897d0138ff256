import { z } from 'zod'
import { isBounded, isImpossible, parseConstraint } from '../../platform/pub/constraint.ts'
import { hasCredentials, type HostedRules, isOwnUrl, webUrl } from '../../platform/pub/hosted-url.ts'
import { nameFault } from '../../platform/pub/package-name.ts'
import { fitsClient, maxVersionLength, parseVersion } from '../../platform/pub/version.ts'
import { checkDependencies } from './dependencies.ts'
import { quoted, rejectArchive } from './reject.ts'
import { type Json, type JsonObject, readYaml } from './yaml.ts'

const text = z.string('must be text')
const url = text.refine((link) => webUrl(link), 'must be an http or https URL with a host, such as https://example.com')
const listOf = <Entry extends z.ZodType>(entry: Entry) => z.array(entry, 'must be a list').nullish()
const mapOf = <Entry extends z.ZodType>(entry: Entry) => z.record(z.string(), entry, 'must be a mapping').nullish()

const name = required('such as `name: my_package`').superRefine((value, issues) => {
  const fault = nameFault(value)
  if (fault) issues.addIssue(fault)
})

const version = required('such as `version: 1.0.0`', 'must be three numbers such as 1.0.0').superRefine((value, issues) => {
  const parsed = parseVersion(value)
  if (value.length > maxVersionLength) issues.addIssue(`must have at most ${maxVersionLength} characters`)
  else if (!parsed) issues.addIssue('must be three numbers such as 1.0.0, optionally with -pre and +build, without leading zeros or a v')
  else if (!fitsClient(parsed)) issues.addIssue('must have numbers below 9223372036854775808, which pub can read')
})

const constraint = text.refine((value) => parseConstraint(value), 'must be a version constraint such as ^1.0.0 or >=1.0.0 <2.0.0')

const sdk = required('such as `sdk: ^3.0.0`').superRefine((value, issues) => {
  const parsed = parseConstraint(value)
  if (!parsed) issues.addIssue('must be a version constraint such as ^3.0.0')
  else if (!isBounded(parsed)) issues.addIssue('must have a lower and an upper bound, such as ^3.0.0 or >=3.0.0 <4.0.0')
  else if (isImpossible(parsed)) issues.addIssue('allows no version at all; put the lower bound first')
})

const environment = z
  .object(
    { sdk, dart: z.undefined('is not a field; write the Dart constraint as sdk').optional() },
    { error: missing('such as `environment: {sdk: ^3.0.0}`', 'must be a mapping') },
  )
  .catchall(constraint.nullable())

const topic = text.regex(/^[a-z0-9-]{2,32}$/, 'must be 2 to 32 lowercase letters, digits and hyphens')
const screenshot = z.object(
  { path: required('the path of an image in the package'), description: required('a sentence about the image') },
  'must be a mapping of path and description',
)
const executable = z
  .string('must be text or empty')
  .regex(/^[^/\\]*$/, 'must be the name of a script in bin/, without a path')
  .nullable()
const executableName = z.string().regex(/^[a-zA-Z0-9_-]+$/)

/** Schema of the pubspec fields that the registry or the client reads. Other fields are not validated. Sources: pub's protocol, pub's `Pubspec`. */
export const pubspecSchema = z.looseObject({
  name,
  version,
  description: text.nullish(),
  environment,
  dependencies: z
    .record(z.string(), z.json(), 'must be a mapping')
    .refine((all) => Object.keys(all).length <= 100, 'must have at most 100 entries')
    .nullish(),
  dev_dependencies: mapOf(z.json()),
  dependency_overrides: mapOf(z.json()),
  publish_to: text.nullish(),
  homepage: url.nullish(),
  repository: url.nullish(),
  issue_tracker: url.nullish(),
  documentation: url.nullish(),
  topics: z.array(topic, 'must be a list').max(5, 'must have at most 5 entries').nullish(),
  screenshots: z.array(screenshot, 'must be a list').max(10, 'must have at most 10 entries').nullish(),
  funding: listOf(text.refine((link) => webUrl(link)?.protocol === 'https:', 'must be an https URL with a host')),
  executables: z
    .record(executableName, executable, {
      error: (issue) => (issue.code === 'invalid_key' ? 'must be letters, digits, hyphens and underscores' : 'must be a mapping'),
    })
    .nullish(),
  platforms: mapOf(z.json()),
  false_secrets: listOf(text),
  ignored_advisories: listOf(text),
  flutter: z.json().optional(),
})

function required(example: string, wrong = 'must be text; put quotes around it') {
  return z.string({ error: missing(example, wrong) })
}

/** Returns an error callback that distinguishes a missing field from one of the wrong type. */
function missing(example: string, wrong: string) {
  return ({ input }: { input?: unknown }) => (input === undefined || input === null ? `is missing; add it, ${example}` : wrong)
}

/** `document`: the pubspec as the package listing serves it. */
export type CheckedPubspec = { document: JsonObject; screenshots: { path: string }[] }

/**
 * Parses and validates the text of a pubspec. `rules` define which registries dependencies may use and which `publish_to` values are accepted. Throws
 * `PackageRejected` with a single line that names the invalid field. Source: what the pub client packs and accepts.
 */
export function checkPubspec(text: string, rules: HostedRules): CheckedPubspec {
  const document = readYaml(text, 'pubspec.yaml')
  rejectCredentials(document, [])
  const parsed = pubspecSchema.safeParse(document)
  if (!parsed.success) {
    const [issue] = parsed.error.issues
    return rejectArchive(`pubspec.yaml: ${issue?.path.join('.').slice(0, 200)} ${issue?.message}.`)
  }
  const fields = parsed.data
  checkPublishTo(fields.publish_to, rules)
  for (const field of ['dependencies', 'dev_dependencies', 'dependency_overrides'] as const)
    checkDependencies(field, fields[field], fields.name, rules)
  return { document, screenshots: fields.screenshots ?? [] }
}

/**
 * Rejects URLs with credentials in any field, because the whole pubspec is served to all readers. The message omits the URL because messages are
 * logged.
 */
function rejectCredentials(value: Json, path: string[]): void {
  if (typeof value === 'object' && value !== null)
    for (const [key, each] of Object.entries(value)) {
      rejectCredentials(key, path)
      rejectCredentials(each, [...path, key])
    }
  else if (typeof value === 'string' && hasCredentials(value))
    rejectArchive(
      `pubspec.yaml: ${path.join('.').slice(0, 200)} has a URL with a user name or password, which every reader could see. Remove the part before the @.`,
    )
}

function checkPublishTo(publishTo: string | null | undefined, rules: HostedRules) {
  const { serverUrl } = rules
  if (publishTo === null || publishTo === undefined) return
  if (publishTo === 'none')
    rejectArchive(`pubspec.yaml: publish_to is none, which forbids publishing. Remove it or set it to ${serverUrl}.`)
  if (!isOwnUrl(publishTo, rules))
    rejectArchive(`pubspec.yaml: publish_to is ${quoted(publishTo)}, not this server. Set it to ${serverUrl}.`)
}
