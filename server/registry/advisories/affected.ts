import { compareParsed, known, parseVersion, type Version } from '../../platform/pub/version.ts'
import type { Affected } from './osv.ts'

type Range = NonNullable<Affected['ranges']>[number]
type Event = { introduced: string } | { fixed: string } | { last_affected: string } | { limit: string }

/**
 * Whether a version is listed as affected or lies in an affected range. Uses pub's version order, in which build metadata is significant. Source:
 * ossf.github.io/osv-schema, "Evaluation".
 */
export function isAffected({ versions = [], ranges = [] }: Affected, version: string): boolean {
  const parsed = parseVersion(version)
  return parsed !== null && (versions.includes(version) || ranges.some((range) => isInRange(range, parsed)))
}

/**
 * Returns the affected versions in order: all versions that the advisory lists, whether or not they exist here, and the versions in `published` that
 * lie in its ranges.
 */
export function affectedVersions(entries: readonly Affected[], published: readonly string[]): string[] {
  const found = new Set(entries.flatMap(({ versions = [] }) => versions))
  for (const version of published) if (entries.some((entry) => isAffected(entry, version))) found.add(version)
  return [...found].sort((a, b) => compareParsed(known(a), known(b)))
}

/** Returns the fixed versions named by the ranges, in order. */
export function fixedVersions(entries: readonly Affected[]): string[] {
  const events = entries.flatMap(({ ranges = [] }) => ranges.flatMap(eventsOf))
  const fixed = new Set(events.flatMap((event) => ('fixed' in event ? [event.fixed] : [])))
  return [...fixed].sort((a, b) => compareParsed(known(a), known(b)))
}

function isInRange(range: Range, version: Version): boolean {
  const events = eventsOf(range)
  const limits = events.flatMap((event) => ('limit' in event ? [event.limit] : []))
  if (limits.length > 0 && !limits.some((limit) => limit === '*' || compareParsed(version, known(limit)) < 0)) return false
  let affected = false
  for (const event of events.filter((one) => !('limit' in one)).toSorted((a, b) => compareEvents(a, b))) {
    if ('introduced' in event) affected ||= event.introduced === '0' || compareParsed(version, known(event.introduced)) >= 0
    else if ('fixed' in event) affected &&= compareParsed(version, known(event.fixed)) < 0
    else if ('last_affected' in event) affected &&= compareParsed(version, known(event.last_affected)) <= 0
  }
  return affected
}

/** Returns the version events of a range. GIT ranges contain commits, not versions, and have none. */
const eventsOf = (range: Range): Event[] => (range.type === 'GIT' ? [] : range.events)

const versionOf = (event: Event): string => Object.values(event)[0] ?? '0'

function compareEvents(a: Event, b: Event): number {
  const [left, right] = [versionOf(a), versionOf(b)]
  if (left === '0' || right === '0') return Number(right === '0') - Number(left === '0')
  return compareParsed(known(left), known(right))
}
