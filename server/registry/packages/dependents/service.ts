import { setImmediate as nextTurn } from 'node:timers/promises'
import { LockMode } from '@mikro-orm/core'
import type { EntityManager } from '@mikro-orm/sql'
import { type AliasableExpression, type Expression, expressionBuilder, type Kysely, sql, type SqlBool } from 'kysely'
import { readEach } from '../../../platform/db/batched.ts'
import type { Database } from '../../../platform/db/open/orm.ts'
import { columnsOf, db, type Query, type Tables } from '../../../platform/db/query.ts'
import { changeRows, containing, lockKey } from '../../../platform/db/statements.ts'
import { type Condition, isPublic } from '../conditions.ts'
import { Package } from '../entity.ts'
import { type Here, hostedHere } from '../hosting.ts'

/** A package whose latest version depends on another one. `isBare`: without a registry URL, so clients use their default registry. */
export type Dependent = { packageId: string; name: string; version: string; constraint: string; kind: 'direct' | 'dev'; isBare: boolean }

/** Registries of the dependencies to return, as a condition of their registry URL. Dependencies that name no registry are always returned. */
export type Registries = (source: Expression<string>) => Condition

const eb = expressionBuilder<Tables>()

/** This server with its former addresses. */
export const thisServer = (here: Here): Registries => {
  const current = db.selectNoFrom(eb.cast<string>(eb.val(hostedHere(here)), 'text').as('address'))
  const former = db.selectFrom('server_addresses').select('address')
  return (source) => eb(source, 'in', db.selectNoFrom(none.as('address')).unionAll(current).unionAll(former))
}

/** The source of dependencies that name no registry. */
const none = eb.cast<string>(sql.lit(''), 'text')

/** `query`: part of the names to find. */
type Wanted = {
  name: string
  limit: number
  query?: string | null | undefined
  after?: string | undefined
  offset?: number | null | undefined
}

/**
 * Returns the packages whose latest version depends on a package of these registries, once each, ordered by name. Direct dependencies take precedence
 * over dev dependencies. `after` is the last name of the previous page. Database triggers maintain the tables that this and the count read.
 * Batched per request.
 */
export async function listDependents(
  em: EntityManager,
  isAmong: Registries,
  { name, limit, query: text, after = '', offset }: Wanted,
): Promise<Dependent[]> {
  const query = db
    .selectFrom('package_dependents')
    .select(['package_id as packageId', 'package_name as name', 'version'])
    .select(['direct_constraint', 'direct_source', 'dev_constraint', 'dev_source'])
    .select((row) => isAmong(row.ref('direct_source')).as('isDirect'))
    .where('name', '=', name)
    .where('package_name', '>', after)
    .where((row) => row.and(namedLike(text)))
    .where((row) => row.or([isAmong(row.ref('direct_source')), isAmong(row.ref('dev_source'))]))
    .orderBy('package_name')
  const rows = await readEach(em, { query: query.limit(limit).offset(offset ?? 0), order: 'name' })
  return rows.map(({ packageId, isDirect, ...row }) => {
    const pkg = { packageId, name: row.name, version: row.version }
    return isDirect
      ? { ...pkg, constraint: row.direct_constraint ?? '', kind: 'direct', isBare: row.direct_source === '' }
      : { ...pkg, constraint: row.dev_constraint ?? '', kind: 'dev', isBare: row.dev_source === '' }
  })
}

const namedLike = (text: string | null | undefined) =>
  text ? [sql<SqlBool>`${columnsOf('package_dependents', 'package_dependents')('package_name')} like ${containing(text)} escape '!'`] : []

/** Counts the packages that `listDependents` returns. Batched per request. */
export async function countDependents(em: EntityManager, isAmong: Registries, name: string, text?: string | null): Promise<number> {
  const counted = db
    .selectFrom('dependent_counts')
    .select(({ fn }) => fn.sum<number | null>('dependents').as('total'))
    .where('name', '=', name)
    .where((row) => row.or([isAmong(row.ref('direct_source')), isAmong(row.ref('dev_source'))]))
  const named = db
    .selectFrom('package_dependents')
    .select(({ fn }) => fn.countAll<number>().as('total'))
    .where('name', '=', name)
    .where((row) => row.and(namedLike(text)))
    .where((row) => row.or([isAmong(row.ref('direct_source')), isAmong(row.ref('dev_source'))]))
    .$castTo<{ total: number | null }>()
  const [row] = await readEach(em, { query: text ? named : counted })
  return row?.total ?? 0
}

/**
 * Compares the stored dependents, their counts and the totals of packages with the versions they are derived from, and corrects differences. Triggers
 * keep them equal; differences remain after a move from SQLite, which disables triggers, and after the upgrade of one of several instances. Safe to
 * run at any time: it reads a few packages at a time, and a transaction locks only packages that it corrects.
 */
export async function repairCounts(database: Database): Promise<void> {
  for (let last = nilId; ;) {
    const page = db.selectFrom('packages').select('id as key').where('id', '>', last).orderBy('id').limit(25)
    const ids = await keysOf(database, page)
    if (ids.length === 0) break
    last = ids.at(-1) ?? ''
    for (const table of [storedDependents, storedRequirements, storedTotals]) await repair(database, table, [ids[0] ?? '', last])
  }
  for (let last = ''; ;) {
    const names = await keysOf(database, namesAfter(last))
    if (names.length === 0) break
    last = names.at(-1) ?? ''
    await repair(database, storedCounts, [names[0] ?? '', last])
  }
}

type Row = Record<string, unknown>
type DerivedTable = 'package_dependents' | 'package_requirements' | 'package_totals' | 'dependent_counts'

/** A derived table: its columns, the key of a repair, the query of the correct rows, and how to lock what they are derived from. */
type Derived = {
  table: DerivedTable
  columns: readonly string[]
  key: 'package_id' | 'name'
  rows: (isChosen: (key: Expression<string>) => Condition) => AliasableExpression<Row>
  lock: (em: EntityManager, keys: string[]) => Promise<unknown>
}

const withColumns = <Table extends DerivedTable>(table: Table, columns: readonly (keyof Tables[Table] & string)[]) => ({ table, columns })

const lockPackages = (em: EntityManager, ids: string[]) =>
  em.find(Package, { id: { $in: ids } }, { lockMode: LockMode.PESSIMISTIC_WRITE, orderBy: { id: 'asc' }, fields: ['id'] })

const source = eb.fn.coalesce(columnsOf('package_dependencies', 'd')('hosted_url'), sql.lit(''))

/** The versions of packages with their dependencies, without those on SDKs. */
const dependencies = db
  .selectFrom('packages as p')
  .innerJoin('package_versions as v', 'v.package_id', 'p.id')
  .innerJoin('package_dependencies as d', 'd.version_id', 'v.id')
  .where('d.sdk', 'is', null)

/** The greatest value of the dependencies of a kind. */
const ofKind = <Value>(kind: 'direct' | 'dev', value: Expression<Value>) =>
  eb.fn.max(eb.case(columnsOf('package_dependencies', 'd')('kind')).when(sql.lit(kind)).then(value).end())

const storedDependents: Derived = {
  ...withColumns('package_dependents', [
    'name',
    'package_name',
    'package_id',
    'version',
    'direct_constraint',
    'direct_source',
    'dev_constraint',
    'dev_source',
  ]),
  key: 'package_id',
  rows: (isChosen) =>
    dependencies
      .whereRef('v.version', '=', 'p.latest_version')
      .select(['d.name', 'p.name as package_name', 'p.id as package_id', 'v.version'])
      .select((row) => [
        ofKind('direct', row.ref('d.constraint')).as('direct_constraint'),
        row.fn.coalesce(ofKind('direct', source), sql.lit('-')).as('direct_source'),
        ofKind('dev', row.ref('d.constraint')).as('dev_constraint'),
        row.fn.coalesce(ofKind('dev', source), sql.lit('-')).as('dev_source'),
      ])
      .where((row) => isChosen(row.ref('p.id')))
      .groupBy(['d.name', 'p.name', 'p.id', 'v.version']),
  lock: lockPackages,
}

const storedRequirements: Derived = {
  ...withColumns('package_requirements', ['name', 'package_name', 'package_id', 'kind', 'source', 'constraint', 'is_public', 'versions']),
  key: 'package_id',
  rows: (isChosen) =>
    dependencies
      .select(['d.name', 'p.name as package_name', 'p.id as package_id', 'd.kind'])
      .select((row) => [source.as('source'), 'd.constraint', isPublic(row.ref('p.visibility')).as('is_public')])
      .select(({ fn }) => fn.countAll().as('versions'))
      .where((row) => isChosen(row.ref('p.id')))
      .groupBy(['d.name', 'p.name', 'p.id', 'd.kind', source, 'd.constraint', 'p.visibility']),
  lock: lockPackages,
}

const storedTotals: Derived = {
  ...withColumns('package_totals', ['package_id', 'name', 'versions', 'archive_bytes']),
  key: 'package_id',
  rows: (isChosen) =>
    db
      .selectFrom('packages as p')
      .innerJoin('package_versions as v', 'v.package_id', 'p.id')
      .select(['p.id as package_id', 'p.name'])
      .select(({ fn }) => [fn.countAll().as('versions'), fn.sum('v.archive_bytes').as('archive_bytes')])
      .where((row) => isChosen(row.ref('p.id')))
      .groupBy(['p.id', 'p.name']),
  lock: lockPackages,
}

const storedCounts: Derived = {
  ...withColumns('dependent_counts', ['name', 'direct_source', 'dev_source', 'dependents']),
  key: 'name',
  rows: (isChosen) =>
    db
      .selectFrom('package_dependents')
      .select(['name', 'direct_source', 'dev_source'])
      .select(({ fn }) => fn.countAll().as('dependents'))
      .where((row) => isChosen(row.ref('name')))
      .groupBy(['name', 'direct_source', 'dev_source']),
  // The lock of the trigger that changes the counts.
  lock: (em) => lockKey(em, 7_305_514_903),
}

const namesAfter = (last: string) => namesIn('package_dependents', last).union(namesIn('dependent_counts', last)).orderBy('key').limit(100)

function namesIn(table: 'package_dependents' | 'dependent_counts', last: string) {
  const names = db.selectFrom(table).select('name as key').distinct().where('name', '>', last).orderBy('name').limit(100)
  return db.selectFrom(names.as('names')).select('key')
}

const nilId = '00000000-0000-0000-0000-000000000000'

async function keysOf({ reads }: Pick<Database, 'reads'>, query: Query<{ key: string }>): Promise<string[]> {
  await nextTurn()
  return (await reads.all(query)).map(({ key }) => key)
}

/** `db` for the columns that `Derived` names. */
const derived = db as unknown as Kysely<Record<string, Row>>

/** Corrects the rows of a derived table with a key from `first` to `last`. */
async function repair(database: Database, { table, columns, key, rows, lock }: Derived, [first, last]: [string, string]): Promise<void> {
  const stored = derived
    .selectFrom(table)
    .select(columns)
    .where((row) => row.between(key, first, last))
  const right = rows((one) => eb.between(one, first, last))
  const removed = derived.selectFrom(stored.as('s')).selectAll().except(right)
  const added = derived.selectFrom(right.as('r')).selectAll().except(stored)
  const keyOf = (differences: AliasableExpression<Row>, alias: string) => derived.selectFrom(differences.as(alias)).select(`${key} as key`)
  const wrong = await keysOf(database, keyOf(removed, 'a').union(keyOf(added, 'b')).$castTo<{ key: string }>())
  if (wrong.length === 0) return
  await database.fork().transactional(async (em) => {
    await lock(em, wrong)
    await changeRows(em, derived.deleteFrom(table).where(key, 'in', wrong))
    const correct = rows((one) => eb(one, 'in', wrong))
    await changeRows(em, derived.insertInto(table).columns(columns).expression(correct))
  })
}
