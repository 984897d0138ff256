import SqliteDatabase from 'better-sqlite3'
import { existsSync } from 'node:fs'
import { expect, it } from 'vitest'
import { type Database, openDatabase } from '../../server/platform/db/open/orm.ts'
import { previousRelease } from '../../server/platform/db/schema/migrate.ts'
import { version } from '../../server/platform/config/version.ts'
import { testApp } from '../app.ts'

it('refuses a schema of a newer version, unless that version declares compatibility, on PostgreSQL', async () => {
  await using app = await testApp()
  const { config, services } = app
  const connection = services.database.orm.em.getConnection()
  const written = "select key, value from server_settings where key like 'schema.%' order by key"
  expect(await connection.execute(written)).toEqual([
    { key: 'schema.oldest_version', value: JSON.stringify(previousRelease.version) },
    { key: 'schema.version', value: JSON.stringify(version) },
  ])
  await connection.execute("insert into schema_migrations (name) values ('Migration20990101000000_future')")
  await connection.execute(`update server_settings set value = '"99.1.0"' where key = 'schema.version'`)
  const refusal = `newer version, Snug 99.1.0; this is Snug ${version}, which does not know Migration20990101000000_future.`
  let copies = 0
  const open = async (oldest: string) => {
    await connection.execute('update server_settings set value = ? where key = ?', [JSON.stringify(oldest), 'schema.oldest_version'])
    const copy = { ...config, SQLITE_PATH: `${config.SQLITE_PATH}-copy-${copies++}` }
    if (config.DB_BACKEND === 'sqlite') copyFile(config.SQLITE_PATH, copy.SQLITE_PATH)
    return openDatabase(copy)
  }
  await expect(open('99.0.0')).rejects.toThrow(refusal)
  await expect(open('unknown')).rejects.toThrow(refusal)
  if (config.DB_BACKEND === 'sqlite') await expect(open(version)).rejects.toThrow(refusal)
  else await (await open(version)).close()
  // A compatible database that lacks a migration is rejected too: this version must not migrate a database of a newer version.
  await connection.execute("delete from schema_migrations where name like '%_job_tokens'")
  await expect(open(version)).rejects.toThrow(refusal)
})

function copyFile(from: string, to: string): void {
  const native = new SqliteDatabase(from, { readonly: true })
  native.prepare('vacuum into ?').run(to)
  native.close()
}

it('is locked by one process on SQLite and shared on PostgreSQL', async () => {
  await using app = await testApp()
  const second = openDatabase(app.config)
  if (app.config.DB_BACKEND === 'sqlite') return expect(second).rejects.toThrow(/held by another process/)
  const database = await second
  expect(await database.reads.get<{ one: number }>('select 1 as one')).toEqual({ one: 1 })
  return database.close()
})

it('stays closed for tasks that outlive the server', async () => {
  await using app = await testApp()
  const { orm } = app.services.database
  await app.stop()
  await expect(orm.em.fork().getConnection().execute('select 1')).rejects.toThrow()
  if (app.config.DB_BACKEND === 'sqlite') expect(existsSync(`${app.config.SQLITE_PATH}-wal`)).toBe(false)
})

it('migrates once when two instances start concurrently', async () => {
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

it('waits for long transactions before migrating and logs that once', async () => {
  await using app = await testApp()
  const { config, services } = app
  const connection = services.database.orm.em.getConnection()
  if (config.DB_BACKEND === 'sqlite') return expect(services.database.backend).toBe('sqlite')
  await connection.execute(
    "delete from schema_migrations where name like '%_audit_young'; drop trigger audit_entries_keep_young on audit_entries",
  )
  await connection.execute(
    'drop trigger audit_chain_keep_order on audit_chain; drop function audit_entries_keep_young, audit_chain_keep_order',
  )
  const told: string[] = []
  let opening: Promise<Database> | undefined
  const write = (work: () => Promise<unknown>) =>
    services.database.fork().transactional(async (em) => {
      await em.execute('lock table audit_entries in row exclusive mode')
      await work()
    })
  await write(async () => {
    opening = openDatabase(config, { onMigration: (message) => told.push(message) })
    await expect.poll(() => told).toHaveLength(2)
    // Other queries continue while the migration waits before its next attempt.
    await write(async () => {})
  })
  await (await opening)?.close()
  expect(told).toEqual([
    'Upgrading the database: Migration20261122000003_audit_young',
    expect.stringContaining('waits for another session'),
  ])
  return undefined
})
