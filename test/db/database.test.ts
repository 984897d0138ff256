import { existsSync } from 'node:fs'
import { expect, it } from 'vitest'
import { openDatabase } from '../../server/db/orm.ts'
import { version } from '../../server/version.ts'
import { testApp } from '../app.ts'

it('refuses a schema that a newer version has written', async () => {
  await using app = await testApp()
  const { config, services } = app
  const connection = services.database.orm.em.getConnection()
  expect(await connection.execute("select value from server_settings where key = 'schema.version'")).toEqual([
    { value: JSON.stringify(version) },
  ])
  await connection.execute("insert into schema_migrations (name) values ('Migration20990101000000_future')")
  await connection.execute(`update server_settings set value = '"99.1.0"' where key = 'schema.version'`)
  const open = config.DB_BACKEND === 'sqlite' ? { ...config, SQLITE_PATH: `${config.SQLITE_PATH}-copy` } : config
  if (config.DB_BACKEND === 'sqlite') await connection.execute('vacuum into ?', [open.SQLITE_PATH])
  await expect(openDatabase(open)).rejects.toThrow(
    `newer version, Snug 99.1.0; this is Snug ${version}, which does not know Migration20990101000000_future.`,
  )
})

it('is kept by one process at a time on SQLite, and shared on PostgreSQL', async () => {
  await using app = await testApp()
  const second = openDatabase(app.config)
  if (app.config.DB_BACKEND === 'sqlite') return expect(second).rejects.toThrow(/held by another process/)
  const database = await second
  expect(await database.reads.get<{ one: number }>('select 1 as one')).toEqual({ one: 1 })
  return database.close()
})

it('stays closed for work that outlives it', async () => {
  await using app = await testApp()
  const { orm } = app.services.database
  await app.stop()
  await expect(orm.em.fork().getConnection().execute('select 1')).rejects.toThrow()
  if (app.config.DB_BACKEND === 'sqlite') expect(existsSync(`${app.config.SQLITE_PATH}-wal`)).toBe(false)
})

it('migrates once when two instances start at once', async () => {
  await using app = await testApp()
  if (app.config.DB_BACKEND === 'sqlite') return expect(app.services.database.backend).toBe('sqlite')
  const connection = app.services.database.orm.em.getConnection()
  await connection.execute('drop schema public cascade; create schema public')
  const both = await Promise.all([openDatabase(app.config), openDatabase(app.config)])
  const names = (await both[0].reads.all<{ name: string }>('select name from schema_migrations')).map(({ name }) => name)
  expect(names.length).toBeGreaterThan(1)
  expect(new Set(names).size).toBe(names.length)
  await Promise.all(both.map((database) => database.close()))
  return undefined
})
