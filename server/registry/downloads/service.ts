import type { EntityManager } from '@mikro-orm/sql'
import { type Expression, sql } from 'kysely'
import { z } from 'zod'
import { batched, readEach } from '../../platform/db/batched.ts'
import { db, prepared } from '../../platform/db/query.ts'
import type { Reads } from '../../platform/db/reads.ts'
import { changeRows, readRows } from '../../platform/db/statements.ts'
import { readSetting, type Setting, writeSetting } from '../../platform/settings/service.ts'
import type { Services } from '../../services.ts'

/** Downloads of one week. In a list of weeks the oldest comes first, and the last one ends today. */
export type Week = { start: Date; downloads: number }
export type VersionSeries = { version: string; last30Days: number; weeks: number[] }

const weeksShown = 52

/** Returns a package's downloads in each of the last 52 weeks, the oldest first. Batched per request. */
export async function weeklyDownloads(em: EntityManager, packageId: string, now: Date): Promise<Week[]> {
  const first = firstDay(now)
  const query = db
    .selectFrom('package_downloads')
    .select((eb) => [weekOf(eb.ref('day'), first).as('week'), eb.fn.sum<number>('downloads').as('downloads')])
    .where('package_id', '=', packageId)
    .where('day', '>=', first)
    .where('day', '<=', dayOf(now))
    .groupBy('week')
  const rows = await readEach<WeekRow>(em, { query })
  return inWeeks(rows).map((downloads, week) => ({ start: startOfDay(first + 7 * week), downloads }))
}

/** Returns the weekly downloads of each version of a package that had any, the highest version first. Batched per request. */
export async function versionSeries(em: EntityManager, packageId: string, now: Date): Promise<VersionSeries[]> {
  const first = firstDay(now)
  const downloads = readEach(em, {
    query: db
      .selectFrom('version_downloads')
      .select((eb) => {
        const isRecent = eb('day', '>', eb.cast<number>(eb.val(lastDayBeforeWindow(dayOf(now))), 'integer'))
        return [
          'version_id',
          weekOf(eb.ref('day'), first).as('week'),
          eb.fn.sum<number>('downloads').as('downloads'),
          eb.fn.sum<number>(eb.case().when(isRecent).then(eb.ref('downloads')).else(eb.lit(0)).end()).as('recent'),
        ]
      })
      .where('version_id', 'in', db.selectFrom('package_versions').select('id').where('package_id', '=', packageId))
      .where('day', '>=', first)
      .where('day', '<=', dayOf(now))
      .groupBy(['version_id', 'week']),
  })
  // Separately, because sorting all weeks by version takes longer.
  const versions = readEach(em, {
    query: db
      .selectFrom('package_versions')
      .select(['id', 'version', 'sort_key'])
      .where('package_id', '=', packageId)
      .orderBy('sort_key', 'desc'),
    order: 'sort_key desc',
  })
  const weeksOf = Map.groupBy(await downloads, ({ version_id }) => version_id)
  return (await versions).flatMap(({ id, version }) => {
    const weeks = weeksOf.get(id)
    return weeks ? [{ version, last30Days: weeks.reduce((sum, { recent }) => sum + recent, 0), weeks: inWeeks(weeks) }] : []
  })
}

/** Loads downloads of the last 30 days by package id. */
export const loadDownloads30d = batched(async (em, packageIds) => {
  const totals = db.selectFrom('package_search_documents').select(['package_id', 'downloads']).where('package_id', 'in', packageIds)
  return new Map((await readRows(em, totals)).map(({ package_id: id, downloads }) => [id, downloads]))
})

/** Loads total downloads by version id. */
export const loadVersionDownloads = batched(async (em, versionIds) => {
  const totals = db
    .selectFrom('version_downloads')
    .select(({ fn }) => ['version_id', fn.sum<number>('downloads').as('downloads')])
    .where('version_id', 'in', versionIds)
    .groupBy('version_id')
  return new Map((await readRows(em, totals)).map(({ version_id: id, downloads }) => [id, downloads]))
})

type WeekRow = { week: number; downloads: number }

/** The number of the week of a day, from 0 for the week that begins with the day `first`. Databases round divisions towards zero. */
export const weekOf = (day: Expression<number>, first: number) => sql<number>`(${day} - cast(${first} as integer)) / 7`

const firstDay = (now: Date) => dayOf(now) - 7 * weeksShown + 1

/** Fills in weeks without downloads. */
function inWeeks(rows: WeekRow[]): number[] {
  const weeks = Array.from({ length: weeksShown }, () => 0)
  for (const { week, downloads } of rows) weeks[week] = downloads
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
  const row = await reads.get(totalSince, lastDayBeforeWindow(dayOf(now)))
  return row?.total ?? 0
}

const totalSince = prepared((day: number) =>
  db
    .selectFrom('daily_totals')
    .select(({ fn }) => fn.sum<number | null>('downloads').as('total'))
    .where('day', '>', day),
)

declare module '../../platform/db/query.ts' {
  interface Tables {
    /** Publications and downloads of all packages by day, counted by triggers. */
    daily_totals: { day: number; publications: number; downloads: number }
  }
}

async function affected(reads: Reads, from: number, end: number, after: string): Promise<string[]> {
  const packages = db
    .selectFrom('package_downloads')
    .select('package_id as id')
    .distinct()
    .where('day', '>', from)
    .where('day', '<=', end)
    .$if(after !== '', (all) => all.where('package_id', '>', after))
  return (await reads.all(packages.orderBy('package_id').limit(packagesAtOnce))).map(({ id }) => id)
}

/**
 * Recomputes the totals in the search index from the downloads after the day `end`. Locks the rows before counting, so that downloads added
 * concurrently by another instance are either counted or added to the result.
 */
export async function recount(em: EntityManager, ids: string[], end: number): Promise<void> {
  for (const id of ids) {
    const ofPackage = db.updateTable('package_search_documents').where('package_id', '=', id)
    await changeRows(
      em,
      ofPackage.set((eb) => ({ downloads: eb.ref('downloads') })),
    )
    await changeRows(
      em,
      ofPackage.set((eb) => ({
        downloads: eb
          .selectFrom('package_downloads as d')
          .select(({ fn }) => fn.coalesce(fn.sum<number>('d.downloads'), eb.lit(0)).as('downloads'))
          .whereRef('d.package_id', '=', 'package_search_documents.package_id')
          .where('d.day', '>', end),
      })),
    )
  }
}
