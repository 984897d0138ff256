import type { EntityManager } from '@mikro-orm/sql'
import type { DatabaseConfig } from '../options.ts'

/** Returns a clock with the time shared by all instances, for commands that run outside of a server. On SQLite it is the local clock. */
export async function sharedClock(em: EntityManager, { DB_BACKEND }: Pick<DatabaseConfig, 'DB_BACKEND'>): Promise<() => Date> {
  if (DB_BACKEND === 'sqlite') return () => new Date()
  const [row] = await em.execute<{ ms: string }[]>('select extract(epoch from clock_timestamp()) * 1000 as ms')
  const offset = Number(row?.ms ?? Date.now()) - Date.now()
  return () => new Date(Date.now() + offset)
}
