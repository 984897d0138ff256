import SqliteDatabase from 'better-sqlite3'
import { Kysely } from 'kysely'
import { closeSync, mkdtempSync, openSync, readSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, it, vi } from 'vitest'
import { checkpointAside } from '../../../server/db/checkpoints.ts'
import { SqliteWriter } from '../../../server/db/sqlite-writer.ts'
import { guardWrites } from '../../../server/db/write-guard.ts'

const noPause = () => Promise.reject(new Error('Nobody writes meanwhile.'))

it('empties the log in a thread, while the connection that wrote it is used on', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'snug-checkpoints-'))
  const path = join(folder, 'some.sqlite')
  const native = new SqliteDatabase(path)
  for (const setting of ['journal_mode = WAL', 'wal_autocheckpoint = 0']) native.pragma(setting)
  native.exec('create table notes (text text)')
  const writer = { written: 0, pause: noPause }
  const checkpoints = checkpointAside(path, writer)
  const insert = native.prepare('insert into notes values (?)')
  const write = (count: number) => {
    for (let n = 0; n < count; n++) insert.run('x'.repeat(1000))
    writer.written += count
  }
  write(2000)
  expect(statSync(path).size).toBeLessThan(100_000)
  await vi.waitFor(() => expect(statSync(path).size).toBeGreaterThan(2_000_000), { timeout: 20_000, interval: 50 })
  // The next one begins the log anew instead of making it longer.
  const { size } = statSync(`${path}-wal`)
  write(500)
  expect(statSync(`${path}-wal`).size).toBe(size)
  checkpoints.end()
  expect(native.pragma('integrity_check', { simple: true })).toBe('ok')
  native.close()
  rmSync(folder, { recursive: true })
})

it('has a writer that never rests wait for the end of the log, which the next write begins anew', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'snug-checkpoints-'))
  const path = join(folder, 'some.sqlite')
  const open = () => {
    const native = new SqliteDatabase(path)
    for (const setting of ['journal_mode = WAL', 'synchronous = NORMAL', 'wal_autocheckpoint = 0']) native.pragma(setting)
    native.exec('create table if not exists notes (text text)')
    return native
  }
  const writer = new SqliteWriter(open, 5000, guardWrites({ DB_BACKEND: 'sqlite', SQLITE_PATH: path }))
  const pause = vi.spyOn(writer, 'pause')
  const db = new Kysely<{ notes: { text: string } }>({ dialect: writer })
  const checkpoints = checkpointAside(path, writer)
  const insert = () =>
    db
      .insertInto('notes')
      .values({ text: 'x'.repeat(3000) })
      .execute()
  await insert()
  const first = saltOf(path)
  while (saltOf(path) === first) {
    await insert()
    await sleep(1)
  }
  expect(pause).toHaveBeenCalled()
  checkpoints.end()
  await db.destroy()
  rmSync(folder, { recursive: true })
})

/** What the log's header has of its own each time that it is begun anew. */
function saltOf(path: string): string {
  const log = openSync(`${path}-wal`, 'r')
  const salt = Buffer.alloc(8)
  readSync(log, salt, 0, 8, 16)
  closeSync(log)
  return salt.toString('hex')
}
