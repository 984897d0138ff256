import SqliteDatabase from 'better-sqlite3'
import { mkdtempSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it, vi } from 'vitest'
import { checkpointAside } from '../../../server/db/checkpoints.ts'

it('empties the log in a thread, while the connection that wrote it is used on', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'snug-checkpoints-'))
  const path = join(folder, 'some.sqlite')
  const native = new SqliteDatabase(path)
  for (const setting of ['journal_mode = WAL', 'wal_autocheckpoint = 0']) native.pragma(setting)
  native.exec('create table notes (text text)')
  const writer = { written: 0 }
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
