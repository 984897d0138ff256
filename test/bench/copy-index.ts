import type { EntityManager } from '@mikro-orm/sql'
import pg from 'pg'
import type { Database } from '../../server/platform/db/open/orm.ts'

/** Published package whose versions are copied to all others. */
export const model = 'model_package'
/** Published package on which all others depend. */
export const popular = 'popular_package'

const tables = ['package_search_documents', 'package_search_brief', 'package_search_full']

/**
 * Copies PostgreSQL packages under new names until there are `wanted` packages. Indexing a hundred thousand packages one by one would take an hour.
 */
export async function copyPackages(database: Database, url: string, wanted: number): Promise<void> {
  const em = database.fork()
  const count = async () => Number((await em.execute<{ count: string }[]>('select count(*) as count from packages'))[0]?.count)
  await withoutIndexes(url, tables, async () => {
    for (let missing = wanted - (await count()); missing > 0; missing = wanted - (await count())) await copyOnce(em, missing)
  })
}

async function copyOnce(em: EntityManager, atMost: number): Promise<void> {
  await em.transactional(async (inside) => {
    // Keeps the length of names, so that similarities between names remain realistic. PostgreSQL before 18 has no uuidv7().
    await inside.execute(
      `create temp table copies on commit drop as select old, id, left(name, 56) || '_' || substr(md5(id::text), 1, 7) as name
       from (select id as old, 
         overlay(gen_random_uuid()::text placing left(id::text, 24) from 1)::uuid as id, name from packages where name not in ('${model}', '${popular}') limit ${atMost}) as made`,
    )
    await copy(inside, 'packages', { id: 'c.id', name: 'c.name', skeleton: "regexp_replace(c.name, '[_0-9]', '', 'g')" }, 't.id = c.old')
    const made = 'join package_search_documents n on n.package_id = c.id join package_search_documents o on o.package_id = c.old'
    await copy(inside, 'package_search_documents', { id: null, package_id: 'c.id', name: 'c.name' }, 't.package_id = c.old')
    for (const table of tables.slice(1)) await copy(inside, table, { id: 'n.id' }, 't.id = o.id', made)
  })
}

/** Copies rows of a table with some columns replaced. Null omits a column, which then gets its default value. */
async function copy(em: EntityManager, table: string, changes: Record<string, string | null>, fits: string, joined = ''): Promise<void> {
  const rows = await em.execute<{ name: string }[]>(
    'select column_name as name from information_schema.columns where table_schema = current_schema() and table_name = ?',
    [table],
  )
  const columns = rows.map(({ name }) => name).filter((name) => changes[name] !== null)
  const values = columns.map((name) => changes[name] ?? `t."${name}"`)
  const names = columns.map((name) => `"${name}"`)
  await em.execute(
    `insert into ${table} (${names.join(', ')}) select ${values.join(', ')} from copies c ${joined} join ${table} t on ${fits}`,
  )
}

/** Drops the non-unique indexes of tables, calls `fill`, creates the indexes again, and vacuums the database as autovacuum would. */
export async function withoutIndexes(url: string, of: string[], fill: () => Promise<void>): Promise<void> {
  // Uses a separate connection, because connections of the server have lock timeouts.
  const client = new pg.Client(url)
  await client.connect()
  const { rows } = await client.query<{ name: string; definition: string }>(
    `select indexname as name, indexdef as definition from pg_indexes
     where schemaname = current_schema() and tablename = any($1) and indexdef not like 'CREATE UNIQUE%'`,
    [of],
  )
  for (const { name } of rows) await client.query(`drop index "${name}"`)
  await fill()
  await client.query("set maintenance_work_mem = '512MB'")
  for (const { definition } of rows) await client.query(definition)
  await client.query('vacuum analyze')
  await client.end()
}
