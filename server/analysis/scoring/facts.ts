import { createWriteStream } from 'node:fs'
import { pipeline } from 'node:stream/promises'
import { otherSdksOf, type Pubspec } from '../../registry/archive/pubspec.ts'
import type { DependencyFacts, PackageFacts } from '../report/task.ts'
import { toDate } from '../../platform/db/reads.ts'
import { untilAborted } from '../../platform/jobs/handler.ts'
import type { Visibility } from '../../registry/packages/entity.ts'
import { hostedHere, isHostedHere } from '../../registry/packages/hosting.ts'
import { isPublicVersion, isPublicPackage } from '../../registry/packages/policy.ts'
import { storedPubspec } from '../../registry/packages/versions/pubspec.ts'
import { readySdk } from '../sdks/ready.ts'
import type { Services } from '../../services.ts'

type Reader = Pick<Services, 'config' | 'database' | 'now'>

/** A version, with facts that its archive does not contain. */
export type Subject = { packageId: string; archiveSha256: string; facts: PackageFacts }

/** Maximum number of versions per dependency, highest first. */
const maxVersions = 500

/** Returns what the registry knows about a version, or null if it was deleted. */
export async function readFacts(reader: Reader, versionId: string): Promise<Subject | null> {
  const { config, database, now } = reader
  const row = await database.reads.get<Row>(
    `select p.id as package_id, p.name, p.visibility, v.version, v.archive_sha256, ${isPublicVersion} as is_public
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
      dependencies: await readDependencies(reader, versionId, row.visibility === 'public'),
      packages: await readTransitivePackages(reader, versionId, row.visibility === 'public'),
      dart: dart?.dartVersion ?? flutter?.dartVersion ?? null,
      now: now().toISOString(),
    },
  }
}

type Row = {
  package_id: string
  name: string
  visibility: Visibility
  version: string
  archive_sha256: string
  is_public: boolean | number
}

/**
 * Returns the direct dependencies that this registry hosts. Dependencies without a registry URL are included, because this server may be the client's
 * default registry. For a public package, only publicly visible dependencies are returned.
 */
async function readDependencies(
  { config, database }: Reader,
  versionId: string,
  publicOnly: boolean,
): Promise<Record<string, DependencyFacts>> {
  const here = hostedHere(config)
  const [isShown, isVersionShown, isReplacementShown] = publicOnly
    ? [isPublicPackage('p'), isPublicVersion, isPublicPackage('r')]
    : ['true', 'true', 'true']
  const rows = await database.reads.all<DependencyRow>(
    `select * from (
       select p.name, p.is_discontinued, r.name as replaced_by, v.version, v.created_at,
         row_number() over (partition by p.id order by v.sort_key desc) as place
       from package_dependencies n join packages p on p.name = n.name
       left join package_versions v on v.package_id = p.id and v.retracted_at is null and ${isVersionShown}
       left join packages r on r.name = p.replaced_by and ${isReplacementShown}
       where n.version_id = ? and n.kind = 'direct' and n.sdk is null and (n.hosted_url is null or ${isHostedHere('n.hosted_url')})
         and ${isShown}
     ) known where place <= ${maxVersions}`,
    ...(publicOnly ? [here] : []),
    versionId,
    here,
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

/** SQL: the dependency `d` is on this server, which may also be the default registry of clients. Parameter: the server's registry URL. */
export const isDependencyHere = `d.sdk is null and (d.hosted_url is null or ${isHostedHere('d.hosted_url')})`

/** Maximum number of transitive packages, and the maximum total bytes of their API surfaces. Packages beyond these limits count as unknown. */
const [maxPackages, maxBytes] = [500, 32 * 1024 ** 2]

/** Returns the latest versions of all dependencies in this registry, direct or not; for a public package, only publicly visible ones. */
async function readTransitivePackages(
  { config, database }: Reader,
  versionId: string,
  publicOnly: boolean,
): Promise<PackageFacts['packages']> {
  const here = hostedHere(config)
  const isShown = publicOnly ? isPublicVersion : 'true'
  const shownTo = publicOnly ? [here] : []
  const rows = await database.reads.all<{ name: string; pubspec: string; surface: Buffer | null }>(
    `with recursive needed(name) as (
       select d.name from package_dependencies d where d.version_id = ? and d.kind = 'direct' and ${isDependencyHere}
       union
       select d.name from needed n join packages p on p.name = n.name
         join package_versions v on v.package_id = p.id and v.version = p.latest_version
         join package_dependencies d on d.version_id = v.id and d.kind = 'direct' and ${isDependencyHere}
       where ${isShown}
     )
     select p.name, v.pubspec, s.surface from needed n join packages p on p.name = n.name
       join package_versions v on v.package_id = p.id and v.version = p.latest_version
       left join version_surfaces s on s.version_id = v.id
     where ${isShown} order by p.name limit ${maxPackages}`,
    versionId,
    here,
    here,
    ...shownTo,
    ...shownTo,
  )
  const packages: PackageFacts['packages'] = {}
  let bytes = 0
  for (const { name, pubspec, surface } of rows) {
    bytes += surface?.length ?? 0
    packages[name] = {
      ...requirementsOf(storedPubspec(pubspec)),
      surface: surface === null || bytes > maxBytes ? null : Buffer.from(surface),
    }
  }
  return packages
}

const requirementsOf = (pubspec: Pubspec): Omit<PackageFacts['packages'][string], 'surface'> => ({
  sdks: otherSdksOf(pubspec),
  platforms: pubspec.platforms.length > 0 ? pubspec.platforms : pubspec.pluginPlatforms,
  dependencies: pubspec.dependencies.flatMap(({ kind, name }) => (kind === 'direct' ? [name] : [])),
})

/**
 * Returns the public API of the previous version, or null if the report must not show it. A comparison names what was removed, so everyone who can
 * read this version must be allowed to read the previous one. That is certain if this version has all dependencies of the previous one in this registry.
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

type WantedArchive = { sha256: string; path: string; signal: AbortSignal }

/** Copies a stored archive to a file. Aborts waiting for an unresponsive store when `signal` is aborted. @throws the reason of `signal`. */
export const fetchArchive = ({ blobs }: Pick<Services, 'blobs'>, { sha256, path, signal }: WantedArchive): Promise<void> =>
  untilAborted(signal, async () => pipeline(await blobs.open(sha256), createWriteStream(path), { signal }))
