import type { EntityManager } from '@mikro-orm/sql'
import { changeRows, readRow, readRows, type Value } from '../../platform/db/statements.ts'
import { freeBytesAt, localVolumes } from '../../platform/store/health.ts'
import { dayOf, startOfDay } from '../../registry/downloads/service.ts'
import type { Services } from '../../services.ts'
import { measureRecent } from './measurement.ts'
import { diskUsage } from './service.ts'

type Sampled = Pick<Services, 'database' | 'config' | 'log' | 'now' | 'state' | 'startedAt'>

/** Days for which samples are kept. */
export const sampleDays = 730
const activeDays = 7
/** How long after midnight UTC, or after the start of the server, a sample waits for a measurement that succeeds. */
const patienceMs = 3_600_000
const dayMs = 86_400_000

/**
 * Stores the sample of the current day, unless an instance has already stored it, and deletes samples that are too old. Safe to run at any time and on
 * several instances: the first one to insert the row wins.
 */
export async function sampleDay(services: Sampled): Promise<void> {
  const { database, config, now, startedAt } = services
  const at = now()
  const day = dayOf(at)
  if (await database.reads.get('select 1 as one from daily_samples where day = ?', day)) return
  const { archives, docs, database: stored, measuredAt } = await diskUsage(services, measureRecent)
  const since = Math.max(startedAt.getTime(), startOfDay(day).getTime())
  if (measuredAt === null && at.getTime() - since < patienceMs) return
  const em = database.fork()
  const { people, tokens } = await countActive(em, at)
  await changeRows(
    em,
    `insert into daily_samples (day, archive_bytes, docs_bytes, database_bytes, free_bytes, active_people, active_tokens)
     values (?, ?, ?, ?, ?, ?, ?) on conflict (day) do nothing`,
    [day, archives.bytes, docs.bytes, stored.bytes, await freeBytesOf(config), people, tokens],
  )
  await changeRows(em, 'delete from daily_samples where day <= ?', [day - sampleDays])
}

/** Returns the free space of the volume with the archives, or else with the database; null if neither is on a local disk or it is unknown. */
export async function freeBytesOf(config: Parameters<typeof localVolumes>[0]): Promise<number | null> {
  const [first] = localVolumes(config)
  return first ? freeBytesAt(first.folder).catch(() => null) : null
}

type Count = { people: number | string; tokens: number | string }

/** Counts the people and the access tokens that were active in the last seven days. */
async function countActive(em: EntityManager, at: Date): Promise<{ people: number; tokens: number }> {
  const since = new Date(at.getTime() - activeDays * dayMs)
  const row = await readRow<Count>(
    em,
    `select (select count(*) from (
         select id as user_id from users where last_login_at >= ? union select user_id from sessions where last_used_at >= ?
         union select user_id from access_tokens where last_used_at >= ?) as active) as people,
       (select count(*) from access_tokens where last_used_at >= ?) as tokens`,
    [since, since, since, since],
  )
  // PostgreSQL returns counts as strings.
  return { people: Number(row?.people ?? 0), tokens: Number(row?.tokens ?? 0) }
}

/** A stored sample. Unknown sizes are null. */
export type Sample = { day: Date; archives: number | null; docs: number | null; database: number | null; free: number | null } & Active
type Active = { activePeople: number; activeTokens: number }

type SampleRow = { day: number } & Record<'archive_bytes' | 'docs_bytes' | 'database_bytes' | 'free_bytes', number | string | null> &
  Record<'active_people' | 'active_tokens', number>

/** Returns the samples of the last days, oldest first. Days on which no server ran are missing. */
export async function dailySamples({ database, now }: Pick<Services, 'database' | 'now'>, days: number): Promise<Sample[]> {
  const rows = await database.reads.all<SampleRow>('select * from daily_samples where day > ? order by day', dayOf(now()) - days)
  return rows.map((row) => ({
    day: startOfDay(row.day),
    archives: toNumber(row.archive_bytes),
    docs: toNumber(row.docs_bytes),
    database: toNumber(row.database_bytes),
    free: toNumber(row.free_bytes),
    activePeople: row.active_people,
    activeTokens: row.active_tokens,
  }))
}

// The driver returns 64-bit integers as strings.
const toNumber = (value: number | string | null) => (value === null ? null : Number(value))

/** One week: publications, downloads, and the activity at its end. Activity is null for weeks without a sample. */
export type StatisticsWeek = {
  start: Date
  publications: number
  downloads: number
  activePeople: number | null
  activeTokens: number | null
}

/** Returns the last weeks, oldest first; the last one ends today. */
export async function weeklyStatistics({ database, now }: Pick<Services, 'database' | 'now'>, weeks: number): Promise<StatisticsWeek[]> {
  const today = dayOf(now())
  const first = today - 7 * weeks + 1
  const em = database.fork()
  const publications = await countByWeek(em, publicationsSql[database.backend], [first, startOfDay(first)])
  const downloads = await countByWeek(em, downloadsSql, [first, first, today])
  const samples = new Map((await dailySamples({ database, now }, 7 * weeks)).map((sample) => [weekOf(dayOf(sample.day), first), sample]))
  return Array.from({ length: weeks }, (_, week) => ({
    start: startOfDay(first + 7 * week),
    publications: publications.get(week) ?? 0,
    downloads: downloads.get(week) ?? 0,
    activePeople: samples.get(week)?.activePeople ?? null,
    activeTokens: samples.get(week)?.activeTokens ?? null,
  }))
}

const weekOf = (day: number, first: number) => Math.floor((day - first) / 7)

async function countByWeek(em: EntityManager, sql: string, values: readonly Value[]): Promise<Map<number, number>> {
  const rows = await readRows<{ week: number | string; amount: number | string }>(em, sql, values)
  return new Map(rows.map(({ week, amount }) => [Number(week), Number(amount)]))
}

// SQLite stores times as milliseconds. Deleted versions are not counted.
const publicationsSql = {
  sqlite: `select (created_at / ${dayMs} - cast(? as integer)) / 7 as week, count(*) as amount from package_versions where created_at >= ? group by 1`,
  postgres: `select trunc((trunc(extract(epoch from created_at) / 86400) - cast(? as integer)) / 7) as week, count(*) as amount
    from package_versions where created_at >= ? group by 1`,
}

const downloadsSql =
  'select (day - cast(? as integer)) / 7 as week, sum(downloads) as amount from package_downloads where day >= ? and day <= ? group by 1'
