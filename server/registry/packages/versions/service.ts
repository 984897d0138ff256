import type { FilterQuery } from '@mikro-orm/core'
import { type EntityManager, raw } from '@mikro-orm/sql'
import { audienceOf } from '../../../platform/access/audience.ts'
import type { Context } from '../../../platform/access/context.ts'
import { batched, countEach, findEach } from '../../../platform/db/batched.ts'
import { db } from '../../../platform/db/query.ts'
import { readRows } from '../../../platform/db/statements.ts'
import { beyond, type Direction } from '../../../platform/graphql/connections.ts'
import { loadWithheld, withoutNames } from '../visibility.ts'
import { Package, PackageVersion } from '../entity.ts'
import { seenBy } from '../policy.ts'
import { latestOf, latestPrereleaseOf, previousOf } from './latest.ts'
import { pubspecOf } from './pubspec.ts'
import type { Dependency } from '../../archive/dependencies.ts'
import { invalidInput } from '../../../errors.ts'
import { type Constraint, parseConstraint } from '../../../platform/pub/constraint.ts'
import { compareParsed, known, versionKey, parseVersion } from '../../../platform/pub/version.ts'

type Reader = Pick<Context, 'em' | 'viewer' | 'config'>
type Page = { limit: number; after?: string | undefined }

/** Returns a version by number, or null if it does not exist for the caller. */
export async function findVersion(reader: Reader, pkg: Package, version: string): Promise<PackageVersion | null> {
  return nullIfWithheld(reader, await loadVersion(reader, `${pkg.id} ${version}`))
}

/** Returns a version by id, or null if it does not exist for the caller. */
export async function findVersionById(reader: Reader, id: string): Promise<PackageVersion | null> {
  const audience = audienceOf(reader)
  const seen = audience === 'members' ? {} : { package: seenBy(audience) }
  return nullIfWithheld(reader, await reader.em.findOne(PackageVersion, { id, ...seen }))
}

export type VersionChoice = {
  /** A constraint or part of a version; see `versionsLike`. */
  filter?: string | null | undefined
  /** Highest first by default. */
  direction?: Direction | null | undefined
}

/** Returns a page of versions after the sort key `after`, highest first by default. Throws InvalidInput for a bad filter. */
export async function listVersions(
  reader: Reader,
  pkg: Package,
  { filter, direction }: VersionChoice,
  { limit, after }: Page,
): Promise<PackageVersion[]> {
  const order = direction ?? 'desc'
  const further = after === undefined ? {} : { sortKey: { [beyond[order]]: after } }
  const where = { $and: [await versionsOf(reader, pkg, filter), further] }
  return findEach(reader.em, PackageVersion, where, { orderBy: { sortKey: order }, limit })
}

export const countVersions = async (reader: Reader, pkg: Package, { filter }: VersionChoice): Promise<number> =>
  countEach(reader.em, PackageVersion, await versionsOf(reader, pkg, filter))

/** Returns the numbers of all versions: `readable` ones, and ones that are `withheld` from the caller. */
export async function versionNumbers(reader: Reader, pkg: Package): Promise<Record<'readable' | 'withheld', string[]>> {
  const all = (await loadCandidates(reader, pkg.id)) ?? []
  const { versions: withheld } = await loadWithheld(reader, pkg.id)
  const numbers = (rows: typeof all) => rows.map(({ version }) => version)
  return { readable: numbers(all.filter(({ id }) => !withheld.has(id))), withheld: numbers(all.filter(({ id }) => withheld.has(id))) }
}

/** Returns the numbers of the versions that clients may select for the caller: readable, not retracted, the highest first. */
export async function selectableVersions(reader: Reader, pkg: Package): Promise<string[]> {
  const all = (await loadCandidates(reader, pkg.id)) ?? []
  const { versions: withheld } = await loadWithheld(reader, pkg.id)
  return all
    .filter(({ id, retracted }) => !retracted && !withheld.has(id))
    .map(({ version }) => ({ version, parsed: known(version) }))
    .toSorted((a, b) => compareParsed(b.parsed, a.parsed))
    .map(({ version }) => version)
}

/** Returns the version that new users get; null when the caller may read none, or all are retracted. */
export async function latestVersion(reader: Reader, pkg: Package): Promise<PackageVersion | null> {
  const version = await displayedVersion(reader, pkg)
  return version?.retractedAt === null ? version : null
}

/** Returns the version that pages show: the latest, or the highest one when all are retracted. Null when the caller may read none. */
export async function displayedVersion(reader: Reader, pkg: Package): Promise<PackageVersion | null> {
  const { latest } = await latestVersionsOf(reader, pkg)
  return latest === null ? null : loadVersion(reader, `${pkg.id} ${latest}`)
}

/** Returns the highest pre-release if it is higher than the latest stable version, else null. */
export async function latestPrerelease(reader: Reader, pkg: Package): Promise<PackageVersion | null> {
  const { prerelease } = await latestVersionsOf(reader, pkg)
  return prerelease === null ? null : loadVersion(reader, `${pkg.id} ${prerelease}`)
}

/** Returns the version that a version is compared with by default (`previousOf`), or null if the caller may read no lower one. */
export async function previousVersion(reader: Reader, pkg: Package, { version }: PackageVersion): Promise<PackageVersion | null> {
  const { versions } = await loadWithheld(reader, pkg.id)
  const candidates = ((await loadCandidates(reader, pkg.id)) ?? []).filter(({ id }) => !versions.has(id))
  const previous = previousOf(candidates, version)
  return previous && loadVersion(reader, `${pkg.id} ${previous.version}`)
}

/** Returns the description of the latest version that the caller may read. */
export async function descriptionOf(reader: Reader, pkg: Package): Promise<string> {
  const { latest } = await latestVersionsOf(reader, pkg)
  if (latest === null || latest === pkg.latestVersion) return latest === null ? '' : pkg.description
  const version = await loadVersion(reader, `${pkg.id} ${latest}`)
  return (version && pubspecOf(version).description) ?? ''
}

/** Returns when the package was first published and last changed, considering only versions that the caller may read. */
export async function datesOf(reader: Reader, pkg: Package): Promise<{ createdAt: Date; updatedAt: Date }> {
  const { versions } = await loadWithheld(reader, pkg.id)
  const candidates = versions.size === 0 ? [] : ((await loadCandidates(reader, pkg.id)) ?? []).filter(({ id }) => !versions.has(id))
  if (candidates.length === 0) return pkg
  const published = candidates.map(({ publishedAt }) => publishedAt)
  return {
    createdAt: new Date(Math.min(...published)),
    updatedAt: new Date(Math.max(...published, ...candidates.flatMap(({ retractedAt }) => retractedAt ?? []))),
  }
}

/** Returns the pubspec as JSON text, without names of private packages unless the caller may see them. */
export async function readablePubspec(reader: Reader, version: PackageVersion): Promise<string> {
  if (audienceOf(reader) === 'members') return version.pubspec
  const { names } = await loadWithheld(reader, version.package.id)
  return withoutNames(version.pubspec, names.get(version.id))
}

/** Returns the dependencies of a version, without private packages unless the caller may see them. */
export async function readableDependencies(reader: Reader, version: PackageVersion): Promise<Dependency[]> {
  const { dependencies } = pubspecOf(version)
  const { names } = await loadWithheld(reader, version.package.id)
  return dependencies.filter(({ name }) => !names.get(version.id)?.has(name))
}

/** Returns when the newest version that the caller may read was published. */
export async function publishedAtOf(reader: Reader, pkg: Package): Promise<Date> {
  const { versions } = await loadWithheld(reader, pkg.id)
  if (versions.size === 0) return (await loadNewestPublication(reader, pkg.id)) ?? pkg.createdAt
  const readable = ((await loadCandidates(reader, pkg.id)) ?? []).filter(({ id }) => !versions.has(id))
  return readable.length === 0 ? pkg.createdAt : new Date(Math.max(...readable.map(({ publishedAt }) => publishedAt)))
}

const loadNewestPublication = batched(async (em, packageIds) => {
  const rows = await readRows(
    em,
    db
      .selectFrom('package_versions')
      .select(({ fn }) => ['package_id', fn.max('created_at').as('at')])
      .where('package_id', 'in', packageIds)
      .groupBy('package_id'),
  )
  return new Map(rows.map(({ package_id: id, at }) => [id, at]))
})

async function nullIfWithheld(reader: Reader, version: PackageVersion | null): Promise<PackageVersion | null> {
  if (!version) return null
  return (await loadWithheld(reader, version.package.id)).versions.has(version.id) ? null : version
}

async function versionsOf(reader: Reader, pkg: Package, filter: string | null | undefined): Promise<FilterQuery<PackageVersion>> {
  const { versions } = await loadWithheld(reader, pkg.id)
  return { $and: [{ package: pkg, ...(versions.size > 0 && { id: { $nin: [...versions] } }) }, filter?.trim() ? versionsLike(filter) : {}] }
}

type Pointers = { latest: string | null; prerelease: string | null }

/** Returns the stored latest versions of the package, or recomputes them if some versions are withheld from the caller. */
async function latestVersionsOf(reader: Reader, pkg: Package): Promise<Pointers> {
  const own = { latest: pkg.latestVersion, prerelease: pkg.latestPrerelease ?? null }
  const { versions } = await loadWithheld(reader, pkg.id)
  if (versions.size === 0) return own
  const candidates = ((await loadCandidates(reader, pkg.id)) ?? []).filter(({ id }) => !versions.has(id))
  return { latest: latestOf(candidates)?.version ?? null, prerelease: latestPrereleaseOf(candidates)?.version ?? null }
}

/** Loads the data needed to select the latest version, by package id. */
const loadCandidates = batched(async (em, packageIds) => {
  const columns = ['id', 'package_id', 'version', 'created_at', 'retracted_at'] as const
  const rows = await readRows(em, db.selectFrom('package_versions').select(columns).where('package_id', 'in', packageIds))
  const candidates = rows.map(({ created_at: published, retracted_at: retracted, ...row }) => ({
    ...row,
    retracted: retracted !== null,
    publishedAt: published.getTime(),
    retractedAt: retracted?.getTime() ?? null,
  }))
  return Map.groupBy(candidates, (row) => row.package_id)
})

/** Loads versions by `<package id> <version>`. */
const loadVersion = batched(async (em, keys) => {
  const pairs = keys.map((key) => key.split(' '))
  const versions = await em.find(PackageVersion, { $or: pairs.map(([pkg = '', version = '']) => ({ package: pkg, version })) })
  return new Map(versions.map((version) => [`${version.package.id} ${version.version}`, version]))
})

/**
 * Returns a filter for versions that a constraint such as `>=1.0.0 <2.0.0` allows (an indexed range), or whose number contains a text.
 * @throws ApiError InvalidInput if the text is neither a constraint nor part of a version.
 */
function versionsLike(filter: string): FilterQuery<PackageVersion> {
  const text = filter.trim()
  const constraint = /^[\^<>=]|^any$/.test(text) ? parseConstraint(text.replace(/^=+\s*/, '')) : null
  if (constraint && boundsAreCanonical(constraint)) return sortKeyRange(constraint)
  if (/^[0-9A-Za-z.+-]{0,64}$/.test(text)) return { [raw((alias) => `lower(${alias}.version)`)]: { $like: `%${text.toLowerCase()}%` } }
  throw invalidInput('filter: must be part of a version, or a constraint such as ^1.2.0 or >=1.0.0 <2.0.0.', 'filter')
}

function sortKeyRange({ min, max }: Constraint): FilterQuery<PackageVersion> {
  const from = min && { [min.included ? '$gte' : '$gt']: versionKey(min.version.text) }
  const to = max && { [max.included ? '$lte' : '$lt']: versionKey(max.version.text) }
  return from || to ? { sortKey: { ...from, ...to } } : {}
}

/** Whether the bounds are canonical. Constraints may contain leading zeros, but versions on this server never do. */
const boundsAreCanonical = ({ min, max }: Constraint) => [min, max].every((bound) => !bound || parseVersion(bound.version.text))

/** Recomputes the package's latest versions and description from at most three rows, after a flush and with the package locked. */
export async function updateLatestVersions(em: EntityManager, pkg: Package): Promise<void> {
  const { latest, latestPrerelease } = await queryLatestVersions(em, pkg)
  pkg.latestVersion = latest.version
  pkg.latestPrerelease = latestPrerelease?.version ?? null
  pkg.description = pubspecOf(latest).description ?? ''
}

/** Selects the same versions as `latestOf` and `latestPrereleaseOf`, by queries. */
async function queryLatestVersions(
  em: EntityManager,
  pkg: Package,
): Promise<{ latest: PackageVersion; latestPrerelease: PackageVersion | null }> {
  const highest = await highestOf(em, pkg, { retractedAt: null })
  if (highest && !highest.isPrerelease) return { latest: highest, latestPrerelease: null }
  const shown = highest ? { retractedAt: null } : {}
  const latest = (await highestOf(em, pkg, { ...shown, isPrerelease: false })) ?? highest ?? (await highestOf(em, pkg, {}))
  if (!latest) throw new Error(`${pkg.name} has no version`)
  return { latest, latestPrerelease: highest }
}

const highestOf = (em: EntityManager, pkg: Package, where: { retractedAt?: null; isPrerelease?: false }) =>
  em.findOne(PackageVersion, { package: pkg, ...where }, { orderBy: { sortKey: 'desc' } })
