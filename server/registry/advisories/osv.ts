import { z } from 'zod'
import { ApiError, invalidInput } from '../../errors.ts'
import { rejectLargeJson } from '../../platform/http/json-size.ts'
import { isUpstreamName } from '../../platform/pub/package-name.ts'
import { compareParsed, known, parseVersion, type Version } from '../../platform/pub/version.ts'

/** Maximum number of JSON values in an import: enough for several advisories that list 10,000 versions each. */
export const maxValues = 100_000

export const pub = 'Pub'

export const moment = z.iso.datetime({ offset: true, message: 'must be a moment such as 2026-01-31T12:00:00Z' })
export const webAddress = z.url({ protocol: /^https?$/, message: 'must be an http or https address' })
const version = z.string().refine((text) => parseVersion(text) !== null, 'must be a version in canonical form, such as 1.2.3')
const start = z.union([z.literal('0'), version], 'must be 0, or a version such as 1.2.3')

const kinds = ['introduced', 'fixed', 'last_affected', 'limit']
const knownEvent = z.union(
  [
    z.object({ introduced: start }),
    z.object({ fixed: version }),
    z.object({ last_affected: version }),
    z.object({ limit: z.union([z.literal('*'), version]) }),
  ],
  'must be one of introduced, fixed, last_affected and limit, with a version',
)
/** Of an event with two kinds, the second one would be ignored. */
const hasOneKind = (value: unknown) => typeof value !== 'object' || value === null || kinds.filter((kind) => kind in value).length < 2
const event = z
  .unknown()
  .refine(hasOneKind, { message: 'must have only one of introduced, fixed, last_affected and limit', abort: true })
  .pipe(knownEvent)
const range = z.discriminatedUnion('type', [
  z.looseObject({ type: z.enum(['SEMVER', 'ECOSYSTEM']), events: z.array(event).min(1) }),
  z.looseObject({ type: z.literal('GIT') }),
])
const affectedHere = z.looseObject({
  package: z.looseObject({ ecosystem: z.literal(pub), name: z.string().refine(isUpstreamName, 'is not a valid package name') }),
  ranges: z.array(range).optional(),
  versions: z.array(version).max(10_000).optional(),
})
const anyAffected = z.looseObject({ package: z.looseObject({ ecosystem: z.string() }).optional() })

/** An advisory in OSV format (ossf.github.io/osv-schema). Validates the fields that the registry uses; unknown fields are kept. */
export const osv = z.looseObject({
  id: z.string().regex(/^[A-Za-z0-9][\w.:-]{0,127}$/, 'must be 1 to 128 letters, digits and signs'),
  modified: moment,
  published: moment.optional(),
  withdrawn: moment.optional(),
  summary: z.string().optional(),
  details: z.string().optional(),
  aliases: z.array(z.string()).optional(),
  severity: z.array(z.looseObject({ type: z.string(), score: z.string() })).optional(),
  references: z.array(z.looseObject({ type: z.string(), url: webAddress })).optional(),
  database_specific: z.looseObject({ pub_display_url: webAddress.optional(), severity: z.string().optional() }).optional(),
  affected: z
    .array(z.unknown())
    .transform((list, context) => list.map((entry, index) => affectedOf(entry, index, context)))
    .refine((list) => list.some(isHere), `names no package of the ecosystem ${pub}`),
})

export type Osv = z.infer<typeof osv>
export type Affected = z.infer<typeof affectedHere>

/** Whether an entry is about a Dart package. `affectedOf` has validated it as such. */
const isHere = (entry: unknown): entry is Affected => anyAffected.safeParse(entry).data?.package?.ecosystem === pub

/** Returns the entries of an advisory that are about Dart packages. */
export const affectedPackages = ({ affected }: Osv): Affected[] => affected.filter(isHere)

/**
 * Parses one advisory or a list of them.
 * @throws ApiError InvalidInput for the first problem found.
 */
export function parseAdvisories(text: string): Osv[] {
  let json: unknown
  try {
    rejectLargeJson(text, maxValues)
    json = withoutNulls(JSON.parse(text))
  } catch (error) {
    throw invalidInput(error instanceof ApiError ? `osv: ${error.message}` : 'osv: is not valid JSON.', 'osv')
  }
  const list: unknown[] = Array.isArray(json) ? json : [json]
  if (list.length === 0) throw invalidInput('osv: contains no advisory.', 'osv')
  return list.map((entry, index) => {
    const parsed = parseWith(osv, entry)
    if (!('message' in parsed)) return parsed.advisory
    const place = [...(Array.isArray(json) ? [index] : []), ...parsed.path].join('.')
    throw invalidInput(`osv: ${place ? `${place}: ` : ''}${parsed.message}`, 'osv')
  })
}

/** Removes fields that are null: pub.dev sends null for fields without a value. */
export function withoutNulls(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutNulls)
  if (typeof value !== 'object' || value === null) return value
  const fields = Object.entries(value).filter(([, field]) => field !== null)
  return Object.fromEntries(fields.map(([name, field]) => [name, withoutNulls(field)]))
}

/** Returns an advisory, or what is wrong with it. */
export function parseWith(schema: z.ZodType<Osv>, entry: unknown): { advisory: Osv } | { path: PropertyKey[]; message: string } {
  const parsed = schema.safeParse(entry)
  const late = parsed.data && moments.find((field) => new Date(parsed.data[field] ?? 0) >= end)
  if (late) return { path: [late], message: 'must be before the year 9999' }
  if (parsed.success) return { advisory: parsed.data }
  const issue = parsed.error.issues[0]
  return { path: issue?.path ?? [], message: issue?.message ?? 'is not an advisory' }
}

/** Dates must be earlier: OSV has no format for years after 9999, and withdrawing an advisory increases its modification date. */
const end = new Date('9999-01-01T00:00:00Z')
const moments = ['modified', 'published', 'withdrawn'] as const

/** Parses a stored advisory, which was validated when it was imported. */
export const storedOsv = (document: string): Osv => osv.parse(JSON.parse(document))

/** Validates an entry by the rules of its ecosystem, so that error messages refer to the actual problem. */
function affectedOf(entry: unknown, index: number, context: z.RefinementCtx): unknown {
  const any = anyAffected.safeParse(entry)
  const parsed = any.data?.package?.ecosystem === pub ? affectedHere.safeParse(entry) : any
  if (parsed.success) return parsed.data
  const issue = parsed.error.issues[0]
  context.addIssue({ code: 'custom', message: issue?.message ?? 'is not valid', path: [index, ...(issue?.path ?? [])] })
  return entry
}

type Range = NonNullable<Affected['ranges']>[number]
type Event = { introduced: string } | { fixed: string } | { last_affected: string } | { limit: string }

/** Whether a version is listed as affected or lies in an affected range. */
export function isAffected(entry: Affected, version: string): boolean {
  const parsed = parseVersion(version)
  return parsed !== null && affects([entry])(parsed)
}

/**
 * Returns a predicate: whether a version is listed as affected or lies in an affected range. Uses pub's version order, in which build metadata
 * is significant. Source: ossf.github.io/osv-schema, "Evaluation".
 */
function affects(entries: readonly Affected[]): (version: Version) => boolean {
  const listed = new Set(entries.flatMap(({ versions = [] }) => versions))
  const ranges = entries.flatMap((entry) => (entry.ranges ?? []).map(boundsOf))
  return (version) => listed.has(version.text) || ranges.some((range) => isInRange(range, version))
}

/**
 * Returns which of some versions, in ascending order, are affected, and all listed ones, as `affects` decides for each. Compares only where a range
 * begins or ends.
 */
export function affectedAmong(entries: readonly Affected[], ordered: readonly Version[]): Set<string> {
  const found = new Set(entries.flatMap(({ versions = [] }) => versions))
  for (const range of entries.flatMap((entry) => (entry.ranges ?? []).map(boundsOf))) {
    const bounds = [...range.limits, ...range.events.map(({ version }) => version)].filter((bound) => bound !== null)
    const starts = [0, ...bounds.flatMap((bound) => [positionOf(ordered, bound, 0), positionOf(ordered, bound, 1)])].sort((a, b) => a - b)
    for (const [index, start] of starts.entries()) {
      const [first, end = ordered.length] = [ordered[start], starts[index + 1]]
      if (first && end > start && isInRange(range, first)) for (const { text } of ordered.slice(start, end)) found.add(text)
    }
  }
  return found
}

/** Returns the index of the first version that is not lower than a bound, or with `above`, that is higher. */
function positionOf(ordered: readonly Version[], bound: Version, above: 0 | 1): number {
  let [low, high] = [0, ordered.length]
  while (low < high) {
    const middle = (low + high) >>> 1
    const version = ordered[middle]
    if (version && compareParsed(version, bound) < above) low = middle + 1
    else high = middle
  }
  return low
}

/**
 * Returns the affected versions in order: all versions that the advisory lists, whether or not they exist here, and the versions in `published` that
 * lie in its ranges.
 */
export function affectedVersions(entries: readonly Affected[], published: readonly string[]): string[] {
  const found = new Set(entries.flatMap(({ versions = [] }) => versions))
  const isHit = affects(entries)
  for (const version of published.map(parseVersion)) if (version && isHit(version)) found.add(version.text)
  return sorted(found)
}

/** Returns the fixed versions named by the ranges, in order. */
export function fixedVersions(entries: readonly Affected[]): string[] {
  const events = entries.flatMap(({ ranges = [] }) => ranges.flatMap(eventsOf))
  return sorted(new Set(events.flatMap((event) => ('fixed' in event ? [event.fixed] : []))))
}

const sorted = (versions: Set<string>): string[] => [...versions].sort((a, b) => compareParsed(known(a), known(b)))

/** The parsed events of a range in ascending order. A null version precedes all versions (of `introduced`) or follows them (of `limit`). */
type Bounds = { limits: (Version | null)[]; events: { kind: 'introduced' | 'fixed' | 'last_affected'; version: Version | null }[] }

function boundsOf(range: Range): Bounds {
  const all = eventsOf(range)
  const events = all.flatMap((event): Bounds['events'] => {
    if ('introduced' in event) return [{ kind: 'introduced', version: event.introduced === '0' ? null : known(event.introduced) }]
    if ('fixed' in event) return [{ kind: 'fixed', version: known(event.fixed) }]
    return 'last_affected' in event ? [{ kind: 'last_affected', version: known(event.last_affected) }] : []
  })
  return {
    limits: all.flatMap((event) => ('limit' in event ? [event.limit === '*' ? null : known(event.limit)] : [])),
    events: events.sort((a, b) =>
      a.version && b.version ? compareParsed(a.version, b.version) : Number(b.version === null) - Number(a.version === null),
    ),
  }
}

function isInRange({ limits, events }: Bounds, version: Version): boolean {
  if (limits.length > 0 && !limits.some((limit) => limit === null || compareParsed(version, limit) < 0)) return false
  let affected = false
  for (const { kind, version: bound } of events) {
    const order = bound ? compareParsed(version, bound) : 1
    if (kind === 'introduced') affected ||= order >= 0
    else affected &&= kind === 'fixed' ? order < 0 : order <= 0
  }
  return affected
}

/** Returns the version events of a range. GIT ranges contain commits, not versions, and have none. */
export const eventsOf = (range: Range): Event[] => (range.type === 'GIT' ? [] : range.events)
