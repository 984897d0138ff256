import { createBackup } from '../backup/create.ts'
import { restoreBackup } from '../backup/restore/restore.ts'
import type { Config } from '../../platform/config/config.ts'
import { sharedClock } from '../../platform/db/open/servers.ts'
import { conflict } from '../../errors.ts'
import { openStores } from '../../platform/store/open.ts'
import { adminCommand } from '../../platform/config/version.ts'
import type { Operation, Outcome } from './command.ts'
import { counted } from './counted.ts'

/**
 * Creates a backup while the server may be running.
 * @returns the message for the operator.
 * @throws ApiError Conflict when no backup is possible, or when archives of package versions are missing on the server itself.
 */
export async function backup({ em, config }: Operation, place = ''): Promise<string> {
  const [stores, now] = [await openStores(config), await sharedClock(em, config)]
  const { manifest, copied } = await createBackup({ em, config, stores, now }, place)
  const { id, tables, blobs } = manifest
  const rows = tables.reduce((sum, table) => sum + table.rows, 0)
  const text = `Backup ${id} ${blobs.lacking.length === 0 ? 'is complete' : 'is incomplete'}: ${counted(rows, 'rows')} in ${counted(tables.length, 'tables')}, ${counted(blobs.count, 'blobs')} (${counted(blobs.bytes, 'bytes')}). Copied now: ${counted(copied, 'blobs')}.`
  if (blobs.lacking.length === 0) return text
  const lines = blobs.lacking.map(({ sha256, problem }) => `${problem}: ${sha256}`)
  throw conflict([text, 'These files are missing or damaged on the server itself and are not in the backup:', ...lines].join('\n'))
}

/**
 * Restores the newest backup in a folder or bucket, or the one with this id, into an empty database and store.
 * @returns the message for the operator; `ok` is false when archives are missing from the backup.
 * @throws ApiError Conflict when the target is not empty or the backup does not fit; Error when the backup is corrupt.
 */
export async function restore(config: Config, place = '', id?: string): Promise<Outcome> {
  const { manifest, blobs } = await restoreBackup(config, place, id)
  const text = `Restored backup ${manifest.id} of ${manifest.finishedAt}: ${counted(manifest.tables.length, 'tables')}, ${counted(blobs, 'blobs')}. Start the server.`
  const { lacking } = manifest.blobs
  if (lacking.length === 0) return { text, data: { message: text } }
  const message = `${text}\nNot in the backup: ${counted(lacking.length, 'blobs')} that were missing or damaged on the server. To find their versions, run ${adminCommand} check-integrity.`
  return { text: message, data: { message, lacking }, ok: false }
}
