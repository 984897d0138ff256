import { changeRows, readRow } from '../../platform/db/statements.ts'
import { removeUnreferenced, trimRows } from '../../platform/store/side-store.ts'
import { mirrorStore, type MirrorServices } from './entries.ts'

const dayMs = 24 * 3_600_000

/**
 * Deletes the files of the mirror that were not used for the longest time if it is larger than UPSTREAM_CACHE_BYTES, rows without a file after a day,
 * and files to which no row refers. Several instances may do so concurrently. Returns the number of deleted files.
 */
export async function collectMirror(services: MirrorServices): Promise<number> {
  const { config, database, now, state } = services
  const em = database.fork()
  const before = new Date(now().getTime() - dayMs)
  await changeRows(em, 'delete from mirror_entries where sha256 is null and used_at < ? and (leased_until is null or leased_until < ?)', [
    before,
    now(),
  ])
  await trimRows(em, 'mirror_entries', config.UPSTREAM_CACHE_BYTES)
  // Without rows, the store need not be opened.
  if (!state.mirrorStore && !(await readRow(em, 'select 1 as one from mirror_entries limit 1', []))) return 0
  return removeUnreferenced(await mirrorStore(services), em, 'mirror_entries', now())
}
