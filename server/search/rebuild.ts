import type { Services } from '../services.ts'
import { refreshIndex } from './refresh-index.ts'

type Rebuilder = Pick<Services, 'database' | 'log'>

/** Indexes the packages that the index does not know: all of them after its form has changed, else none. Searches work meanwhile. */
export async function completeIndex({ database, log }: Rebuilder): Promise<void> {
  let done = 0
  under.add(database)
  try {
    for (let ids = await missing(database); ids.length > 0; ids = await missing(database)) {
      await database.fork().transactional(async (em) => {
        for (const id of ids) await refreshIndex(em, id)
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

/** In one order, so that instances that start together do not wait for each other in a circle. */
async function missing({ reads }: Services['database']): Promise<string[]> {
  const rows = await reads.all<{ id: string }>(
    `select p.id from packages p left join package_search_documents d on d.package_id = p.id
     where d.id is null and exists (select 1 from package_versions v where v.package_id = p.id and v.version = p.latest_version)
     order by p.id limit 50`,
  )
  return rows.map(({ id }) => id)
}
