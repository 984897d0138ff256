import type { EntityManager } from '@mikro-orm/sql'
import { readRow, readRows } from '../db/statements.ts'
import { type Handler, handler } from '../jobs/handler.ts'
import { enqueue } from '../jobs/queue.ts'
import { type Here, hostedHere } from '../packages/hosted-here.ts'
import { isThereForAnybody } from '../packages/policy.ts'
import type { Services } from '../services.ts'
import { z } from 'zod'
import { countExcerpt } from './excerpts.ts'
import { refreshIndex } from './refresh-index.ts'

/** The kind of the job that makes the excerpts which are missing. */
export const excerptsKind = 'search.excerpts'

/**
 * Takes the excerpts of these packages out of the index, in the transaction of `em`: what they show may not be for anybody any more. `packages` is
 * a subquery for ids.
 */
export async function forgetExcerpts(em: EntityManager, packages: string, parameters: readonly string[]): Promise<void> {
  await em.execute(`delete from package_search_excerpts where package_id in (${packages})`, [...parameters])
}

/** Has the excerpts made that are missing of these packages, after the commit and one by one: many packages may need one that becomes private. */
export async function requestExcerpts(em: EntityManager, here: Here, packages: string, parameters: readonly string[], now = new Date()) {
  const lacking = await readRow(em, `${selectLacking} and p.id in (${packages}) limit 1`, [hostedHere(here), ...parameters])
  if (lacking) await enqueue(em, { kind: excerptsKind, subject: 'all' }, now)
}

/** Makes them. What was interrupted goes on with those that are still missing. */
export const excerptsJob = ({ database, config }: Pick<Services, 'database' | 'config'>): Handler =>
  handler(z.object({}), async ({ signal }) => {
    const hosted = hostedHere(config)
    const next = (after: string) =>
      readRows<{ id: string }>(database.fork(), `${selectLacking} and p.id > ? order by p.id limit 50`, [hosted, after])
    for (let ids = await next(first); ids.length > 0; ids = await next(ids.at(-1)?.id ?? first)) {
      for (const { id } of ids) {
        signal.throwIfAborted()
        await database.fork().transactional((em) => refreshIndex(em, config, id))
      }
    }
  })

/** Sums the downloads of all excerpts up anew: those of whole packages are counted as they come. */
export async function recountExcerpts({ database, config, now }: Pick<Services, 'database' | 'config' | 'now'>): Promise<void> {
  const rows = await database.heavyReads.all<{ id: string }>('select package_id as id from package_search_excerpts order by package_id')
  for (const { id } of rows) await database.fork().transactional((em) => countExcerpt(em, config, id, now()))
}

/** Sorts before every package's id. */
const first = '00000000-0000-0000-0000-000000000000'

/** Takes `hostedHere`. */
const selectLacking = `select p.id from packages p join package_search_documents d on d.package_id = p.id and d.shown_to = 1
  where ${isThereForAnybody('p')} and not exists (select 1 from package_search_excerpts e where e.package_id = p.id)`
