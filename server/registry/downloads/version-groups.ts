import type { EntityManager } from '@mikro-orm/sql'
import { readEach } from '../../platform/db/batched.ts'
import type { Database } from '../../platform/db/open/orm.ts'
import { dayOf, startOfDay } from './service.ts'

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
  { by, weeks, now, backend }: { by: Grouping; weeks: number; now: Date; backend: Database['backend'] },
): Promise<VersionGroups> {
  const [first, today] = [dayOf(now) - 7 * weeks + 1, dayOf(now)]
  const bounds = [first, packageId, first, today]
  const week = '(d.day - cast(? as integer)) / 7'
  const rows = await readEach<Row>(em, {
    sql: `select ${prefixOf(by, backend)} as name, ${week} as week, sum(d.downloads) as downloads
     from package_versions v join version_downloads d on d.version_id = v.id
     where v.package_id = ? and d.day >= ? and d.day <= ? group by 1, 2
     union all
     select null as name, ${week} as week, sum(d.downloads) as downloads
     from package_downloads d where d.package_id = ? and d.day >= ? and d.day <= ? group by 2`,
    values: [...bounds, ...bounds],
  })
  // Databases round divisions towards zero, and PostgreSQL returns sums as strings.
  const earliest = rows.reduce((found, row) => Math.min(found, Number(row.week)), weeks)
  const skipped = Math.max(0, Math.min(earliest, weeks - minWeeks))
  return {
    weeks: Array.from({ length: weeks - skipped }, (_, index) => startOfDay(first + 7 * (skipped + index))),
    groups: grouped(rows, by, { weeks, skipped }),
  }
}

type Row = { name: string | null; week: number | string; downloads: number | string }

/** Returns an SQL expression for the first or the first two numbers of a version, such as `2` or `2.1`. */
function prefixOf(by: Grouping, backend: Database['backend']): string {
  const position = backend === 'sqlite' ? 'instr' : 'strpos'
  const first = `${position}(v.version, '.')`
  if (by === 'major') return `substr(v.version, 1, ${first} - 1)`
  return `substr(v.version, 1, ${first} + ${position}(substr(v.version, ${first} + 1), '.') - 1)`
}

function grouped(rows: readonly Row[], by: Grouping, { weeks, skipped }: { weeks: number; skipped: number }): Group[] {
  const seriesOf = (some: readonly Row[]) => {
    const sums = Array.from({ length: weeks - skipped }, () => 0)
    for (const { week, downloads } of some) sums[Number(week) - skipped] = (sums[Number(week) - skipped] ?? 0) + Number(downloads)
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
