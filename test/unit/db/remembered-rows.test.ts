import SqliteDatabase from 'better-sqlite3'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { sqliteReads } from '../../../server/platform/db/sqlite/sqlite-reads.ts'
import { heldMemory } from '../../support/memory.ts'

/** Opens a table of notes with texts of this length, and reads with a row cache of `maxRowBytes` bytes. */
function notes(length: number, maxRowBytes: number) {
  const folder = mkdtempSync(join(tmpdir(), 'snug-rows-'))
  const path = join(folder, 'some.sqlite')
  const writer = new SqliteDatabase(path)
  writer.exec('create table notes (id integer primary key, text text)')
  for (let id = 1; id <= 4; id++) writer.prepare('insert into notes values (?, ?)').run(id, 'x'.repeat(length))
  const reads = sqliteReads(path, { inTransaction: false, written: 0 }, maxRowBytes)
  return {
    counts: reads.counts,
    run: (sql: string) => reads.row({ sql, values: [] }),
    read: (id: number) => reads.recalled({ sql: 'select text from notes where id = ?', values: [id] }),
    async [Symbol.asyncDispose]() {
      await reads.close()
      writer.close()
      rmSync(folder, { recursive: true })
    },
  }
}

it('limits cached rows by memory, not by number', async () => {
  await using some = notes(10_000, 25_000)
  for (const id of [1, 2, 1, 2]) expect(await some.read(id)).toEqual({ text: 'x'.repeat(10_000) })
  expect(some.counts).toEqual({ hits: 2, misses: 2 })
  // A third row does not fit, so the cache is cleared.
  for (const id of [3, 1]) expect(await some.read(id)).toEqual({ text: 'x'.repeat(10_000) })
  expect(some.counts).toEqual({ hits: 2, misses: 4 })
})

it('does not cache a row that is larger than the cache', async () => {
  await using some = notes(30_000, 25_000)
  for (let time = 0; time < 3; time++) expect(await some.read(4)).toEqual({ text: 'x'.repeat(30_000) })
  expect(some.counts).toEqual({ hits: 0, misses: 3 })
})

it('keeps only the most recently used prepared statements', async () => {
  await using some = notes(10, 25_000)
  const before = heldMemory()
  for (let index = 0; index < 1000; index++) expect(await some.run(`select ${index} as number -- ${comment}`)).toEqual({ number: index })
  expect(heldMemory().heap - before.heap).toBeLessThan(500 * comment.length)
})
const comment = 'a comment '.repeat(2000)
