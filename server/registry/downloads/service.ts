import type { EntityManager } from '@mikro-orm/sql'
import { z } from 'zod'
import { batched, readEach } from '../../platform/db/batched.ts'
import type { Reads } from '../../platform/db/reads.ts'
import { readSetting, type Setting, writeSetting } from '../../platform/settings/service.ts'
import type { Services } from '../../services.ts'

/** Downloads of one week. In a list of weeks the oldest comes first, and the last one ends today. */
export type Week = { start: Date; downloads: number }
export type VersionSeries = { version: string; last30Days: number; weeks: number[] }

const weeksShown = 52

/** Returns a package's downloads in each of the last 52 weeks, the oldest first. Batched per request. */
export async function weeklyDownloads(em: EntityManager, packageId: string, now: Date): Promise<Week[]> {
  const first = firstDay(now)
  const sql =
    'select (day - cast(? as integer)) / 7 as week, sum(downloads) as downloads from package_downloads where package_id = ? and day >= ? and day <= ? group by 1'
  const rows = await readEach<WeekRow>(em, { sql, values: [first, packageId, first, dayOf(now)] })
  return inWeeks(rows).map((downloads, week) => ({ start: startOfDay(first + 7 * week), downloads }))
}

/** Returns the weekly downloads of each version of a package that had any, the highest version first. Batched per request. */
export async function versionSeries(em: EntityManager, packageId: string, now: Date): Promise<VersionSeries[]> {
  const first = firstDay(now)
  const downloads = readEach<WeekRow & { version_id: string; recent: number | string }>(em, {
    sql: `select version_id, (day - cast(? as integer)) / 7 as week, sum(downloads) as downloads,
       sum(case when day > cast(? as integer) then downloads else 0 end) as recent
     from version_downloads where version_id in (select id from package_versions where package_id = ?) and day >= ? and day <= ?
     group by 1, 2`,
    values: [first, lastDayBeforeWindow(dayOf(now)), packageId, first, dayOf(now)],
  })
  // Separately, because sorting all weeks by version takes longer.
  const versions = readEach<{ id: string; version: string }>(em, {
    sql: 'select id, version, sort_key from package_versions where package_id = ? order by sort_key desc',
    values: [packageId],
    order: 'sort_key desc',
  })
  const weeksOf = Map.groupBy(await downloads, ({ version_id }) => version_id)
  return (await versions).flatMap(({ id, version }) => {
    const weeks = weeksOf.get(id)
    return weeks ? [{ version, last30Days: weeks.reduce((sum, { recent }) => sum + Number(recent), 0), weeks: inWeeks(weeks) }] : []
  })
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
  const weeks = Array.from({ length: weeksShown }, () => 0)
  for (const { week, downloads } of rows) weeks[week] = Number(downloads)
  return weeks
}

/** Returns the day number of a date: days since 1970-01-01 in UTC. */
export const dayOf = (moment: Date): number => Math.floor(moment.getTime() / msPerDay)

export const startOfDay = (day: number): Date => new Date(day * msPerDay)

/** Returns the last day before the 30-day window. The window consists of today and the 29 days before. */
export const lastDayBeforeWindow = (today: number): number => today - 30

const msPerDay = 86_400_000

/** The last day whose downloads have been removed from the 30-day totals. */
const rolledTo: Setting<number> = { key: 'downloads.rolledTo', schema: z.int(), initial: 0 }

const packagesAtOnce = 200

/**
 * Removes downloads older than 30 days from the totals in the search index. Updates only packages with downloads on days that have just left the
 * window. Safe to run at any time and on several instances.
 */
export async function rollDownloads({ database, now }: Pick<Services, 'database' | 'now'>): Promise<void> {
  const end = lastDayBeforeWindow(dayOf(now()))
  const from = await readSetting(database.reads, rolledTo)
  if (from >= end) return
  for (let after = ''; ;) {
    const ids = await affected(database.reads, from, end, after)
    if (ids.length === 0) break
    await database.fork().transactional((em) => recount(em, ids, end))
    after = ids.at(-1) ?? ''
  }
  await database.fork().transactional((em) => writeSetting(em, rolledTo, end))
}

/** Returns the number of downloads of all packages in the last 30 days. */
export async function countDownloads30d(reads: Reads, now: Date): Promise<number> {
  const sql = 'select coalesce(sum(downloads), 0) as total from daily_totals where day > ?'
  const row = await reads.get<{ total: number | string }>(sql, lastDayBeforeWindow(dayOf(now)))
  return Number(row?.total ?? 0)
}

async function affected(reads: Reads, from: number, end: number, after: string): Promise<string[]> {
  const rows = await reads.all<{ id: string }>(
    `select distinct package_id as id from package_downloads where day > ? and day <= ? ${after ? 'and package_id > ?' : ''} order by 1 limit ?`,
    from,
    end,
    ...(after ? [after] : []),
    packagesAtOnce,
  )
  return rows.map(({ id }) => id)
}

/**
 * Recomputes the totals in the search index from the downloads after the day `end`. Locks the rows before counting, so that downloads added
 * concurrently by another instance are either counted or added to the result.
 */
export async function recount(em: EntityManager, ids: string[], end: number): Promise<void> {
  for (const id of ids) {
    await em.execute('update package_search_documents set downloads = downloads where package_id = ?', [id])
    await em.execute(
      `update package_search_documents set downloads =
        (select coalesce(sum(d.downloads), 0) from package_downloads d where d.package_id = package_search_documents.package_id and d.day > ?)
       where package_id = ?`,
      [end, id],
    )
  }
}
