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

/** Returns packages as a connection, one statement per page. Sorted by name, total size, version count or last change. */
export function listManaged({ database: { reads, backend } }: Pick<Services, 'database'>, filter: Filter, page: Page) {
  const { where, matching } = conditionsOf(filter)
  const position = positions[filter.orderBy ?? 'name'](backend)
  return pageByKey(page, {
    keyOf: (row: ManagedPackage) => `${row.position} ${row.name}`,
    isKey: (key) => parseCursor(key) !== null,
    load: async (limit, after) => {
      const from = after === undefined ? null : parseCursor(after)
      const rows = await reads.all<Row>(
        `select p.id as "packageId", p.name, p.publisher_id as "publisherId", count(v.id) as "versionCount", coalesce(sum(v.archive_bytes), 0) as "archiveBytes", ${position} as "position"
         from packages p left join package_versions v on v.package_id = p.id ${where} group by p.id
         ${from === null ? '' : `having ${position} < ? or (${position} = ? and p.name > ?)`}
         order by "position" desc, p.name limit ? offset ?`,
        ...matching,
        ...(from === null ? [] : [from.position, from.position, from.name]),
        limit,
        page.offset ?? 0,
      )
      return rows.map(managed)
    },
    count: async () =>
      Number((await reads.get<{ total: string | number }>(`select count(*) as total from packages p ${where}`, ...matching))?.total),
  })
}

function conditionsOf({ query, visibility }: Filter): { where: string; matching: string[] } {
  const conditions: [string, string][] = []
  if (query) conditions.push([`p.name like ? escape '!'`, containing(query)])
  if (visibility) conditions.push(['p.visibility = ?', visibility])
  const where = conditions.length > 0 ? `where ${conditions.map(([condition]) => condition).join(' and ')}` : ''
  return { where, matching: conditions.map(([, value]) => value) }
}

/** SQL sort value by order, descending. Packages with equal values are sorted by name. */
const positions: Record<ManagedOrder, (backend: Services['database']['backend']) => string> = {
  name: () => 'max(0)',
  size: () => 'coalesce(sum(v.archive_bytes), 0)',
  versions: () => 'count(v.id)',
  updated: (backend) => (backend === 'sqlite' ? 'max(p.updated_at)' : 'max(floor(extract(epoch from p.updated_at) * 1000)::bigint)'),
}

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
