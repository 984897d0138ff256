import SqliteDatabase from 'better-sqlite3'
import { Kysely } from 'kysely'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, it } from 'vitest'
import { SqliteWriter } from '../../../server/db/sqlite-writer.ts'
import { guardWrites } from '../../../server/db/write-guard.ts'

const never = () => new Promise(() => {})

it('has who writes wait for what pauses it, but only for so long, whatever becomes of that', async () => {
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
