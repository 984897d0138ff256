import { createBackup } from '../backup/create.ts'
import { restoreBackup } from '../backup/restore/restore.ts'
import type { Config } from '../config/config.ts'
import { sharedClock } from '../db/postgres/shared-clock.ts'
import { conflict } from '../errors.ts'
import { openStores } from '../store/open.ts'
import { adminCommand } from '../version.ts'
import type { Operation, Outcome } from './command.ts'
import { counted } from './counted.ts'

/**
 * Backs the server up to a place, while it is serving.
 * @returns what to tell the operator.
 * @throws ApiError Conflict when it cannot be done, or when the server itself lacks archives that versions name.
 */
export async function backup({ em, config }: Operation, place = ''): Promise<string> {
  const [stores, now] = [await openStores(config), await sharedClock(em, config)]
  const { manifest, copied } = await createBackup({ em, config, stores, now }, place)
  const { id, tables, blobs } = manifest
  const rows = tables.reduce((sum, table) => sum + table.rows, 0)
  const text = `Backup ${id} ${blobs.lacking.length === 0 ? 'is complete' : 'is not whole'}: ${counted(rows, 'rows')} in ${counted(tables.length, 'tables')}, ${counted(blobs.count, 'blobs')} (${counted(blobs.bytes, 'bytes')}). Copied now: ${counted(copied, 'blobs')}.`
  if (blobs.lacking.length === 0) return text
  const lines = blobs.lacking.map(({ sha256, problem }) => `${problem}: ${sha256}`)
  throw conflict([text, 'The server itself does not have these whole, so the backup lacks them:', ...lines].join('\n'))
}

/**
 * Restores a backup into an empty place: the newest in a folder or bucket, or the one with this id.
 * @returns what to tell the operator; it is not well when the backup lacks archives that versions name.
 * @throws ApiError Conflict when the place is not empty or the backup does not fit; Error when the backup is damaged.
 */
export async function restore(config: Config, place = '', id?: string): Promise<Outcome> {
  const { manifest, blobs } = await restoreBackup(config, place, id)
  const text = `Restored backup ${manifest.id} of ${manifest.finishedAt}: ${counted(manifest.tables.length, 'tables')}, ${counted(blobs, 'blobs')}. Start the server.`
  const { lacking } = manifest.blobs
  if (lacking.length === 0) return { text, data: { message: text } }
  const message = `${text}\nNot in the backup: ${counted(lacking.length, 'blobs')} that the server did not have whole. Find their versions with ${adminCommand} check-integrity.`
  return { text: message, data: { message, lacking }, ok: false }
}
