import { toDate } from '../../platform/db/reads.ts'
import type { Visibility } from '../packages/entity.ts'

/** The package to publish into, and whether the version number is already published or deleted there. */
export type Target = {
  id: string
  name: string
  publisher: { id: string } | null
  isPublic: boolean
  latestVersion: string
  latestIsRetracted: boolean
  latestPrerelease: string | null
  advisoriesUpdated: Date | null
  /** SHA-256 of the existing version's archive; null if the version does not exist. */
  publishedSha256: string | null
  isDeleted: boolean
}

/** Returns the first row of a query. */
type ReadRow = (sql: string, values: string[]) => Promise<object | undefined>

/** Returns the package with this name, or null. */
export async function findTarget(readRow: ReadRow, { name, version }: { name: string; version: string }): Promise<Target | null> {
  const row = (await readRow(select, [version, version, name])) as Row | undefined
  if (!row) return null
  return {
    id: row.id,
    name,
    publisher: row.publisher_id === null ? null : { id: row.publisher_id },
    isPublic: row.visibility === 'public',
    latestVersion: row.latest_version,
    latestIsRetracted: Boolean(row.latest_is_retracted),
    latestPrerelease: row.latest_prerelease,
    advisoriesUpdated: row.advisories_updated === null ? null : toDate(row.advisories_updated),
    publishedSha256: row.published_sha256,
    isDeleted: Boolean(row.is_deleted),
  }
}

type Row = {
  id: string
  publisher_id: string | null
  visibility: Visibility
  latest_version: string
  latest_is_retracted: boolean | number
  latest_prerelease: string | null
  advisories_updated: number | string | Date | null
  published_sha256: string | null
  is_deleted: boolean | number
}

const select = `select p.id, p.publisher_id, p.visibility, p.latest_version, p.latest_prerelease, p.advisories_updated,
    not exists (select 1 from package_versions l
      where l.package_id = p.id and l.version = p.latest_version and l.retracted_at is null) as latest_is_retracted,
    (select v.archive_sha256 from package_versions v where v.package_id = p.id and v.version = ?) as published_sha256,
    exists (select 1 from deleted_versions d where d.package_name = p.name and d.version = ?) as is_deleted
  from packages p where p.name = ?`
