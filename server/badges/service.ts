import { latestOf } from '../packages/latest.ts'
import type { Services } from '../services.ts'
import type { Audience } from '../visibility/audience.ts'
import { hostedHere, readableByAnybody } from '../visibility/readable.ts'
import type { Badge } from './svg.ts'

type Reader = Pick<Services, 'database' | 'config'>

/** The latest version, under the package's name; null for a package that is not there for this audience. */
export async function versionBadge(reader: Reader, audience: Audience, name: string): Promise<Badge | null> {
  const found = await find(reader, audience, name)
  if (!found) return null
  return found.isDiscontinued
    ? { label: name, value: 'discontinued', color: 'red' }
    : { label: name, value: `v${found.latest}`, color: 'blue' }
}

/** The score, which says honestly that there is none; null for a package that is not there for this audience. */
export async function scoreBadge(reader: Reader, audience: Audience, name: string): Promise<Badge | null> {
  return (await find(reader, audience, name)) ? { label: 'score', value: 'not analyzed', color: 'gray' } : null
}

type Found = { latest: string; isDiscontinued: boolean }
type Row = { latest_version: string; is_discontinued: boolean | number }
type VersionRow = { version: string; retracted_at: unknown; is_discontinued: boolean | number }

async function find({ database, config }: Reader, audience: Audience, name: string): Promise<Found | null> {
  if (audience === 'members') {
    const row = await database.reads.recall<Row>('select latest_version, is_discontinued from packages where name = ?', name)
    return row ? { latest: row.latest_version, isDiscontinued: Boolean(row.is_discontinued) } : null
  }
  const rows = await database.reads.all<VersionRow>(
    `select v.version, v.retracted_at, p.is_discontinued from package_versions v join packages p on p.id = v.package_id where p.name = ? and ${readableByAnybody}`,
    name,
    hostedHere(config),
  )
  const latest = latestOf(rows.map(({ version, retracted_at }) => ({ version, retracted: retracted_at !== null })))
  return latest && { latest: latest.version, isDiscontinued: Boolean(rows[0]?.is_discontinued) }
}
