import { expressionBuilder, type InferResult, sql, type SqlBool } from 'kysely'
import { columnsOf, db, type Tables } from '../../../platform/db/query.ts'
import { containing } from '../../../platform/db/statements.ts'
import { pageByKey } from '../../../platform/graphql/connections.ts'
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
type Filter = { query?: string | null | undefined; visibility?: Visibility | null | undefined; orderBy?: ManagedOrder | null | undefined }

/** Returns packages as a connection. Reads the rows of the page in its order, and their stored totals. Runs one statement per page. */
export function listManaged({ database: { reads } }: Pick<Services, 'database'>, { orderBy, ...filter }: Filter, page: Page) {
  const { positionOf, isAfter, by } = orders[orderBy ?? 'name']
  return pageByKey(page, {
    keyOf: (row: ManagedPackage) => `${row.position} ${row.name}`,
    isKey: (key) => parseCursor(key) !== null,
    load: async (limit, after) => {
      const from = after === undefined ? null : parseCursor(after)
      const rows = await reads.all(
        by(selectManaged())
          .where(isMatching(filter))
          .$if(from !== null, (query) => query.where(isAfter(from?.position ?? 0, from?.name ?? '')))
          .limit(limit)
          .offset(page.offset ?? 0),
      )
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

function isMatching({ query, visibility }: Filter): Condition {
  const ofName = query ? [sql<SqlBool>`${p('name')} like ${containing(query)} escape '!'`] : []
  return eb.and([...ofName, ...(visibility ? [eb(p('visibility'), '=', visibility)] : [])])
}

/**
 * An order: the sort value of a row, the condition of the rows after a cursor, and the order itself, which indexes have. The condition names the
 * column alone once, so that the index is read from the cursor on.
 */
type Order = {
  positionOf: (row: InferResult<Selected>[number]) => number
  isAfter: (position: number, name: string) => Condition
  by: (query: Selected) => Selected
}

const afterPlace = (value: (operator: '<' | '<=') => Condition, isNameAfter: Condition): Condition =>
  eb.and([value('<='), eb.or([value('<'), isNameAfter])])

/** The latest time that a Date can have. */
const latestTime = 8.64e15

const orders: Record<ManagedOrder, Order> = {
  name: { positionOf: () => 0, isAfter: (_position, name) => eb(p('name'), '>', name), by: (query) => query.orderBy('p.name') },
  size: {
    positionOf: (row) => row.archiveBytes,
    isAfter: (bytes, name) => afterPlace((operator) => eb(t('archive_bytes'), operator, bytes), eb(t('name'), '>', name)),
    by: (query) => query.orderBy('t.archive_bytes', 'desc').orderBy('t.name'),
  },
  versions: {
    positionOf: (row) => row.versionCount,
    isAfter: (versions, name) => afterPlace((operator) => eb(t('versions'), operator, versions), eb(t('name'), '>', name)),
    by: (query) => query.orderBy('t.versions', 'desc').orderBy('t.name'),
  },
  updated: {
    positionOf: (row) => row.updatedAt.getTime(),
    isAfter: (position, name) => {
      const time = new Date(Math.min(position, latestTime))
      return afterPlace((operator) => eb(p('updated_at'), operator, time), eb(p('name'), '>', name))
    },
    by: (query) => query.orderBy('p.updated_at', 'desc').orderBy('p.name'),
  },
}

function parseCursor(key: string): { position: number; name: string } | null {
  const [position = '', name = '', ...rest] = key.split(' ')
  return /^\d{1,16}$/.test(position) && isPackageName(name) && rest.length === 0 ? { position: Number(position), name } : null
}
