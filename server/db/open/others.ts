import { BasePostgreSqlPlatform, type EntityManager } from '@mikro-orm/sql'
import { nameOfWatches } from '../postgres/postgres-watch.ts'
import { toDate } from '../reads/reads.ts'

/** Another server that runs on this database: what its connections are called, and since when it has been there. */
export type OtherServer = { name: string; since: Date }

/** A running server asks the database for the time twice a second. After this long without that, its machine is taken for lost. */
export const silenceMs = 30_000

/**
 * The other servers that run on this database. One that was killed is gone with its connections; one whose machine was lost is no longer counted
 * after `silentMs`. An SQLite file has one server.
 */
export async function otherServers(em: EntityManager, silentMs = silenceMs): Promise<OtherServer[]> {
  if (!(em.getPlatform() instanceof BasePostgreSqlPlatform)) return []
  // Another role's activity may be hidden: then the server counts as running.
  const rows = await em.execute<{ name: string; since: string | Date }[]>(
    `select replace(application_name, ' watch', '') as name, backend_start as since from pg_stat_activity
     where datname = current_database() and application_name ~ ? and application_name <> current_setting('application_name') || ' watch'
       and coalesce(state_change, clock_timestamp()) > clock_timestamp() - ? * interval '1 millisecond'`,
    [nameOfWatches, silentMs],
  )
  return rows.map(({ name, since }) => ({ name, since: toDate(since) }))
}

/** Since when the oldest other server that runs on this database has been there; null when there is none. */
export async function othersSince(em: EntityManager): Promise<Date | null> {
  const moments = (await otherServers(em)).map(({ since }) => since.getTime())
  return moments.length === 0 ? null : new Date(Math.min(...moments))
}
