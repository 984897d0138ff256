import type { EntityManager } from '@mikro-orm/sql'
import { advisoriesAfterPublish, hasAdvisories } from '../advisories/announce.ts'
import type { SignedInContext } from '../access/context.ts'
import { newId } from '../db/base.ts'
import { changeRows, insertRows } from '../db/statements.ts'
import { skeletonOf } from '../names/skeleton.ts'
import { documentKinds } from '../packages/entity.ts'
import { latestOf, latestPrereleaseOf } from '../packages/versions/latest.ts'
import { licenseOf } from '../packages/versions/license.ts'
import { versionKey } from '../pub/sort-key.ts'
import { isPrerelease } from '../pub/version.ts'
import type { Submission } from './submission.ts'
import type { Target } from './target.ts'

// The rows that publishing writes, beside the audit entries and the search index.

/** Writes a package without versions, and its first uploader. */
export async function writePackage(
  em: EntityManager,
  { viewer, database }: SignedInContext,
  { pubspec }: Submission,
  at: Date,
): Promise<Target> {
  const { name, version, description } = pubspec
  const latestPrerelease = isPrerelease(version) ? version : null
  const advisoriesUpdated = (await hasAdvisories(em, database.backend, name)) ? at : null
  const id = newId()
  await insertRows(em, 'packages', packageColumns, [
    [id, at, at, name, skeletonOf(name), 1, description, version, latestPrerelease, advisoriesUpdated, 'private', false, false],
  ])
  await insertRows(em, 'package_uploaders', ['package_id', 'user_id'], [[id, viewer.id]])
  const pointers = { latestVersion: version, latestIsRetracted: false, latestPrerelease, advisoriesUpdated }
  return { id, name, publisher: null, ...pointers, publishedSha256: null, isDeleted: false }
}

const packageColumns = [
  ...['id', 'created_at', 'updated_at', 'name', 'skeleton', 'revision', 'description', 'latest_version', 'latest_prerelease'],
  ...['advisories_updated', 'visibility', 'is_discontinued', 'is_unlisted'],
]

/** Writes a version with its texts and dependencies. */
export async function writeVersion(
  em: EntityManager,
  { viewer }: SignedInContext,
  packageId: string,
  submission: Submission,
  at: Date,
): Promise<void> {
  const { pubspec, archive, license } = submission
  const { version } = pubspec
  const id = newId()
  await insertRows(em, 'package_versions', versionColumns, [
    [
      ...[id, at, packageId, version, versionKey(version), isPrerelease(version), viewer.id, archive.sha256, archive.bytes, archive.crc32c],
      ...[JSON.stringify(pubspec.document), licenseOf(license?.text ?? null)],
    ],
  ])
  const documents = documentKinds.flatMap((kind) => {
    const document = submission[kind]
    return document ? [[id, kind, document.path, document.text]] : []
  })
  await insertRows(em, 'version_documents', ['version_id', 'kind', 'path', 'content'], documents)
  await insertRows(em, 'package_dependencies', dependencyColumns, dependencyRows(id, pubspec))
}

const versionColumns = [
  ...['id', 'created_at', 'package_id', 'version', 'sort_key', 'is_prerelease', 'published_by_id'],
  ...['archive_sha256', 'archive_bytes', 'archive_crc32c', 'pubspec', 'license'],
]

const dependencyColumns = ['version_id', 'kind', 'name', '"constraint"', 'hosted_url', 'sdk']

/** Dependencies become rows when they come from a registry or an SDK; nobody finds the others by name. */
function dependencyRows(versionId: string, { dependencies, devDependencies }: Submission['pubspec']): (string | null)[][] {
  return [['direct', dependencies] as const, ['dev', devDependencies] as const].flatMap(([kind, list]) =>
    list
      .filter(({ source }) => source === 'hosted' || source === 'sdk')
      .map(({ name, constraint, hostedUrl, sdk }) => [versionId, kind, name, constraint, hostedUrl, sdk]),
  )
}

/**
 * Moves the pointers of a package that gets another version: only the versions that they name now can keep them. Gives whether the new version
 * is the latest one.
 */
export async function advancePackage(em: EntityManager, target: Target, { pubspec }: Submission, at: Date): Promise<boolean> {
  const { version, description } = pubspec
  const candidates = [
    { version: target.latestVersion, retracted: target.latestIsRetracted },
    ...(target.latestPrerelease ? [{ version: target.latestPrerelease, retracted: false }] : []),
    { version, retracted: false },
  ]
  const latest = latestOf(candidates)?.version ?? version
  const prerelease = latestPrereleaseOf(candidates)?.version ?? null
  const isLatest = latest === version
  await changeRows(em, advance, [latest, prerelease, isLatest, description, at, advisoriesAfterPublish(target, at), target.id])
  return isLatest
}

const advance = `update packages set latest_version = ?, latest_prerelease = ?, description = case when ? then ? else description end,
  revision = revision + 1, updated_at = ?, advisories_updated = ? where id = ?`
