import { containing } from '../../../platform/db/statements.ts'
import { pageByKey } from '../../../platform/graphql/connections.ts'
import { isPackageName } from '../../../platform/pub/package-name.ts'
import type { Services } from '../../../services.ts'
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
export function listManaged({ database: { reads, backend } }: Pick<Services, 'database'>, filter: Filter, page: Page) {
  const { conditions, matching } = conditionsOf(filter)
  const { position, isAfter, order } = orders[filter.orderBy ?? 'name'](backend)
  return pageByKey(page, {
    keyOf: (row: ManagedPackage) => `${row.position} ${row.name}`,
    isKey: (key) => parseCursor(key) !== null,
    load: async (limit, after) => {
      const from = after === undefined ? null : parseCursor(after)
      const rows = await reads.all<Row>(
        `select p.id as "packageId", p.name, p.publisher_id as "publisherId", t.versions as "versionCount", t.archive_bytes as "archiveBytes",
           ${position} as "position"
         from package_totals t join packages p on p.id = t.package_id ${whereOf([...conditions, ...(from ? [isAfter] : [])])}
         order by ${order} limit ? offset ?`,
        ...matching,
        ...(from ? [from.position, from.position, from.name] : []),
        limit,
        page.offset ?? 0,
      )
      return rows.map(managed)
    },
    count: async () =>
      Number(
        (await reads.get<{ total: string | number }>(`select count(*) as total from packages p ${whereOf(conditions)}`, ...matching))
          ?.total,
      ),
  })
}

function conditionsOf({ query, visibility }: Filter): { conditions: string[]; matching: string[] } {
  const found: [string, string][] = []
  if (query) found.push([`p.name like ? escape '!'`, containing(query)])
  if (visibility) found.push(['p.visibility = ?', visibility])
  return { conditions: found.map(([condition]) => condition), matching: found.map(([, value]) => value) }
}

const whereOf = (conditions: string[]) => (conditions.length > 0 ? `where ${conditions.join(' and ')}` : '')

/**
 * An order: its sort value, the condition of the rows after a cursor (binds its value twice, and its name), and the SQL order, which indexes have. The
 * condition names the column alone once, so that the index is read from the cursor on.
 */
type Order = { position: string; isAfter: string; order: string }

const largestFirst = (column: string): Order => ({
  position: column,
  isAfter: `${column} <= ? and (${column} < ? or t.name > ?)`,
  order: `${column} desc, t.name`,
})

const orders: Record<ManagedOrder, (backend: Services['database']['backend']) => Order> = {
  name: () => ({ position: '0', isAfter: 'cast(? as integer) = cast(? as integer) and p.name > ?', order: 'p.name' }),
  size: () => largestFirst('t.archive_bytes'),
  versions: () => largestFirst('t.versions'),
  updated: (backend) => (backend === 'sqlite' ? byUpdate('p.updated_at', '?') : byUpdate(updatedMs, 'to_timestamp(? / 1000.0)')),
}

const updatedMs = 'floor(extract(epoch from p.updated_at) * 1000)::bigint'

const byUpdate = (position: string, time: string): Order => ({
  position,
  isAfter: `p.updated_at <= ${time} and (p.updated_at < ${time} or p.name > ?)`,
  order: 'p.updated_at desc, p.name',
})

function parseCursor(key: string): { position: number; name: string } | null {
  const [position = '', name = '', ...rest] = key.split(' ')
  return /^\d{1,16}$/.test(position) && isPackageName(name) && rest.length === 0 ? { position: Number(position), name } : null
}

// PostgreSQL returns sums and counts as strings.
type Row = Pick<ManagedPackage, 'packageId' | 'name' | 'publisherId'> &
  Record<'versionCount' | 'archiveBytes' | 'position', string | number>
const managed = ({ versionCount, archiveBytes, position, ...row }: Row): ManagedPackage => ({
  ...row,
  versionCount: Number(versionCount),
  archiveBytes: Number(archiveBytes),
  position: Number(position),
})
