import type { Config } from '../config/config.ts'
import type { Snapshot } from './manifest.ts'

/** The parts of the configuration that a snapshot needs. */
export type SnapshotConfig = Pick<Config, 'DB_BACKEND' | 'SQLITE_PATH' | 'POSTGRES_URL'>

/**
 * Copies the database into a folder while it is in use, as it is at one moment, with the list of blobs that it names then.
 * @throws Error when it is out of reach, or the folder cannot be written to; AbortError once `signal` is aborted.
 */
export async function takeSnapshot(config: SnapshotConfig, folder: string, signal: AbortSignal): Promise<Snapshot> {
  if (config.DB_BACKEND === 'sqlite') return (await import('./sqlite-snapshot.ts')).snapshotSqlite(config.SQLITE_PATH, folder, signal)
  return (await import('./postgres-snapshot.ts')).snapshotPostgres(config.POSTGRES_URL ?? '', folder, signal)
}
