import type { EntityManager } from '@mikro-orm/sql'
import { type Expression, sql } from 'kysely'
import { readEach } from '../../platform/db/batched.ts'
import { db } from '../../platform/db/query.ts'
import { dayOf, startOfDay, weekOf } from './service.ts'

/** How downloads are grouped: by the first number of the version, or by the first two. */
export type Grouping = 'major' | 'minor'

export type GroupKind = 'versions' | 'other' | 'deleted'

/** Weekly downloads of a group of versions. `name` is `2.x` or `2.1.x` for the kind `versions`. */
type Group = { name: string; kind: GroupKind; downloads: number[] }
export type VersionGroups = { weeks: Date[]; groups: Group[] }

/** Longest period in weeks: ten years. */
export const maxWeeks = 520
/** Number of groups that are returned separately; the downloads of the rest are added up. */
const maxGroups = 7
/** Earlier weeks are omitted if there were no downloads before. */
const minWeeks = 13

/**
 * Returns the weekly downloads of a package by version, the highest versions first, for the last weeks. The last week ends today. The most
 * downloaded groups are returned separately. Downloads of deleted versions are known only in total. Batched per request.
 */
export async function downloadsByGroup(
  em: EntityManager,
  packageId: string,
  { by, weeks, now }: { by: Grouping; weeks: number; now: Date },
): Promise<VersionGroups> {
  const [first, today] = [dayOf(now) - 7 * weeks + 1, dayOf(now)]
  const ofVersions = db
    .selectFrom('package_versions as v')
    .innerJoin('version_downloads as d', 'd.version_id', 'v.id')
    .select((eb) => [
      prefixOf(eb.ref('v.version'), by).as('name'),
      weekOf(eb.ref('d.day'), first).as('week'),
      eb.fn.sum<number>('d.downloads').as('downloads'),
    ])
    .where('v.package_id', '=', packageId)
    .where('d.day', '>=', first)
    .where('d.day', '<=', today)
    .groupBy(['name', 'week'])
  const inTotal = db
    .selectFrom('package_downloads as d')
    .select((eb) => [
      eb.cast<string | null>(eb.lit(null), 'text').as('name'),
      weekOf(eb.ref('d.day'), first).as('week'),
      eb.fn.sum<number>('d.downloads').as('downloads'),
    ])
    .where('d.package_id', '=', packageId)
    .where('d.day', '>=', first)
    .where('d.day', '<=', today)
    .groupBy('week')
  const rows = await readEach(em, { query: ofVersions.unionAll(inTotal) })
  // Databases round divisions towards zero.
  const earliest = rows.reduce((found, row) => Math.min(found, row.week), weeks)
  const skipped = Math.max(0, Math.min(earliest, weeks - minWeeks))
  return {
    weeks: Array.from({ length: weeks - skipped }, (_, index) => startOfDay(first + 7 * (skipped + index))),
    groups: grouped(rows, by, { weeks, skipped }),
  }
}

type Row = { name: string | null; week: number; downloads: number }

/** The first or the first two numbers of a version, such as `2` or `2.1`. */
function prefixOf(version: Expression<string>, by: Grouping) {
  const afterFirst = afterNumber(version)
  const rest = by === 'major' ? afterFirst : afterNumber(sql`substr(${afterFirst}, 2)`)
  return sql<string | null>`substr(${version}, 1, length(${version}) - length(${rest}))`
}

const afterNumber = (text: Expression<string>) => sql<string>`ltrim(${text}, '0123456789')`

function grouped(rows: readonly Row[], by: Grouping, { weeks, skipped }: { weeks: number; skipped: number }): Group[] {
  const seriesOf = (some: readonly Row[]) => {
    const sums = Array.from({ length: weeks - skipped }, () => 0)
    for (const { week, downloads } of some) sums[week - skipped] = (sums[week - skipped] ?? 0) + downloads
    return sums
  }
  const ofVersions = rows.filter(({ name }) => name !== null)
  const byName = Map.groupBy(ofVersions, ({ name }) => name ?? '')
  const ranked = Array.from(byName, ([name, some]) => ({ name, downloads: seriesOf(some) })).toSorted(
    (a, b) => sum(b.downloads) - sum(a.downloads),
  )
  const shown = ranked.slice(0, maxGroups).toSorted((a, b) => compareNumbers(b.name, a.name))
  const rest = ofVersions.filter(({ name }) => !shown.some((one) => one.name === name))
  const known = seriesOf(ofVersions)
  const deleted = seriesOf(rows.filter(({ name }) => name === null)).map((total, index) => Math.max(0, total - (known[index] ?? 0)))
  return [
    ...shown.map(({ name, downloads }): Group => ({ name: `${name}.x`, kind: 'versions', downloads })),
    ...(rest.length > 0
      ? [{ name: by === 'major' ? 'Other major versions' : 'Other minor versions', kind: 'other' as const, downloads: seriesOf(rest) }]
      : []),
    ...(sum(deleted) > 0 ? [{ name: 'Deleted versions', kind: 'deleted' as const, downloads: deleted }] : []),
  ]
}

const sum = (values: readonly number[]) => values.reduce((total, value) => total + value, 0)

/** Compares `1.10` with `1.9` number by number. The numbers can exceed the range of exact integers. */
function compareNumbers(a: string, b: string): number {
  const [left, right] = [a.split('.').map(BigInt), b.split('.').map(BigInt)]
  const at = left.findIndex((number, index) => number !== right[index])
  if (at === -1) return 0
  return (left[at] ?? 0n) < (right[at] ?? 0n) ? -1 : 1
}
