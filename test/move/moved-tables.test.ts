import { expect, it } from 'vitest'
import { withClient } from '../../server/operations/backup/postgres.ts'
import { movedTables, planMove } from '../../server/operations/move/plan.ts'
import { canonicalRow } from '../../server/operations/move/source.ts'
import { testApp } from '../app.ts'

/** Tables that each database fills by itself, with their source. */
const ownTables = {
  daily_totals: 'publications and downloads per day, counted from the packages',
  dependent_counts: 'numbers of dependents, counted from the packages',
  package_dependents: 'dependencies of latest versions, derived from the packages',
  package_requirements: 'dependencies of all versions of a package, derived from the versions',
  package_totals: 'versions and bytes of packages, counted from the packages',
  package_search_brief: 'the search index, rebuilt from the packages',
  package_search_documents: 'the search index, rebuilt from the packages',
  package_search_full: 'the search index, rebuilt from the packages',
  package_search_symbol_terms: 'the search index, rebuilt from the packages',
  package_search_symbols: 'the search index, rebuilt from the packages',
  package_search_trigrams: 'the search index, rebuilt from the packages; SQLite only',
  rate_limits: 'what instances on PostgreSQL count of the last minutes; a process on SQLite keeps that in its memory',
  schema_migrations: 'the migrations of this kind of database, which made its tables',
  write_probe: 'what shows that the database can be written to',
}

/** All tables except the internal tables of SQLite's virtual tables. */
const tablesOf = {
  sqlite: "select name from pragma_table_list where schema = 'main' and type in ('table', 'virtual') and name not like 'sqlite_%'",
  postgres: "select tablename as name from pg_tables where schemaname = 'public'",
}
/** Tables that exist in one kind of database only. */
const only = { sqlite: ['package_search_trigrams'], postgres: ['rate_limits'] }

it('lists every table as moved or as filled by each database itself', async () => {
  await using app = await testApp()
  const { reads, backend } = app.services.database
  const tables = movedTables(app.services.database.fork())
  const names = (await reads.all<{ name: string }>(tablesOf[backend])).map(({ name }) => name)
  const foreign = only[backend === 'sqlite' ? 'postgres' : 'sqlite']
  const known = [...tables, ...Object.keys(ownTables)].filter((name) => !foreign.includes(name))
  expect(known.toSorted()).toEqual(names.toSorted())
})

it('converts every column type of the moved tables, which have no generated numbers', async () => {
  await using app = await testApp()
  const tables = movedTables(app.services.database.fork())
  if (app.config.DB_BACKEND === 'sqlite') return expect(tables).toEqual([...new Set(tables)].toSorted())
  const plan = await withClient(app.config.POSTGRES_URL ?? '', (client) => planMove(client, tables))
  expect(plan.map(({ name }) => name).toSorted()).toEqual(tables)
  const types = new Set(plan.flatMap(({ columns }) => columns.map(({ type }) => type)))
  const samples: Record<string, unknown> = {
    bool: 1n,
    bytea: Buffer.alloc(1),
    int4: 1n,
    int8: 1n,
    text: 'x',
    timestamptz: 1n,
    uuid: 'x',
    varchar: 'x',
  }
  for (const type of types) expect(() => canonicalRow([{ name: type, type }], [samples[type]])).not.toThrow()
  return undefined
})
