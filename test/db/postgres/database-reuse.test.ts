import { Client } from 'pg'
import { expect, it } from 'vitest'
import { testApp } from '../../app.ts'
import { resetDatabase, captureBaseline } from '../../support/database-reset.ts'
import { createDatabase } from '../../support/postgres.ts'
import { publish } from '../../support/publish.ts'

async function withConnection<Result>(url: string, work: (own: Client) => Promise<Result>): Promise<Result> {
  const own = new Client(url)
  await own.connect()
  try {
    return await work(own)
  } finally {
    await own.end()
  }
}

/** Returns a test database. The template exists once a server was started. */
const createTestDatabase = () => createDatabase(() => Promise.reject(new Error('No server was started before.')))

it('resets a used test database to its initial rows', async () => {
  await using _ = await testApp({ setUp: false })
  await using database = await createTestDatabase()
  const before = await withConnection(database.url, captureBaseline)
  await using app = await testApp({ env: { POSTGRES_URL: database.url }, alone: true })
  await publish(await app.admin(), { name: 'acme', version: '1.0.0' })
  await withConnection(database.url, (own) => own.query("delete from schema_migrations where name like '%_job_tokens'"))
  await withConnection(database.url, (own) => own.query("update server_settings set value = '1' where key = 'schema.version'"))
  const used = await withConnection(database.url, captureBaseline)
  expect(Object.keys(used.rows)).toEqual(expect.arrayContaining(['users', 'packages', 'audit_entries', 'schema_migrations']))
  await app.stop()
  expect(await withConnection(database.url, (own) => resetDatabase(own, before))).toBe(true)
  expect(await withConnection(database.url, captureBaseline)).toEqual(before)
  expect(Object.keys(before.rows).toSorted()).toEqual(['schema_migrations', 'server_settings'])
})

const changes = [
  'create table more (id int)',
  'alter table users add column more int',
  'alter table users alter column email set statistics 7',
  'create index more on users (email, role)',
  'alter table audit_chain disable trigger all',
  'create function more() returns int language sql as $$ select 1 $$',
  'alter table users rename to people; alter table people rename to users',
  "select lo_from_bytea(0, 'more')",
  'analyze users',
  'analyze publishers',
  'truncate publishers cascade',
  'vacuum users',
  'grant select on users to public',
  "do $$ begin execute format('revoke connect on database %I from public', current_database()); end $$",
  "do $$ begin execute format('alter database %I set work_mem = 65', current_database()); end $$",
  "insert into server_settings select 'more.' || n, repeat('x', 1000) from generate_series(1, 100) n",
  "insert into server_settings select 'more', string_agg(gen_random_uuid()::text, '') from generate_series(1, 30000)",
]

it('discards a test database when a test changed more than a few rows', async () => {
  await using _ = await testApp({ setUp: false })
  const handedOn: string[] = []
  for (const change of ['select 1', ...changes]) {
    await using database = await createTestDatabase()
    const before = await withConnection(database.url, captureBaseline)
    await withConnection(database.url, (own) => own.query(change))
    if (await withConnection(database.url, (own) => resetDatabase(own, before))) handedOn.push(change)
  }
  expect(handedOn).toEqual(['select 1'])
})

it('renames a database before reuse and drops one that still has connections', async () => {
  const asIs = (own: Client) =>
    own.query(
      "select oid, (select count(*)::int from server_settings where key = 'mine') as left from pg_database where datname = current_database()",
    )
  const lend = async (work: (url: string) => Promise<unknown>) => {
    await using app = await testApp({ setUp: false, alone: true })
    const url = app.config.POSTGRES_URL ?? ''
    const { rows } = await withConnection(url, asIs)
    await withConnection(url, (own) => own.query("insert into server_settings values ('mine', '1')"))
    await work(url)
    return { url, ...(rows[0] as { oid: number; left: number }) }
  }
  const first = await lend(async () => {})
  await expect(withConnection(first.url, asIs)).rejects.toThrow(/does not exist/)
  const staying: Client[] = []
  const second = await lend(async (url) => {
    const client = new Client(url).on('error', () => {})
    await client.connect()
    staying.push(client)
  })
  expect(second).toMatchObject({ left: 0 })
  // Nothing remains on a server that existed before the run.
  expect(second.oid === first.oid).toBe(process.env.TEST_POSTGRES_ENDS !== undefined)
  await expect(staying[0]?.query('select 1')).rejects.toThrow()
  const third = await lend(async () => {})
  expect([first.oid, second.oid]).not.toContain(third.oid)
})
