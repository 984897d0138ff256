import { setImmediate as nextTurn } from 'node:timers/promises'
import type { EntityManager } from '@mikro-orm/sql'
import { readEach } from '../../../platform/db/batched.ts'
import type { Database } from '../../../platform/db/open/orm.ts'
import { changeRows, readRows } from '../../../platform/db/statements.ts'
import { type Here, hostedHere } from '../hosting.ts'

declare module '../../../platform/db/query.ts' {
  /** Tables that triggers maintain (see `repairCounts`). They are no entities, so SQLite returns their booleans as numbers. */
  interface Tables {
    /** Dependencies of latest versions. A source is the registry URL, empty without one, and `-` without such a dependency. */
    package_dependents: {
      name: string
      package_name: string
      package_id: string
      version: string
      direct_constraint: string | null
      direct_source: string
      dev_constraint: string | null
      dev_source: string
    }
    /** Numbers of `package_dependents`, by the sources that they name. */
    dependent_counts: { name: string; direct_source: string; dev_source: string; dependents: number }
    /** Different constraints of all versions of a package. */
    package_requirements: {
      name: string
      package_name: string
      package_id: string
      kind: 'direct' | 'dev'
      source: string
      constraint: string
      is_public: boolean
      versions: number
    }
    package_totals: { package_id: string; name: string; versions: number; archive_bytes: number }
  }
}

/** A package whose latest version depends on another one. `isBare`: without a registry URL, so clients use their default registry. */
export type Dependent = { packageId: string; name: string; version: string; constraint: string; kind: 'direct' | 'dev'; isBare: boolean }

/** Registries of the dependencies to return, as an SQL list of addresses. Dependencies that name no registry are always returned. */
export type Registries = { sql: string; values: string[] }

/** This server with its former addresses. */
export const thisServer = (here: Here): Registries => ({
  sql: "(select '' union all select cast(? as text) union all select address from server_addresses)",
  values: [hostedHere(here)],
})

type Wanted = { name: string; limit: number; after?: string | undefined; offset?: number | null | undefined }

/**
 * Returns the packages whose latest version depends on a package of these registries, once each, ordered by name. Direct dependencies take precedence
 * over dev dependencies. `after` is the last name of the previous page. Database triggers maintain the tables that this and the count read.
 * Batched per request.
 */
export async function listDependents(
  em: EntityManager,
  { sql, values }: Registries,
  { name, limit, after = '', offset }: Wanted,
): Promise<Dependent[]> {
  const rows = await readEach<Row>(em, {
    sql: `select package_id as "packageId", package_name as name, version, direct_constraint, direct_source, dev_constraint, dev_source,
       direct_source in ${sql} as "isDirect"
     from package_dependents where name = ? and package_name > ? and (direct_source in ${sql} or dev_source in ${sql})
     order by package_name limit ? offset ?`,
    values: [...values, name, after, ...values, ...values, limit, offset ?? 0],
    order: 'name',
  })
  return rows.map(dependentOf)
}

/** Counts the packages that `listDependents` returns. Batched per request. */
export async function countDependents(em: EntityManager, { sql, values }: Registries, name: string): Promise<number> {
  const [row] = await readEach<{ total: string | number | null }>(em, {
    sql: `select sum(dependents) as total from dependent_counts where name = ? and (direct_source in ${sql} or dev_source in ${sql})`,
    values: [name, ...values, ...values],
  })
  return Number(row?.total ?? 0)
}

type Row = Pick<Dependent, 'packageId' | 'name' | 'version'> & {
  direct_constraint: string
  direct_source: string
  dev_constraint: string
  dev_source: string
  isDirect: boolean | number
}

function dependentOf({ packageId, name, version, isDirect, ...row }: Row): Dependent {
  const pkg = { packageId, name, version }
  return isDirect
    ? { ...pkg, constraint: row.direct_constraint, kind: 'direct', isBare: row.direct_source === '' }
    : { ...pkg, constraint: row.dev_constraint, kind: 'dev', isBare: row.dev_source === '' }
}

/**
 * Compares the stored dependents, their counts and the totals of packages with the versions they are derived from, and corrects differences. Triggers
 * keep them equal; differences remain after a move from SQLite, which disables triggers, and after the upgrade of one of several instances. Safe to
 * run at any time: it reads a few packages at a time, and a transaction locks only packages that it corrects.
 */
export async function repairCounts(database: Database): Promise<void> {
  for (let last = ''; ;) {
    const ids = await keysOf(database, 'select id as key from packages where id > ? order by id limit 25', [last || nilId])
    if (ids.length === 0) break
    last = ids.at(-1) ?? ''
    for (const table of [storedDependents, storedRequirements, storedTotals]) await repair(database, table, [ids[0] ?? '', last])
  }
  for (let last = ''; ;) {
    const names = await keysOf(database, namesAfter, [last, last])
    if (names.length === 0) break
    last = names.at(-1) ?? ''
    await repair(database, storedCounts, [names[0] ?? '', last])
  }
}

/** A derived table: its name, its columns, the key of a repair, the query of the correct rows, and how to lock what they are derived from. */
type Derived = { table: string; columns: string; key: string; rows: (condition: string) => string; lock: (marks: string) => string }

const lockPackages = (marks: string) => `select id from packages where id in (${marks}) order by id for update`

const storedDependents: Derived = {
  table: 'package_dependents',
  columns: 'name, package_name, package_id, version, direct_constraint, direct_source, dev_constraint, dev_source',
  key: 'package_id',
  rows: (condition) => `select d.name, p.name as package_name, p.id as package_id, v.version,
      max(case d.kind when 'direct' then d."constraint" end), coalesce(max(case d.kind when 'direct' then coalesce(d.hosted_url, '') end), '-'),
      max(case d.kind when 'dev' then d."constraint" end), coalesce(max(case d.kind when 'dev' then coalesce(d.hosted_url, '') end), '-')
    from packages p join package_versions v on v.package_id = p.id and v.version = p.latest_version join package_dependencies d on d.version_id = v.id
    where d.sdk is null and p.id ${condition} group by d.name, p.name, p.id, v.version`,
  lock: lockPackages,
}

const storedRequirements: Derived = {
  table: 'package_requirements',
  columns: 'name, package_name, package_id, kind, source, "constraint", is_public, versions',
  key: 'package_id',
  rows: (condition) => `select d.name, p.name as package_name, p.id as package_id, d.kind, coalesce(d.hosted_url, ''), d."constraint",
      p.visibility = 'public', count(*)
    from packages p join package_versions v on v.package_id = p.id join package_dependencies d on d.version_id = v.id
    where d.sdk is null and p.id ${condition} group by d.name, p.name, p.id, d.kind, coalesce(d.hosted_url, ''), d."constraint", p.visibility`,
  lock: lockPackages,
}

const storedTotals: Derived = {
  table: 'package_totals',
  columns: 'package_id, name, versions, archive_bytes',
  key: 'package_id',
  rows: (condition) => `select p.id as package_id, p.name, count(*), sum(v.archive_bytes)
    from packages p join package_versions v on v.package_id = p.id where p.id ${condition} group by p.id, p.name`,
  lock: lockPackages,
}

const storedCounts: Derived = {
  table: 'dependent_counts',
  columns: 'name, direct_source, dev_source, dependents',
  key: 'name',
  rows: (condition) =>
    `select name, direct_source, dev_source, count(*) from package_dependents where name ${condition} group by name, direct_source, dev_source`,
  // The lock of the trigger that changes the counts.
  lock: () => 'select pg_advisory_xact_lock(7305514903)',
}

const namesAfter = ['package_dependents', 'dependent_counts']
  .map((table) => `select * from (select distinct name as key from ${table} where name > ? order by name limit 100) ${table}`)
  .join(' union ')
  .replace(/$/, ' order by key limit 100')

const nilId = '00000000-0000-0000-0000-000000000000'

async function keysOf({ reads }: Pick<Database, 'reads'>, sql: string, values: string[]): Promise<string[]> {
  await nextTurn()
  return (await reads.all<{ key: string }>(sql, ...values)).map(({ key }) => key)
}

/** Corrects the rows of a derived table with a key from `first` to `last`. */
async function repair(database: Database, { table, columns, key, rows, lock }: Derived, [first, last]: [string, string]): Promise<void> {
  const [stored, right] = [`select ${columns} from ${table} where ${key} between ? and ?`, rows('between ? and ?')]
  const differences = `select ${key} as key from (select * from (${stored}) s except ${right}) a
    union select ${key} from (select * from (${right}) r except ${stored}) b`
  const wrong = await keysOf(database, differences, Array.from({ length: 4 }, () => [first, last]).flat())
  if (wrong.length === 0) return
  const marks = wrong.map(() => '?').join(', ')
  await database.fork().transactional(async (em) => {
    if (database.backend === 'postgres') await readRows(em, lock(marks), table === 'dependent_counts' ? [] : wrong)
    await changeRows(em, `delete from ${table} where ${key} in (${marks})`, wrong)
    await changeRows(em, `insert into ${table} (${columns}) ${rows(`in (${marks})`)}`, wrong)
  })
}
