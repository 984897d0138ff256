import { z } from 'zod'
import { ApiError } from '../../errors.ts'
import { rejectLargeJson } from '../../platform/http/json-size.ts'
import { type Affected, affectedPackages, eventsOf, maxValues, moment, type Osv, osv, parseWith, pub, webAddress } from './osv.ts'
import { hasUnknownSeverity } from './severity.ts'

const orNothing = <Schema extends z.ZodType>(schema: Schema) => schema.optional().catch(undefined)

/** An advisory of another server. Fields that do not decide which versions are affected, and how severely, are left out if they are wrong. */
const foreignOsv = osv.extend({
  published: orNothing(moment),
  summary: orNothing(z.string()),
  details: orNothing(z.string()),
  aliases: orNothing(z.array(z.string())),
  references: orNothing(z.array(z.looseObject({ type: z.string(), url: webAddress }))),
  database_specific: z.looseObject({ pub_display_url: orNothing(webAddress), severity: z.string().optional() }).optional(),
})

/** A document with advisories, as another server sent it. */
export type ForeignDocument = { advisories: unknown[]; unreadable?: unknown }

/** The advisories of another server about a package, as far as they can be read, and the first problem; null if all can be read. */
export type ForeignAdvisories = { advisories: Osv[]; problem: string | null }

/** Parses the advisories of another server about a package. Invalid ones are skipped. Returns the first problem, or the earlier one in `unreadable`. */
export function parseForeignAdvisories({ advisories: list, unreadable }: ForeignDocument, name: string): ForeignAdvisories {
  const advisories: Osv[] = []
  let problem = typeof unreadable === 'string' ? unreadable : null
  for (const [index, entry] of list.entries()) {
    const found = readOne(entry, name)
    if (typeof found === 'object') advisories.push(found)
    else problem ??= `advisory ${index + 1} of ${list.length}: ${found}`
  }
  return { advisories, problem: problem && problem.replace(/[^\x20-\x7e]/g, '?').slice(0, 200) }
}

/** Returns an advisory about a package, or why it cannot be applied. */
function readOne(entry: unknown, name: string): Osv | string {
  // pub.dev sends null for fields without a value. Ecosystems may have a suffix.
  const text = JSON.stringify(entry, (key, value: unknown) =>
    key === 'ecosystem' && typeof value === 'string' && /^pub(:.*)?$/i.test(value) ? pub : (value ?? undefined),
  )
  try {
    rejectLargeJson(text, maxValues)
  } catch (error) {
    return error instanceof ApiError ? error.message : String(error)
  }
  const parsed = parseWith(foreignOsv, JSON.parse(text))
  if ('message' in parsed) return `${parsed.path.join('.')}: ${parsed.message}`
  const { advisory } = parsed
  const entries = affectedPackages(advisory).filter((one) => one.package.name === name)
  if (entries.length === 0) return `affected: does not name ${name}`
  if (!entries.every(namesVersions)) return 'affected: does not say which versions are affected'
  return hasUnknownSeverity(advisory) ? 'severity: is not a known severity' : advisory
}

/** Whether an entry lists versions, or has ranges of versions of which each begins somewhere. */
function namesVersions({ versions = [], ranges = [] }: Affected): boolean {
  const events = ranges.filter(({ type }) => type !== 'GIT').map(eventsOf)
  return versions.length + events.length > 0 && events.every((range) => range.some((one) => 'introduced' in one))
}
