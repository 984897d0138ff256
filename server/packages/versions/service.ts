import type { FilterQuery } from '@mikro-orm/core'
import { audienceOf } from '../../access/audience.ts'
import type { Context } from '../../access/context.ts'
import { batched } from '../../db/batched.ts'
import { toDate } from '../../db/reads/reads.ts'
import { loadWithheld, withoutNames } from '../visibility/withheld.ts'
import { Package, PackageVersion } from '../entity.ts'
import { seenBy } from '../policy.ts'
import { latestOf, latestPrereleaseOf } from './latest.ts'
import { pubspecOf } from './pubspec.ts'
import type { Dependency } from '../../archive/dependencies.ts'
import { versionsLike } from './filter.ts'

type Reader = Pick<Context, 'em' | 'viewer' | 'config'>
type Page = { limit: number; after?: string | undefined }

/** One version, or null when it is not there for whoever asks. */
export async function findVersion(reader: Reader, pkg: Package, version: string): Promise<PackageVersion | null> {
  return unlessWithheld(reader, await loadVersion(reader, `${pkg.id} ${version}`))
}

/** A version by id, or null when it is not there for whoever asks. */
export async function findVersionById(reader: Reader, id: string): Promise<PackageVersion | null> {
  const audience = audienceOf(reader)
  const seen = audience === 'members' ? {} : { package: seenBy(audience) }
  return unlessWithheld(reader, await reader.em.findOne(PackageVersion, { id, ...seen }))
}

/** Which versions to show, and in which order. */
export type VersionChoice = {
  /** As `versionsLike` reads it. */
  filter?: string | null | undefined
  /** The lowest first, instead of the highest. */
  ascending?: boolean
}

/**
 * Versions from the highest down, or up; `after` is the sort key of the last one of the page before.
 * @throws ApiError InvalidInput for a filter that is none.
 */
export async function listVersions(
  reader: Reader,
  pkg: Package,
  { filter, ascending }: VersionChoice,
  { limit, after }: Page,
): Promise<PackageVersion[]> {
  return reader.em.find(
    PackageVersion,
    { $and: [await versionsOf(reader, pkg, filter), after === undefined ? {} : { sortKey: { [ascending ? '$gt' : '$lt']: after } }] },
    { orderBy: { sortKey: ascending ? 'asc' : 'desc' }, limit },
  )
}

export const countVersions = async (reader: Reader, pkg: Package, { filter }: VersionChoice): Promise<number> =>
  reader.em.count(PackageVersion, await versionsOf(reader, pkg, filter))

/** The numbers of all versions that whoever asks may know, and of those that are withheld. */
export async function versionNumbers(reader: Reader, pkg: Package): Promise<Record<'readable' | 'withheld', string[]>> {
  const all = (await loadCandidates(reader, pkg.id)) ?? []
  const { versions: withheld } = await loadWithheld(reader, pkg.id)
  const numbers = (rows: typeof all) => rows.map(({ version }) => version)
  return { readable: numbers(all.filter(({ id }) => !withheld.has(id))), withheld: numbers(all.filter(({ id }) => withheld.has(id))) }
}

/** Returns the version that new users get; null when the caller may read none, or all are retracted. */
export async function latestVersion(reader: Reader, pkg: Package): Promise<PackageVersion | null> {
  const version = await displayedVersion(reader, pkg)
  return version?.retractedAt === null ? version : null
}

/** Returns the version that pages show: the latest, or the highest one when all are retracted. Null when the caller may read none. */
export async function displayedVersion(reader: Reader, pkg: Package): Promise<PackageVersion | null> {
  const { latest } = await pointersOf(reader, pkg)
  return latest === null ? null : loadVersion(reader, `${pkg.id} ${latest}`)
}

/** The highest pre-release, when it is above the latest stable version. */
export async function latestPrerelease(reader: Reader, pkg: Package): Promise<PackageVersion | null> {
  const { prerelease } = await pointersOf(reader, pkg)
  return prerelease === null ? null : loadVersion(reader, `${pkg.id} ${prerelease}`)
}

/** What the latest version says it is for. */
export async function descriptionOf(reader: Reader, pkg: Package): Promise<string> {
  const { latest } = await pointersOf(reader, pkg)
  if (latest === null || latest === pkg.latestVersion) return latest === null ? '' : pkg.description
  const version = await loadVersion(reader, `${pkg.id} ${latest}`)
  return (version && pubspecOf(version).description) ?? ''
}

/** When it was made and last changed, by the versions that whoever asks may know: others may only be told of those. */
export async function momentsOf(reader: Reader, pkg: Package): Promise<{ createdAt: Date; updatedAt: Date }> {
  const { versions } = await loadWithheld(reader, pkg.id)
  const candidates = versions.size === 0 ? [] : ((await loadCandidates(reader, pkg.id)) ?? []).filter(({ id }) => !versions.has(id))
  if (candidates.length === 0) return pkg
  const published = candidates.map(({ publishedAt }) => publishedAt)
  return {
    createdAt: new Date(Math.min(...published)),
    updatedAt: new Date(Math.max(...published, ...candidates.flatMap(({ retractedAt }) => retractedAt ?? []))),
  }
}

/** The pubspec as JSON text, without names of private packages for whoever may not know them. */
export async function readablePubspec(reader: Reader, version: PackageVersion): Promise<string> {
  if (audienceOf(reader) === 'members') return version.pubspec
  const { names } = await loadWithheld(reader, version.package.id)
  return withoutNames(version.pubspec, names.get(version.id))
}

/** What it depends on, without private packages for whoever may not know them. */
export async function readableDependencies(reader: Reader, version: PackageVersion): Promise<Dependency[]> {
  const { dependencies } = pubspecOf(version)
  const { names } = await loadWithheld(reader, version.package.id)
  return dependencies.filter(({ name }) => !names.get(version.id)?.has(name))
}

async function unlessWithheld(reader: Reader, version: PackageVersion | null): Promise<PackageVersion | null> {
  if (!version) return null
  return (await loadWithheld(reader, version.package.id)).versions.has(version.id) ? null : version
}

async function versionsOf(reader: Reader, pkg: Package, filter: string | null | undefined): Promise<FilterQuery<PackageVersion>> {
  const { versions } = await loadWithheld(reader, pkg.id)
  return {
    $and: [{ package: pkg, ...(versions.size > 0 && { id: { $nin: [...versions] } }) }, filter?.trim() ? versionsLike(filter) : {}],
  }
}

type Pointers = { latest: string | null; prerelease: string | null }

/** The package's own pointers; chosen anew where some versions are withheld. */
async function pointersOf(reader: Reader, pkg: Package): Promise<Pointers> {
  const own = { latest: pkg.latestVersion, prerelease: pkg.latestPrerelease ?? null }
  const { versions } = await loadWithheld(reader, pkg.id)
  if (versions.size === 0) return own
  const candidates = ((await loadCandidates(reader, pkg.id)) ?? []).filter(({ id }) => !versions.has(id))
  return { latest: latestOf(candidates)?.version ?? null, prerelease: latestPrereleaseOf(candidates)?.version ?? null }
}

type Moment = number | string | Date
type CandidateRow = { id: string; package_id: string; version: string; created_at: Moment; retracted_at: Moment | null }

/** What choosing a latest version needs to know, by the package's id. */
const loadCandidates = batched(async (em, packageIds) => {
  const rows = await em.execute<CandidateRow[]>(
    `select id, package_id, version, created_at, retracted_at from package_versions
     where package_id in (${packageIds.map(() => '?').join(', ')})`,
    packageIds,
  )
  const candidates = rows.map(({ created_at: published, retracted_at: retracted, ...row }) => ({
    ...row,
    retracted: retracted !== null,
    publishedAt: toDate(published).getTime(),
    retractedAt: retracted === null ? null : toDate(retracted).getTime(),
  }))
  return Map.groupBy(candidates, (row) => row.package_id)
})

/** A version by the package's id and its number. */
const loadVersion = batched(async (em, keys) => {
  const pairs = keys.map((key) => key.split(' '))
  const versions = await em.find(PackageVersion, { $or: pairs.map(([pkg = '', version = '']) => ({ package: pkg, version })) })
  return new Map(versions.map((version) => [`${version.package.id} ${version.version}`, version]))
})
