import { existsSync, rmSync } from 'node:fs'
import { rename } from 'node:fs/promises'
import { dirname } from 'node:path'
import { syncDirectory } from '../../../platform/blobs/durable-files.ts'
import type { Config } from '../../../platform/config/config.ts'
import { lockSqlite, makeFolder } from '../../../platform/db/location/files.ts'
import { openDatabase } from '../../../platform/db/open/orm.ts'
import { damaged, writeHashed } from '../place/files.ts'
import type { Manifest } from '../manifest.ts'
import { type SnapshotFiles, sqliteFile } from '../place/place.ts'
import { storeIdOf, withSqlite } from '../sqlite.ts'
import { settingsLeftOut, type Target } from './target.ts'

/**
 * Opens an SQLite file as the target of a restore. The data is written to a temporary file in the same folder, which is renamed at the end.
 * @throws Error while a server uses the file.
 */
export async function openSqliteTarget(config: Config, manifest: Manifest): Promise<Target> {
  const path = config.SQLITE_PATH
  const partial = `${path}.restoring`
  makeFolder(dirname(path))
  const unlock = lockSqlite(`${path}.lock`)
  return {
    occupiedBy: () => occupantOf(path),
    async fill(files, prepared) {
      removeAll(partial)
      try {
        await copyVerified(files, partial, manifest)
        await withSqlite(partial, {}, (db) => {
          for (const key of settingsLeftOut) db.prepare('delete from server_settings where key = ?').run(key)
        })
        await upgradeFile({ ...config, SQLITE_PATH: partial })
        await prepared()
      } catch (error) {
        removeAll(partial)
        throw error
      }
      removeAll(path)
      await rename(partial, path)
      await syncDirectory(dirname(path))
    },
    // Nothing to upgrade: the temporary file was migrated to the current schema before it was renamed.
    upgrade: async () => {},
    close: async () => unlock(),
  }
}

/** Returns the store id of a database file that has accounts or packages; null for an unused database. */
async function occupantOf(path: string): Promise<string | null> {
  if (!existsSync(path)) return null
  return withSqlite(path, {}, (db) => {
    const has = (table: string) => db.prepare("select 1 from sqlite_master where type = 'table' and name = ?").get(table) !== undefined
    const isUsed = ['users', 'packages'].some((table) => has(table) && db.prepare(`select 1 from ${table} limit 1`).get() !== undefined)
    return isUsed ? (storeIdOf(db) ?? 'unknown') : null
  })
}

async function copyVerified(files: SnapshotFiles, to: string, manifest: Manifest): Promise<void> {
  const sha256 = manifest.files.find(({ name }) => name === sqliteFile)?.sha256 ?? ''
  const copied = await writeHashed(to, files.read(sqliteFile))
  if (copied.sha256 !== sha256) throw damaged(files.nameOf(sqliteFile))
}

async function upgradeFile(config: Config): Promise<void> {
  const database = await openDatabase(config)
  await database.close()
  removeAll(`${config.SQLITE_PATH}.lock`)
}

function removeAll(path: string): void {
  for (const end of ['', '-wal', '-shm', '-journal']) rmSync(`${path}${end}`, { force: true })
}
