import type { z } from 'zod'
import { hasCredentials, isOwnUrl, type HostedRules } from '../../platform/pub/hosted-url.ts'
import { checkDependencies } from './dependencies.ts'
import { pubspecSchema } from './pubspec-shape.ts'
import { quoted, refuse } from './refuse.ts'
import { type Json, readYaml, type JsonObject } from './yaml.ts'

/** A valid pubspec: the document as the package listing serves it, and the image files it refers to. */
export type CheckedPubspec = { document: JsonObject; screenshots: { path: string }[] }

/**
 * Parses and validates the text of a pubspec. `rules` define which registries dependencies may use and which `publish_to` values are accepted. Throws
 * `PackageRejected` with a single line that names the invalid field. Source: what the pub client packs and accepts.
 */
export function checkPubspec(text: string, rules: HostedRules): CheckedPubspec {
  const document = readYaml(text, 'pubspec.yaml')
  refuseCredentials(document, [])
  const parsed = pubspecSchema.safeParse(document)
  if (!parsed.success) return refuse(firstFault(parsed.error))
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
function refuseCredentials(value: Json, path: string[]): void {
  if (typeof value === 'object' && value !== null)
    for (const [key, each] of Object.entries(value)) {
      refuseCredentials(key, path)
      refuseCredentials(each, [...path, key])
    }
  else if (typeof value === 'string' && hasCredentials(value))
    refuse(
      `pubspec.yaml: ${path.join('.').slice(0, 200)} has a URL with a user name or password, which every reader could see. Remove the part before the @.`,
    )
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
