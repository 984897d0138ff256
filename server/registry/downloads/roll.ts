import type { EntityManager } from '@mikro-orm/sql'
import { z } from 'zod'
import type { Reads } from '../../platform/db/reads.ts'
import type { Services } from '../../services.ts'
import { readSetting, type Setting, writeSetting } from '../../platform/settings/service.ts'
import { dayOf, lastDayBeforeWindow } from './days.ts'

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
  const sql = 'select coalesce(sum(downloads), 0) as total from package_downloads where day > ?'
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
