import SqliteDatabase from 'better-sqlite3'
import { Kysely } from 'kysely'
import { closeSync, mkdtempSync, openSync, readdirSync, readlinkSync, readSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, it, onTestFinished, vi } from 'vitest'
import { checkpointInThread } from '../../../server/platform/db/sqlite/checkpoints.ts'
import { SqliteWriter } from '../../../server/platform/db/sqlite/sqlite-writer.ts'
import { guardWrites } from '../../../server/platform/db/location/moved.ts'

it('checkpoints the WAL in a thread while the writing connection is in use', async () => {
  const { path, writer, insert, close } = openNotes(1000)
  const pause = vi.spyOn(writer, 'pause')
  while (writer.written < 1000) await insert()
  const first = saltOf(path)
  expect(copiedOf(path)).toBe(0)
  await vi.waitFor(() => expect(copiedOf(path)).toBeGreaterThan(1000), { timeout: 60_000, interval: 50 })
  // The next write restarts the WAL instead of extending it.
  await insert()
  expect(saltOf(path)).not.toBe(first)
  expect(pause).not.toHaveBeenCalled()
  expect(writer.native.pragma('integrity_check', { simple: true })).toBe('ok')
  await close()
})

it('pauses a continuous writer until the WAL is checkpointed, so that the next write restarts it', async () => {
  const { path, writer, insert, close } = openNotes(3000)
  const pause = vi.spyOn(writer, 'pause')
  await insert()
  const first = saltOf(path)
  while (saltOf(path) === first) {
    await insert()
    await sleep(1)
  }
  expect(pause).toHaveBeenCalled()
  await close()
})

it('closes the file together with the writing connection', async () => {
  const { path, insert, close } = openNotes(3000)
  for (let n = 0; n < 5000; n++) await insert()
  const own = descriptorsOf(path)
  while (descriptorsOf(path) <= own) await sleep(1)
  await close()
  expect(descriptorsOf(path)).toBe(0)
})

/** Opens an SQLite file that is checkpointed by a thread. `insert` writes a row of this many characters in its own transaction. */
function openNotes(characters: number) {
  const folder = mkdtempSync(join(tmpdir(), 'snug-checkpoints-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const path = join(folder, 'some.sqlite')
  const open = () => {
    const native = new SqliteDatabase(path)
    for (const setting of ['journal_mode = WAL', 'synchronous = NORMAL', 'wal_autocheckpoint = 0']) native.pragma(setting)
    native.exec('create table if not exists notes (text text)')
    return native
  }
  const writer = new SqliteWriter(open, 5000, guardWrites({ DB_BACKEND: 'sqlite', SQLITE_PATH: path }))
  const db = new Kysely<{ notes: { text: string } }>({ dialect: writer })
  checkpointInThread(path, writer)
  const text = 'x'.repeat(characters)
  return { path, writer, insert: () => db.insertInto('notes').values({ text }).execute(), close: () => db.destroy() }
}

/** Returns the salt of the WAL header, which changes each time the WAL is restarted. */
const saltOf = (path: string) => bytesOf(`${path}-wal`, 16, 8).toString('hex')

/** Returns the number of checkpointed WAL pages: nBackfill in https://sqlite.org/walformat.html#the_wal_index_file_format. */
const copiedOf = (path: string) => bytesOf(`${path}-shm`, 96, 4).readUInt32LE()

function bytesOf(path: string, from: number, count: number): Buffer {
  const file = openSync(path, 'r')
  const bytes = Buffer.alloc(count)
  readSync(file, bytes, 0, count, from)
  closeSync(file)
  return bytes
}

/** Counts the open file descriptors of this process, including its threads, for the database file and its WAL. */
function descriptorsOf(path: string): number {
  const isOfFile = (descriptor: string) => {
    try {
      return readlinkSync(`/proc/self/fd/${descriptor}`).startsWith(path)
    } catch {
      return false
    }
  }
  return readdirSync('/proc/self/fd').filter(isOfFile).length
}
