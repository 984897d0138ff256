import { type EntityManager, BasePostgreSqlPlatform } from '@mikro-orm/sql'
import type { DatabaseConfig } from '../options.ts'
import { nameOfWatches } from '../postgres/postgres-watch.ts'
import { readRow, readRows } from '../statements.ts'

/** Returns a clock with the time shared by all instances, for commands that run outside of a server. On SQLite it is the local clock. */
export async function sharedClock(em: EntityManager, { DB_BACKEND }: Pick<DatabaseConfig, 'DB_BACKEND'>): Promise<() => Date> {
  if (DB_BACKEND === 'sqlite') return () => new Date()
  const row = await readRow<{ ms: number }>(em, 'select extract(epoch from clock_timestamp()) * 1000 as ms', [])
  const offset = row ? row.ms - Date.now() : 0
  return () => new Date(Date.now() + offset)
}

/** Another server that runs on this database: the name of its connections and the time it connected. */
type OtherServer = { name: string; since: Date }

/** Milliseconds after which a silent server is considered dead. A running server queries the database time twice a second. */
export const silenceMs = 30_000

/** Returns the other servers that run on this database; none on SQLite. A server whose machine was lost is omitted after `silentMs`. */
export async function otherServers(em: EntityManager, silentMs = silenceMs): Promise<OtherServer[]> {
  if (!(em.getPlatform() instanceof BasePostgreSqlPlatform)) return []
  // PostgreSQL may hide the activity of other roles. The server then counts as running.
  return readRows<OtherServer>(
    em,
    `select replace(application_name, ' watch', '') as name, backend_start as since from pg_stat_activity
     where datname = current_database() and application_name ~ ? and application_name <> current_setting('application_name') || ' watch'
       and coalesce(state_change, clock_timestamp()) > clock_timestamp() - ? * interval '1 millisecond'`,
    [nameOfWatches, silentMs],
  )
}

/** Returns the time at which the oldest other server on this database connected, or null if this is the only server. */
export async function othersSince(em: EntityManager): Promise<Date | null> {
  const moments = (await otherServers(em)).map(({ since }) => since.getTime())
  return moments.length === 0 ? null : new Date(Math.min(...moments))
}
