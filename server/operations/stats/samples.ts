import type { EntityManager } from '@mikro-orm/sql'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { toDate } from '../../platform/db/reads.ts'
import { changeRows, readRow, readRows } from '../../platform/db/statements.ts'
import { readFreeBytes, localVolumes } from '../../platform/store/health.ts'
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
  return first ? readFreeBytes(first.folder).catch(() => null) : null
}

type Count = { people: number | string; tokens: number | string }

/** Counts the people and the access tokens that were active in the last seven days. */
async function countActive(em: EntityManager, at: Date): Promise<{ people: number; tokens: number }> {
  const since = new Date(at.getTime() - activeDays * dayMs)
  const row = await readRow<Count>(
    em,
    `select (select count(*) from (
         select id as user_id from users where last_login_at >= ? union select user_id from sessions where last_used_at >= ?
         union select t.user_id from access_tokens t join users u on u.id = t.user_id and u.kind = 'person'
         where t.last_used_at >= ?) as active) as people,
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
  const totals = await database.reads.all<TotalsRow>(
    `select (day - cast(? as integer)) / 7 as week, sum(publications) as publications, sum(downloads) as downloads
     from daily_totals where day >= ? and day <= ? group by 1`,
    first,
    first,
    today,
  )
  const found = new Map(totals.map((row) => [row.week, row]))
  const samples = new Map((await dailySamples({ database, now }, 7 * weeks)).map((sample) => [weekOf(dayOf(sample.day), first), sample]))
  return Array.from({ length: weeks }, (_, week) => ({
    start: startOfDay(first + 7 * week),
    publications: Number(found.get(week)?.publications ?? 0),
    downloads: Number(found.get(week)?.downloads ?? 0),
    activePeople: samples.get(week)?.activePeople ?? null,
    activeTokens: samples.get(week)?.activeTokens ?? null,
  }))
}

const weekOf = (day: number, first: number) => Math.floor((day - first) / 7)

type TotalsRow = { week: number; publications: number | string; downloads: number | string }

/**
 * Compares the totals of every day with the versions and downloads, and corrects differences, which remain after a move from SQLite and after the
 * upgrade of one of several instances. Database triggers keep them equal. Reads one day at a time.
 */
export async function repairDailyTotals({ database }: Pick<Services, 'database'>): Promise<void> {
  const { reads, backend } = database
  const bounds = await reads.get<
    Record<'published' | 'latest', number | string | Date | null> & Record<'first' | 'last' | 'firstStored' | 'lastStored', number | null>
  >(boundsSql)
  const days = [bounds?.published, bounds?.latest].flatMap((time) => (time == null ? [] : [dayOf(toDate(time))]))
  days.push(...[bounds?.first, bounds?.last, bounds?.firstStored, bounds?.lastStored].flatMap((day) => day ?? []))
  for (let day = Math.min(...days); day <= Math.max(...days); day++) {
    await nextTurn()
    const values = [day, day * dayMs, (day + 1) * dayMs, day]
    if (await reads.get(`${rightSql[backend]} except select day, publications, downloads from daily_totals`, ...values))
      await repairDay(database, values)
  }
}

/** Corrects the totals of a day. On PostgreSQL, the lock of the triggers keeps other transactions from changing them. */
async function repairDay({ backend, fork }: Services['database'], values: number[]): Promise<void> {
  await fork().transactional(async (em) => {
    if (backend === 'postgres') await readRows(em, 'select pg_advisory_xact_lock(7305514903)', [])
    await changeRows(em, 'delete from daily_totals where day = ?', values.slice(0, 1))
    await changeRows(em, `insert into daily_totals (day, publications, downloads) ${rightSql[backend]}`, values)
  })
}

const boundsSql = `select (select min(created_at) from package_versions) as published, (select max(created_at) from package_versions) as latest,
  (select min(day) from package_downloads) as first, (select max(day) from package_downloads) as last,
  (select min(day) from daily_totals) as "firstStored", (select max(day) from daily_totals) as "lastStored"`

/** Binds the day, its beginning and end in milliseconds, and the day. `time` converts milliseconds to the type of times. */
const totalsSql = (time: string) => `select cast(? as integer) as day,
  (select count(*) from package_versions where created_at >= ${time} and created_at < ${time}) as publications,
  (select coalesce(sum(downloads), 0) from package_downloads where day = ?) as downloads`

const rightSql = { sqlite: totalsSql('?'), postgres: totalsSql('to_timestamp(? / 1000.0)') }
