import { batched } from '../../platform/db/batched.ts'
import type { Reads } from '../../platform/db/reads.ts'
import { dayOf, startOfDay, lastDayBeforeWindow } from './days.ts'

/** Downloads of one week. In a list of weeks the oldest comes first, and the last one ends today. */
export type Week = { start: Date; downloads: number }
export type VersionSeries = { version: string; last30Days: number; weeks: number[] }

const weeksShown = 52

/** Returns a package's downloads in each of the last 52 weeks, the oldest first. */
export async function weeklyDownloads(reads: Reads, packageId: string, now: Date): Promise<Week[]> {
  const first = firstDay(now)
  const rows = await reads.all<WeekRow>(
    'select (day - cast(? as integer)) / 7 as week, sum(downloads) as downloads from package_downloads where package_id = ? and day >= ? and day <= ? group by 1',
    first,
    packageId,
    first,
    dayOf(now),
  )
  return inWeeks(rows).map((downloads, week) => ({ start: startOfDay(first + 7 * week), downloads }))
}

/** Returns the weekly downloads of each version of a package that had any, the highest version first. */
export async function versionSeries(reads: Reads, packageId: string, now: Date): Promise<VersionSeries[]> {
  const first = firstDay(now)
  const rows = await reads.all<WeekRow & { version: string; recent: number | string }>(
    `select v.version, v.sort_key, (d.day - cast(? as integer)) / 7 as week, sum(d.downloads) as downloads,
       sum(case when d.day > cast(? as integer) then d.downloads else 0 end) as recent
     from package_versions v join version_downloads d on d.version_id = v.id
     where v.package_id = ? and d.day >= ? and d.day <= ? group by v.version, v.sort_key, 3 order by v.sort_key desc`,
    first,
    lastDayBeforeWindow(dayOf(now)),
    packageId,
    first,
    dayOf(now),
  )
  const byVersion = Map.groupBy(rows, ({ version }) => version)
  return Array.from(byVersion, ([version, weeks]) => ({
    version,
    last30Days: weeks.reduce((sum, { recent }) => sum + Number(recent), 0),
    weeks: inWeeks(weeks),
  }))
}

/** Loads downloads of the last 30 days by package id. */
export const loadDownloads30d = batched(async (em, packageIds) => {
  const rows = await em.execute<{ id: string; downloads: number | string }[]>(
    `select package_id as id, downloads from package_search_documents where package_id in (${packageIds.map(() => '?').join(', ')})`,
    packageIds,
  )
  return new Map(rows.map(({ id, downloads }) => [id, Number(downloads)]))
})

/** Loads total downloads by version id. */
export const loadVersionDownloads = batched(async (em, versionIds) => {
  const rows = await em.execute<{ id: string; downloads: number | string }[]>(
    `select version_id as id, sum(downloads) as downloads from version_downloads where version_id in (${versionIds.map(() => '?').join(', ')}) group by version_id`,
    versionIds,
  )
  return new Map(rows.map(({ id, downloads }) => [id, Number(downloads)]))
})

type WeekRow = { week: number; downloads: number | string }

const firstDay = (now: Date) => dayOf(now) - 7 * weeksShown + 1

/** Fills in weeks without downloads. PostgreSQL returns sums as strings. */
function inWeeks(rows: WeekRow[]): number[] {
  const found = new Map(rows.map(({ week, downloads }) => [week, Number(downloads)]))
  return Array.from({ length: weeksShown }, (_, week) => found.get(week) ?? 0)
}
