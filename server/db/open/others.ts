import type { EntityManager } from '@mikro-orm/sql'
import type { Database } from './orm.ts'
import { nameOfWatches } from '../postgres/postgres-watch.ts'
import { toDate } from '../reads/reads.ts'

/** Since when the oldest other server that runs on this database has been there; null when there is none. An SQLite file has one server. */
export async function othersSince(em: EntityManager, { backend }: Pick<Database, 'backend'>): Promise<Date | null> {
  if (backend === 'sqlite') return null
  const [row] = await em.execute<{ since: string | Date | null }[]>(
    `select min(backend_start) as since from pg_stat_activity
     where datname = current_database() and application_name ~ ? and application_name <> current_setting('application_name') || ' watch'`,
    [nameOfWatches],
  )
  return row?.since == null ? null : toDate(row.since)
}
