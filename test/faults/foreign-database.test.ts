import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import SqliteDatabase from 'better-sqlite3'
import pg from 'pg'
import { describe, expect, it, onTestFinished } from 'vitest'
import { ConfigError, readConfig } from '../../server/platform/config/config.ts'
import { openLog } from '../../server/platform/http/log.ts'
import { openServices } from '../../server/open-services.ts'
import { runCommand } from '../support/admin.ts'
import { createDatabase } from '../support/postgres.ts'

const backends = ['sqlite', 'postgres'] as const
type Backend = (typeof backends)[number]

/** Creates a database without Snug's tables, with functions that run statements and list its tables. */
async function createForeignDatabase(backend: Backend) {
  const folder = mkdtempSync(join(tmpdir(), 'snug-foreign-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const settings = {
    SERVER_URL: 'http://localhost:1',
    JWT_SECRET: 'a secret for tests that is long enough',
    DATA_DIR: folder,
  }
  if (backend === 'sqlite') {
    const SQLITE_PATH = join(folder, 'other.sqlite')
    const database = new SqliteDatabase(SQLITE_PATH)
    onTestFinished(() => void database.close())
    const run = async (sql: string) => void database.exec(sql)
    const tables = async () => database.prepare('select name from sqlite_schema order by name').all()
    return { environment: { ...settings, SQLITE_PATH }, run, tables }
  }
  const { url, drop } = await createDatabase()
  const client = new pg.Client(url)
  await client.connect()
  onTestFinished(async () => {
    await client.end()
    await drop()
  })
  const run = async (sql: string) => void (await client.query(sql))
  const tables = async () =>
    (await client.query("select relname from pg_class where relnamespace = 'public'::regnamespace order by relname")).rows
  return { environment: { ...settings, DB_BACKEND: 'postgres', POSTGRES_URL: url }, run, tables }
}

async function refusalOf(environment: Record<string, string>): Promise<string | null> {
  try {
    const services = await openServices(
      readConfig(environment),
      openLog('error', () => {}),
    )
    await services.analyzer.close()
    await services.database.close()
    return null
  } catch (error) {
    if (error instanceof ConfigError) return error.message
    throw error
  }
}

describe.each(backends)('start of the server on %s', (backend) => {
  const setting = backend === 'postgres' ? 'POSTGRES_URL' : 'SQLITE_PATH'

  it.each([
    ['tables', 'create table customers (id int); create table orders (id int)', 'customers, orders'],
    ['the migrations table of Rails', 'create table schema_migrations (version varchar(255))', 'schema_migrations'],
    [
      'a migrations table with the same name as ours',
      "create table schema_migrations (name text); insert into schema_migrations values ('Migration1'); create table a (id int)",
      'a, schema_migrations',
    ],
    [
      'a settings table with the same name as ours',
      'create table server_settings (key text, value text); create table b (id int)',
      'b, server_settings',
    ],
    [
      'tables with the same names as ours',
      'create table packages (id int); create table users (id int); create table c (id int); create table d (id int)',
      'c, d, packages and others',
    ],
  ])('refuses a database of another program that has %s, and creates nothing in it', async (_name, sql, named) => {
    const { environment, run, tables } = await createForeignDatabase(backend)
    await run(sql)
    const before = await tables()
    const refusal = `belongs to another program: it has the tables ${named}. Nothing was changed in it.`
    const message = await refusalOf(environment)
    expect(message).toContain(refusal)
    expect(message).toMatch(new RegExp(`^${setting}: the database `))
    for (const words of [['users'], ['doctor', '--quick']]) {
      const { code, out, err } = await runCommand(environment, ...words)
      expect([words, out + err]).toEqual([words, expect.stringContaining(refusal)])
      expect(code).toBe(words[0] === 'doctor' ? 1 : 78)
    }
    expect(await tables()).toEqual(before)
  })

  it('accepts an empty database, including one with an empty migrations table from an interrupted first start', async () => {
    const { environment, run } = await createForeignDatabase(backend)
    const id = setting === 'POSTGRES_URL' ? 'serial primary key' : 'integer primary key'
    await run(`create table schema_migrations (id ${id}, name text, executed_at timestamp default current_timestamp)`)
    expect(await refusalOf(environment)).toBeNull()
    expect(await refusalOf(environment)).toBeNull()
  })
})
