import { loadDownloads30d } from '../downloads/service.ts'
import { latestOf } from '../packages/versions/latest.ts'
import { findPackage } from '../packages/service.ts'
import type { Context } from '../access/context.ts'
import type { Services } from '../services.ts'
import type { Audience } from '../access/audience.ts'
import { hostedHere } from '../packages/hosted-here.ts'
import { isVersionSeenByAnybody } from '../packages/policy.ts'
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

/** Downloads of the last thirty days; null for a package that is not there, and for anybody but members, who alone see counts. */
export async function downloadsBadge(context: Context, audience: Audience, name: string): Promise<Badge | null> {
  const pkg = audience === 'members' ? await findPackage(context, name) : null
  if (!pkg) return null
  const count = (await loadDownloads30d(context, pkg.id)) ?? 0
  return { label: 'downloads', value: `${compact.format(count)}/month`, color: 'green' }
}

const compact = new Intl.NumberFormat('en', { notation: 'compact', maximumFractionDigits: 1 })

type Found = { latest: string; isDiscontinued: boolean }
type Row = { latest_version: string; is_discontinued: boolean | number }
type VersionRow = { version: string; retracted_at: unknown; is_discontinued: boolean | number }

async function find({ database, config }: Reader, audience: Audience, name: string): Promise<Found | null> {
  if (audience === 'members') {
    const row = await database.reads.recall<Row>('select latest_version, is_discontinued from packages where name = ?', name)
    return row ? { latest: row.latest_version, isDiscontinued: Boolean(row.is_discontinued) } : null
  }
  const rows = await database.reads.all<VersionRow>(
    `select v.version, v.retracted_at, p.is_discontinued from package_versions v join packages p on p.id = v.package_id where p.name = ? and ${isVersionSeenByAnybody}`,
    name,
    hostedHere(config),
  )
  const latest = latestOf(rows.map(({ version, retracted_at }) => ({ version, retracted: retracted_at !== null })))
  return latest && { latest: latest.version, isDiscontinued: Boolean(rows[0]?.is_discontinued) }
}
