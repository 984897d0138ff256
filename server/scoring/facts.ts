import type { DependencyFacts, PackageFacts } from '../analysis/task.ts'
import { type Parameter, toDate } from '../db/reads.ts'
import { hostedHere, isHostedHere } from '../packages/hosted-here.ts'
import { isVersionSeenByAnybody } from '../packages/policy.ts'
import { readySdk } from '../sdks/ready.ts'
import type { Services } from '../services.ts'

type Reader = Pick<Services, 'config' | 'database' | 'now'>

/** A version, and what its archive does not say of it. */
export type Subject = { packageId: string; archiveSha256: string; facts: PackageFacts }

/** Of a dependency, so many of its versions are looked at: the highest. */
const maxVersions = 500

/** What the registry knows of a version; null when it is gone. */
export async function readFacts(reader: Reader, versionId: string): Promise<Subject | null> {
  const { config, database, now } = reader
  const row = await database.reads.get<Row>(
    `select p.id as package_id, p.name, v.version, v.archive_sha256, ${isVersionSeenByAnybody} as is_public
     from package_versions v join packages p on p.id = v.package_id where v.id = ?`,
    hostedHere(config),
    versionId,
  )
  if (!row) return null
  const [dart, flutter] = await Promise.all([readySdk(reader, 'dart'), readySdk(reader, 'flutter')])
  return {
    packageId: row.package_id,
    archiveSha256: row.archive_sha256,
    facts: {
      name: row.name,
      version: row.version,
      isPrivate: !row.is_public,
      dependencies: await readDependencies(reader, versionId),
      dart: dart?.dartVersion ?? flutter?.dartVersion ?? null,
      now: now().toISOString(),
    },
  }
}

type Row = { package_id: string; name: string; version: string; archive_sha256: string; is_public: boolean | number }

/**
 * The direct dependencies that this registry has. One that names no registry counts, as where the client's default registry is this one; a private
 * package of a public version is nobody's business.
 */
async function readDependencies({ config, database }: Reader, versionId: string): Promise<Record<string, DependencyFacts>> {
  const rows = await database.reads.all<DependencyRow>(
    `select * from (
       select q.name, q.is_discontinued, q.replaced_by, w.version, w.created_at,
         row_number() over (partition by q.id order by w.sort_key desc) as place
       from package_dependencies d join packages q on q.name = d.name
       left join package_versions w on w.package_id = q.id and w.retracted_at is null
       where d.version_id = ? and d.kind = 'direct' and d.sdk is null and (d.hosted_url is null or ${isHostedHere('d.hosted_url')})
         and (q.visibility = 'public' or not exists (
           select 1 from package_versions o join packages p on p.id = o.package_id where o.id = d.version_id and p.visibility = 'public'))
     ) known where place <= ${maxVersions}`,
    ...([versionId, hostedHere(config)] satisfies Parameter[]),
  )
  const facts: Record<string, DependencyFacts> = {}
  for (const { name, is_discontinued, replaced_by, version, created_at } of rows) {
    const known = (facts[name] ??= { versions: [], isDiscontinued: Boolean(is_discontinued), replacedBy: replaced_by })
    if (version !== null && created_at !== null) known.versions.push({ version, publishedAt: toDate(created_at).toISOString() })
  }
  return facts
}

type DependencyRow = {
  name: string
  is_discontinued: boolean | number
  replaced_by: string | null
  version: string | null
  created_at: number | string | null
}

/**
 * The public API of the version before this one, to compare with. Its report shows what was removed, so whoever may read this version must be
 * allowed to read that one: it depends on no package of this registry that this one does not depend on.
 */
export async function readEarlier({ config, database }: Reader, versionId: string): Promise<{ version: string; surface: Buffer } | null> {
  const row = await database.reads.get<{ version: string; surface: Buffer }>(
    `select e.version, s.surface from package_versions v
     join package_versions e on e.package_id = v.package_id and e.sort_key < v.sort_key and (v.is_prerelease or not e.is_prerelease)
     join version_surfaces s on s.version_id = e.id
     where v.id = ? and e.retracted_at is null and not exists (
       select 1 from package_dependencies d where d.version_id = e.id and d.kind = 'direct' and ${isHostedHere('d.hosted_url')}
         and not exists (select 1 from package_dependencies o where o.version_id = v.id and o.kind = 'direct' and o.name = d.name and o.hosted_url = d.hosted_url))
     order by e.sort_key desc limit 1`,
    versionId,
    hostedHere(config),
  )
  return row ? { version: row.version, surface: Buffer.from(row.surface) } : null
}
