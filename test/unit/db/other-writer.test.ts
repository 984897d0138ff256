import SqliteDatabase from 'better-sqlite3'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, it } from 'vitest'
import { sqliteReads } from '../../../server/platform/db/sqlite/sqlite-reads.ts'

it('detects writes of another process within milliseconds', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'snug-reads-'))
  const path = join(folder, 'some.sqlite')
  const [writer, other] = [new SqliteDatabase(path), new SqliteDatabase(path)]
  writer.pragma('journal_mode = WAL')
  writer.exec('create table notes (id text primary key, text text)')
  writer.exec("insert into notes values ('a', 'first')")
  const reads = sqliteReads(path, { inTransaction: false, written: 0 }, 2 ** 20)
  const read = () => reads.recalled({ sql: 'select text from notes where id = ?', values: ['a'] })
  expect(await read()).toEqual({ text: 'first' })
  other.exec("update notes set text = 'second'")
  await sleep(20)
  expect(await read()).toEqual({ text: 'second' })
  await reads.close()
  for (const database of [writer, other]) database.close()
  rmSync(folder, { recursive: true })
})
