import { type Expression, sql } from 'kysely'
import { createWriteStream } from 'node:fs'
import { pipeline } from 'node:stream/promises'
import { otherSdksOf, type Pubspec } from '../../registry/archive/pubspec.ts'
import type { DependencyFacts, PackageFacts } from '../report/task.ts'
import { db } from '../../platform/db/query.ts'
import { untilAborted } from '../../platform/jobs/handler.ts'
import { isDependencyHere, isOwnAddress, isPublic, isVersionPublic } from '../../registry/packages/conditions.ts'
import { hostedHere } from '../../registry/packages/hosting.ts'
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
  const row = await database.reads.get(
    db
      .selectFrom('package_versions as v')
      .innerJoin('packages as p', 'p.id', 'v.package_id')
      .select(['p.id as package_id', 'p.name', 'p.visibility', 'v.version', 'v.archive_sha256'])
      .select((eb) => eb.and([isVersionPublic(eb.ref('p.visibility'), eb.ref('v.id'), hostedHere(config))]).as('is_public'))
      .where('v.id', '=', versionId),
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
  const known = db
    .selectFrom('package_dependencies as n')
    .innerJoin('packages as p', 'p.name', 'n.name')
    .leftJoin('package_versions as v', (join) =>
      join
        .onRef('v.package_id', '=', 'p.id')
        .on('v.retracted_at', 'is', null)
        .on((eb) => (publicOnly ? isVersionPublic(eb.ref('p.visibility'), eb.ref('v.id'), here) : eb.lit(true))),
    )
    .leftJoin('packages as r', (join) =>
      join.onRef('r.name', '=', 'p.replaced_by').on((eb) => (publicOnly ? isPublic(eb.ref('r.visibility')) : eb.lit(true))),
    )
    .select(['p.name', 'p.is_discontinued', 'r.name as replaced_by', 'v.version', 'v.created_at'])
    .select((eb) => sql<number>`row_number() over (partition by ${eb.ref('p.id')} order by ${eb.ref('v.sort_key')} desc)`.as('place'))
    .where('n.version_id', '=', versionId)
    .where('n.kind', '=', 'direct')
    .where((eb) => isDependencyHere({ sdk: eb.ref('n.sdk'), url: eb.ref('n.hosted_url') }, here))
    .where((eb) => (publicOnly ? isPublic(eb.ref('p.visibility')) : eb.lit(true)))
  const rows = await database.reads.all(db.selectFrom(known.as('known')).selectAll().where('place', '<=', maxVersions))
  const facts: Record<string, DependencyFacts> = {}
  for (const { name, is_discontinued, replaced_by, version, created_at } of rows) {
    const known = (facts[name] ??= { versions: [], isDiscontinued: is_discontinued, replacedBy: replaced_by })
    if (version !== null && created_at !== null) known.versions.push({ version, publishedAt: created_at.toISOString() })
  }
  return facts
}

/** Maximum number of transitive packages, and the maximum total bytes of their API surfaces. Packages beyond these limits count as unknown. */
const [maxPackages, maxBytes] = [500, 32 * 1024 ** 2]

/** Returns the latest versions of all dependencies in this registry, direct or not; for a public package, only publicly visible ones. */
async function readTransitivePackages(
  { config, database }: Reader,
  versionId: string,
  publicOnly: boolean,
): Promise<PackageFacts['packages']> {
  const here = hostedHere(config)
  const rows = await database.reads.all(
    withNeeded(versionId, here, publicOnly)
      .selectFrom('needed as n')
      .innerJoin('packages as p', 'p.name', 'n.name')
      .innerJoin('package_versions as v', (join) => join.onRef('v.package_id', '=', 'p.id').onRef('v.version', '=', 'p.latest_version'))
      .leftJoin('version_surfaces as s', 's.version_id', 'v.id')
      .select(['p.name', 'v.pubspec', 's.surface'])
      .where((eb) => (publicOnly ? isVersionPublic(eb.ref('p.visibility'), eb.ref('v.id'), here) : eb.lit(true)))
      .orderBy('p.name')
      .limit(maxPackages),
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

/** Begins a query of `needed`: the dependencies of a version, direct or not. */
const withNeeded = (versionId: string, here: string, publicOnly: boolean) =>
  db.withRecursive('needed(name)', (query) =>
    query
      .selectFrom('package_dependencies as d')
      .select('d.name')
      .where('d.version_id', '=', versionId)
      .where('d.kind', '=', 'direct')
      .where((eb) => isDependencyHere({ sdk: eb.ref('d.sdk'), url: eb.ref('d.hosted_url') }, here))
      .union(
        query
          .selectFrom('needed as n')
          .innerJoin('packages as p', 'p.name', 'n.name')
          .innerJoin('package_versions as v', (join) => join.onRef('v.package_id', '=', 'p.id').onRef('v.version', '=', 'p.latest_version'))
          .innerJoin('package_dependencies as d', 'd.version_id', 'v.id')
          .select('d.name')
          .where('d.kind', '=', 'direct')
          .where((eb) => isDependencyHere({ sdk: eb.ref('d.sdk'), url: eb.ref('d.hosted_url') }, here))
          .where((eb) => (publicOnly ? isVersionPublic(eb.ref('p.visibility'), eb.ref('v.id'), here) : eb.lit(true))),
      ),
  )

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
  const here = hostedHere(config)
  const row = await database.reads.get(
    db
      .selectFrom('package_versions as v')
      .innerJoin('package_versions as e', (join) => join.onRef('e.package_id', '=', 'v.package_id').onRef('e.sort_key', '<', 'v.sort_key'))
      .innerJoin('version_surfaces as s', 's.version_id', 'e.id')
      .select(['e.version', 's.surface'])
      .where('v.id', '=', versionId)
      .where('e.retracted_at', 'is', null)
      .where((eb) => eb.or([eb.ref('v.is_prerelease'), eb.not(eb.ref('e.is_prerelease'))]))
      .where((eb) => eb.not(eb.exists(dependenciesLostSince(eb.ref('e.id'), eb.ref('v.id'), here))))
      .orderBy('e.sort_key', 'desc')
      .limit(1),
  )
  return row ? { version: row.version, surface: Buffer.from(row.surface) } : null
}

/** Selects the dependencies on packages of this server that an earlier version has and a later one has not. */
const dependenciesLostSince = (earlierId: Expression<string>, laterId: Expression<string>, here: string) =>
  db
    .selectFrom('package_dependencies as d')
    .select('d.name')
    .where('d.version_id', '=', earlierId)
    .where('d.kind', '=', 'direct')
    .where((eb) => isOwnAddress(eb.ref('d.hosted_url'), here))
    .where((eb) =>
      eb.not(
        eb.exists(
          eb
            .selectFrom('package_dependencies as o')
            .select('o.name')
            .where('o.version_id', '=', laterId)
            .where('o.kind', '=', 'direct')
            .whereRef('o.name', '=', 'd.name')
            .whereRef('o.hosted_url', '=', 'd.hosted_url'),
        ),
      ),
    )

type WantedArchive = { sha256: string; path: string; signal: AbortSignal }

/** Copies a stored archive to a file. Aborts waiting for an unresponsive store when `signal` is aborted. @throws the reason of `signal`. */
export const copyArchive = ({ blobs }: Pick<Services, 'blobs'>, { sha256, path, signal }: WantedArchive): Promise<void> =>
  untilAborted(signal, async () => pipeline(await blobs.open(sha256), createWriteStream(path), { signal }))
