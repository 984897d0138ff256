import { setImmediate as nextTurn } from 'node:timers/promises'
import type { EntityManager } from '@mikro-orm/sql'
import { readRow, readRows } from '../../platform/db/statements.ts'
import { dayOf, lastDayBeforeWindow } from '../downloads/days.ts'
import { type Handler, handler } from '../../platform/jobs/handler.ts'
import { enqueue } from '../../platform/jobs/queue.ts'
import { type Here, hostedHere } from '../packages/hosting/hosted-here.ts'
import { hasPublicVersion } from '../packages/policy.ts'
import type { Services } from '../../services.ts'
import { z } from 'zod'
import { countExcerpt, downloadsOf } from './excerpts.ts'
import { refreshIndex, shownTo } from './refresh-index.ts'

/** Kind of the background job that creates missing search excerpts. */
export const excerptsKind = 'search.excerpts'

/**
 * Deletes the search excerpts of the packages selected by the subquery `packages` (which returns ids), in the transaction of `em`. Their content may
 * no longer be public.
 */
export async function forgetExcerpts(em: EntityManager, packages: string, parameters: readonly string[]): Promise<void> {
  await em.execute(`delete from package_search_excerpts where package_id in (${packages})`, [...parameters])
}

/** Enqueues a job that creates the missing excerpts of these packages after the commit. One private package can affect many dependents. */
export async function requestExcerpts(em: EntityManager, here: Here, packages: string, parameters: readonly string[], now = new Date()) {
  const missing = await readRow(em, `${selectMissing} and p.id in (${packages}) limit 1`, [hostedHere(here), ...parameters])
  if (missing) await enqueue(em, { kind: excerptsKind, subject: 'all' }, now)
}

/** Creates missing excerpts, one transaction per package. An interrupted run continues with the excerpts that are still missing. */
export const excerptsJob = ({ database, config }: Pick<Services, 'database' | 'config'>): Handler =>
  handler(z.object({}), async ({ signal }) => {
    const hosted = hostedHere(config)
    const next = (after: string) =>
      readRows<{ id: string }>(database.fork(), `${selectMissing} and p.id > ? order by p.id limit 50`, [hosted, after])
    for (let ids = await next(first); ids.length > 0; ids = await next(ids.at(-1)?.id ?? first)) {
      for (const { id } of ids) {
        signal.throwIfAborted()
        await database.fork().transactional((em) => refreshIndex(em, config, id))
      }
    }
  })

/**
 * Recounts the downloads of excerpts, which are not updated incrementally, and reindexes public packages whose index entry is outdated: because an
 * instance of a release without excerpts wrote it, or because the excerpt job failed.
 */
export async function reviewExcerpts({ database, config, now }: Pick<Services, 'database' | 'config' | 'now'>): Promise<void> {
  const [hosted, end] = [hostedHere(config), lastDayBeforeWindow(dayOf(now()))]
  const next = (after: string) => database.reads.all<Reviewed>(selectReviewed, hosted, hosted, end, hosted, after)
  for (let some = await next(first); some.length > 0; some = await next(some.at(-1)?.id ?? first)) {
    for (const { id, is_wrong: isWrong, is_miscounted: isMiscounted } of some) {
      if (isWrong) await database.fork().transactional((em) => refreshIndex(em, config, id))
      else if (isMiscounted) await database.fork().transactional((em) => countExcerpt(em, config, id, now()))
    }
    await nextTurn()
  }
}

type Reviewed = { id: string; is_wrong: boolean | number | null; is_miscounted: boolean | number | null }

/** The nil UUID. Sorts before every package id. */
const first = '00000000-0000-0000-0000-000000000000'

/** SQL: selects public packages that need an excerpt but have none. Parameter: the value of `hostedHere`. */
const selectMissing = `select p.id from packages p join package_search_documents d on d.package_id = p.id and d.shown_to = 1
  where ${hasPublicVersion('p')} and not exists (select 1 from package_search_excerpts e where e.package_id = p.id)`

/**
 * SQL: selects packages whose excerpts need a review. Parameters: `hostedHere` twice, the last day outside the download window, `hostedHere` again,
 * and the id after which to start.
 */
const selectReviewed = `select p.id, d.shown_to <> ${shownTo} or (e.id is not null) <> (d.shown_to = 1 and ${hasPublicVersion('p')}) as is_wrong,
    e.downloads <> ${downloadsOf('d.package_id')} as is_miscounted
  from (select * from packages where visibility = 'public' and id > ? order by id limit 50) p
  left join package_search_documents d on d.package_id = p.id left join package_search_excerpts e on e.id = d.id order by p.id`
