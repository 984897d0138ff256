import type { Audience } from '../../platform/access/audience.ts'
import { hostedHere } from '../../registry/packages/hosting/hosted-here.ts'
import { isPublicVersion } from '../../registry/packages/policy.ts'
import { latestOf } from '../../registry/packages/versions/latest.ts'
import type { Services } from '../../services.ts'
import { docsColumns, docsRow, isAnalysisAwaited, type KnownDocs } from './service.ts'

type Reader = Pick<Services, 'database' | 'config'>

/** A version that the audience may read, its documentation, and whether it is waiting to be generated. */
export type FoundVersion = { version: string; docs: KnownDocs | null; isAwaited: boolean }

/**
 * Returns a version of a package, or the latest one, with its documentation. Returns null if the version does not exist or is hidden from the
 * audience.
 */
export async function findDocs(reader: Reader, audience: Audience, name: string, wanted: string): Promise<FoundVersion | null> {
  const { reads } = reader.database
  const version = wanted === 'latest' ? await latestVersion(reader, audience, name) : wanted
  if (version === null) return null
  const row = await (audience === 'members'
    ? reads.get(docsSql, name, version)
    : reads.get(`${docsSql} and ${isPublicVersion}`, name, version, hostedHere(reader.config)))
  if (!row) return null
  return { version, docs: row.state === null ? null : docsRow.parse(row), isAwaited: Boolean(row.awaited) }
}

const docsSql = `select ${docsColumns}, ${isAnalysisAwaited} as awaited from package_versions v join packages p on p.id = v.package_id
  left join version_docs d on d.version_id = v.id where p.name = ? and v.version = ?`

/** Returns the latest version that the audience may read. */
async function latestVersion({ database: { reads }, config }: Reader, audience: Audience, name: string): Promise<string | null> {
  if (audience === 'members')
    return (await reads.recall<{ version: string }>('select latest_version as version from packages where name = ?', name))?.version ?? null
  const rows = await reads.all<{ version: string; retracted_at: unknown }>(
    `select v.version, v.retracted_at from package_versions v join packages p on p.id = v.package_id where p.name = ? and ${isPublicVersion}`,
    name,
    hostedHere(config),
  )
  return latestOf(rows.map(({ version, retracted_at }) => ({ version, retracted: retracted_at !== null })))?.version ?? null
}
