import { type Expression, expressionBuilder, type InferResult, sql, type SqlBool } from 'kysely'
import { columnsOf, db, type Tables } from '../../../platform/db/query.ts'
import { containing } from '../../../platform/db/statements.ts'
import { pageByKey, type Sort } from '../../../platform/graphql/connections.ts'
import { isPackageName } from '../../../platform/pub/package-name.ts'
import type { Services } from '../../../services.ts'
import type { Condition } from '../conditions.ts'
import type { Visibility } from '../entity.ts'

/** A package with the number and total size of its archives. `position` is its sort value in the requested order. */
export type ManagedPackage = {
  packageId: string
  name: string
  publisherId: string | null
  versionCount: number
  archiveBytes: number
  position: number
}

export type ManagedOrder = 'name' | 'size' | 'versions' | 'updated'
type Page = { first?: number | null | undefined; after?: string | null | undefined; offset?: number | null | undefined }
export type ManagedFilter = {
  query?: string | null | undefined
  visibility?: Visibility | null | undefined
  isDiscontinued?: boolean | null | undefined
  /** Whether the package has a publisher, or an uploader whose account is enabled. */
  hasOwner?: boolean | null | undefined
  /** Whether the search index has a score of the latest version. */
  isAnalyzed?: boolean | null | undefined
}

/** Returns packages as a connection. Reads the rows of the page in its order, and their stored totals. Runs one statement per page. */
export function listManaged(
  { database: { reads } }: Pick<Services, 'database'>,
  filter: ManagedFilter,
  sort: Sort<ManagedOrder>,
  page: Page,
) {
  const positionOf = sort.by === 'name' ? () => 0 : orders[sort.by].positionOf
  return pageByKey(page, {
    keyOf: (row: ManagedPackage) => `${row.position} ${row.name}`,
    isKey: (key) => parseCursor(key) !== null,
    load: async (limit, after) => {
      const from = after === undefined ? null : parseCursor(after)
      const query = sorted(selectManaged(), sort).where(isMatching(filter))
      const rows = await reads.all((from ? query.where(isBeyond(sort, from)) : query).limit(limit).offset(page.offset ?? 0))
      return rows.map((row) => ({ ...row, position: positionOf(row) }))
    },
    count: async () => {
      const all = db.selectFrom('packages as p').select(({ fn }) => fn.countAll<number>().as('total'))
      return (await reads.get(all.where(isMatching(filter))))?.total ?? 0
    },
  })
}

const eb = expressionBuilder<Tables>()
const [p, t] = [columnsOf('packages', 'p'), columnsOf('package_totals', 't')]

const selectManaged = () =>
  db
    .selectFrom('package_totals as t')
    .innerJoin('packages as p', 'p.id', 't.package_id')
    .select(['p.id as packageId', 'p.name', 'p.publisher_id as publisherId', 'p.updated_at as updatedAt'])
    .select(['t.versions as versionCount', 't.archive_bytes as archiveBytes'])

type Selected = ReturnType<typeof selectManaged>

function isMatching({ query, visibility, isDiscontinued, hasOwner, isAnalyzed }: ManagedFilter): Condition {
  const all: Condition[] = []
  if (query) all.push(sql<SqlBool>`${p('name')} like ${containing(query)} escape '!'`)
  if (visibility) all.push(eb(p('visibility'), '=', visibility))
  if (isDiscontinued != null) all.push(only(isDiscontinued, sql<SqlBool>`${p('is_discontinued')}`))
  if (hasOwner != null) all.push(only(hasOwner, eb.or([eb(p('publisher_id'), 'is not', null), hasActiveUploader])))
  if (isAnalyzed != null) all.push(eb(p('id'), isAnalyzed ? 'not in' : 'in', withoutScore))
  return eb.and(all)
}

const only = (isWanted: boolean, condition: Condition): Condition => (isWanted ? condition : eb.not(condition))

const hasActiveUploader = eb.exists(
  db
    .selectFrom('package_uploaders as u')
    .innerJoin('users as s', 's.id', 'u.user_id')
    .select(eb.lit(1).as('one'))
    .where('u.package_id', '=', p('id'))
    .where('s.is_active', '=', true),
)

/** Packages without a score, which the search index stores as -1. */
const withoutScore = db.selectFrom('package_search_documents').select('package_id').where('score', '=', eb.lit(-1))

type Operator = '<' | '<=' | '>' | '>='

/** An order by a value, and then by name. Indexes have these columns. */
type Order = {
  positionOf: (row: InferResult<Selected>[number]) => number
  column: Expression<unknown>
  /** Compares the column with the value of a position. */
  compare: (operator: Operator, position: number) => Condition
  name: Expression<string>
}

/** The latest time that a Date can have. */
const latestTime = 8.64e15

const orders: Record<Exclude<ManagedOrder, 'name'>, Order> = {
  size: {
    positionOf: (row) => row.archiveBytes,
    column: t('archive_bytes'),
    compare: (operator, bytes) => eb(t('archive_bytes'), operator, bytes),
    name: t('name'),
  },
  versions: {
    positionOf: (row) => row.versionCount,
    column: t('versions'),
    compare: (operator, count) => eb(t('versions'), operator, count),
    name: t('name'),
  },
  updated: {
    positionOf: (row) => row.updatedAt.getTime(),
    column: p('updated_at'),
    compare: (operator, position) => eb(p('updated_at'), operator, new Date(Math.min(position, latestTime))),
    name: p('name'),
  },
}

/** Sorts by a value and then by name in the opposite direction, as the indexes do. */
function sorted(query: Selected, { by, direction }: Sort<ManagedOrder>): Selected {
  if (by === 'name') return query.orderBy('p.name', direction)
  return query.orderBy(orders[by].column, direction).orderBy(orders[by].name, direction === 'asc' ? 'desc' : 'asc')
}

/** Returns the condition of the rows after a cursor. It names the column alone once, so that the index is read from the cursor on. */
function isBeyond({ by, direction }: Sort<ManagedOrder>, { position, name }: Cursor): Condition {
  const isAscending = direction === 'asc'
  if (by === 'name') return eb(p('name'), isAscending ? '>' : '<', name)
  const { compare, name: column } = orders[by]
  const isNameBeyond = eb(column, isAscending ? '<' : '>', name)
  return eb.and([compare(isAscending ? '>=' : '<=', position), eb.or([compare(isAscending ? '>' : '<', position), isNameBeyond])])
}

type Cursor = { position: number; name: string }

function parseCursor(key: string): Cursor | null {
  const [position = '', name = '', ...rest] = key.split(' ')
  return /^\d{1,16}$/.test(position) && isPackageName(name) && rest.length === 0 ? { position: Number(position), name } : null
}
