import SqliteDatabase from 'better-sqlite3'
import { Kysely } from 'kysely'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, it } from 'vitest'
import { SqliteWriter } from '../../../server/platform/db/sqlite/sqlite-writer.ts'
import { guardWrites } from '../../../server/platform/db/location/moved.ts'

const never = () => new Promise(() => {})

it('pauses writes until a callback completes, fails or times out', async () => {
  const writer = new SqliteWriter(
    () => new SqliteDatabase(':memory:'),
    5000,
    guardWrites({ DB_BACKEND: 'sqlite', SQLITE_PATH: ':memory:' }),
  )
  const db = new Kysely<{ notes: { text: string } }>({ dialect: writer })
  await db.schema.createTable('notes').addColumn('text', 'text').execute()
  const insert = () => db.insertInto('notes').values({ text: 'written' }).execute()
  const done: string[] = []
  const pause = writer.pause(async () => void (await sleep(50), done.push('pause')), 5000)
  await Promise.all([pause, insert().then(() => done.push('insert'))])
  expect(done).toEqual(['pause', 'insert'])

  await Promise.all([writer.pause(never, 50), insert()])
  await expect(writer.pause(() => Promise.reject(new Error('It failed.')), 50)).rejects.toThrow('It failed.')
  await insert()
  expect(await db.selectFrom('notes').selectAll().execute()).toHaveLength(3)
  await db.destroy()
})

it.each(['a statement', 'a transaction'])('recovers after both the commit and the rollback of %s failed', async (what) => {
  const folder = mkdtempSync(join(tmpdir(), 'snug-writer-'))
  const path = join(folder, 'some.sqlite')
  let isBroken = false
  const open = () => {
    const native = new SqliteDatabase(path)
    const exec = native.exec.bind(native)
    native.exec = (sql) => {
      if (isBroken && (sql === 'commit' || sql === 'rollback')) throw new Error(`no ${sql}`)
      return exec(sql)
    }
    return native
  }
  const writer = new SqliteWriter(open, 5000, guardWrites({ DB_BACKEND: 'sqlite', SQLITE_PATH: path }))
  const db = new Kysely<{ notes: { text: string } }>({ dialect: writer })
  await db.schema.createTable('notes').addColumn('text', 'text').execute()
  const insert = (text: string) => db.insertInto('notes').values({ text }).execute()
  const insertWithin = (text: string) => db.transaction().execute((within) => within.insertInto('notes').values({ text }).execute())
  isBroken = true
  await expect(what === 'a statement' ? insert('lost') : insertWithin('lost')).rejects.toThrow(/^no /)
  isBroken = false
  await insert('kept')
  await insertWithin('kept, too')
  expect(await db.selectFrom('notes').select('text').execute()).toEqual([{ text: 'kept' }, { text: 'kept, too' }])
  await db.destroy()
  rmSync(folder, { recursive: true })
})
