import { z } from 'zod'
import { dayOf, windowEnd } from '../downloads/days.ts'
import { recount } from '../downloads/roll.ts'
import { recountLikes } from '../likes/service.ts'
import type { Services } from '../services.ts'
import { readSetting, type Setting, writeSetting } from '../settings/service.ts'
import { refreshIndex } from './refresh-index.ts'

type Rebuilder = Pick<Services, 'config' | 'database' | 'log' | 'now'>

/** Grows when terms, tags or who finds a package are made otherwise than before: then every package is indexed anew. */
const form = 3
export const storedForm: Setting<number> = { key: 'search.indexForm', schema: z.int(), initial: 1 }

/** Indexes the packages that the index does not know: all of them after its form has changed, else none. Searches work meanwhile. */
export async function completeIndex({ config, database, log, now }: Rebuilder): Promise<void> {
  let done = 0
  under.add(database)
  try {
    await forgetOtherForm(database)
    for (let ids = await missing(database); ids.length > 0; ids = await missing(database)) {
      await database.fork().transactional(async (em) => {
        for (const id of ids) await refreshIndex(em, config, id)
        await recount(em, ids, windowEnd(dayOf(now())))
        await recountLikes(em, ids)
      })
      done += ids.length
    }
  } finally {
    under.delete(database)
  }
  if (done > 0) log.info(`The search index is complete: ${done} packages were added`)
}

/** Whether packages are still being added to the index. */
export const isIncomplete = (database: Services['database']): boolean => under.has(database)

const under = new WeakSet<Services['database']>()

/** Empties an index that an older program has filled. */
async function forgetOtherForm(database: Services['database']): Promise<void> {
  if ((await readSetting(database.reads, storedForm)) === form) return
  await database.fork().transactional(async (em) => {
    await em.execute('delete from package_search_documents')
    await writeSetting(em, storedForm, form)
  })
}

/** In one order, so that instances that start together do not wait for each other in a circle. */
async function missing({ reads }: Services['database']): Promise<string[]> {
  const rows = await reads.all<{ id: string }>(
    `select p.id from packages p left join package_search_documents d on d.package_id = p.id
     where d.id is null and exists (select 1 from package_versions v where v.package_id = p.id and v.version = p.latest_version)
     order by p.id limit 50`,
  )
  return rows.map(({ id }) => id)
}
