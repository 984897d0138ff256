import type { Config } from '../../platform/config/config.ts'
import type { Snapshot } from './manifest.ts'

/** The settings that are needed to take a database snapshot. */
export type SnapshotConfig = Pick<Config, 'DB_BACKEND' | 'SQLITE_PATH' | 'POSTGRES_URL'>

/**
 * Copies the database into a folder at one point in time while it is in use, along with the list of blobs that it refers to.
 * @throws Error when the database is unreachable or the folder is not writable; AbortError once `signal` is aborted.
 */
export async function takeSnapshot(config: SnapshotConfig, folder: string, signal: AbortSignal): Promise<Snapshot> {
  if (config.DB_BACKEND === 'sqlite') return (await import('./sqlite-snapshot.ts')).snapshotSqlite(config.SQLITE_PATH, folder, signal)
  return (await import('./postgres-snapshot.ts')).snapshotPostgres(config.POSTGRES_URL ?? '', folder, signal)
}
