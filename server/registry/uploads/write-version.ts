import type { EntityManager } from '@mikro-orm/sql'
import { advisoriesAfterPublish, hasAdvisories } from '../advisories/announce.ts'
import type { SignedInContext } from '../../platform/access/context.ts'
import { newId } from '../../platform/db/base.ts'
import { changeRows, insertRows } from '../../platform/db/statements.ts'
import { skeletonOf } from '../names/service.ts'
import { documentKinds } from '../packages/entity.ts'
import { latestOf, latestPrereleaseOf } from '../packages/versions/latest.ts'
import { licenseOf } from '../archive/license.ts'
import { normalHostedUrl } from '../../platform/pub/hosted-url.ts'
import { versionKey, isPrerelease } from '../../platform/pub/version.ts'
import type { Submission } from './submission.ts'
import type { Target } from './target.ts'

// Writes the rows of a published version, except audit entries and the search index.

/** Inserts a package without versions, with the caller as its first uploader. */
export async function writePackage(
  em: EntityManager,
  { viewer, database }: SignedInContext,
  { pubspec }: Submission,
  at: Date,
): Promise<Target> {
  const { name, version, description } = pubspec
  const id = newId()
  const latestPrerelease = isPrerelease(version) ? version : null
  const advisoriesUpdated = (await hasAdvisories(em, database.backend, name)) ? at : null
  const row = {
    id,
    created_at: at,
    updated_at: at,
    name,
    skeleton: skeletonOf(name),
    revision: 1,
    description: description ?? '',
    latest_version: version,
    latest_prerelease: latestPrerelease,
    advisories_updated: advisoriesUpdated,
    visibility: 'private',
    is_discontinued: false,
    is_unlisted: false,
  }
  await insertRows(em, 'packages', [row])
  await insertRows(em, 'package_uploaders', [{ package_id: id, user_id: viewer.id }])
  const pointers = { latestVersion: version, latestIsRetracted: false, latestPrerelease, advisoriesUpdated }
  return { id, name, publisher: null, isPublic: false, ...pointers, publishedSha256: null, isDeleted: false }
}

/** Inserts a version with its texts and dependencies. Returns the version's id. */
export async function writeVersion(
  em: EntityManager,
  { viewer }: SignedInContext,
  packageId: string,
  submission: Submission,
  at: Date,
): Promise<string> {
  const { pubspec, document, archive, license } = submission
  const { version } = pubspec
  const id = newId()
  const row = {
    id,
    created_at: at,
    package_id: packageId,
    version,
    sort_key: versionKey(version),
    is_prerelease: isPrerelease(version),
    published_by_id: viewer.id,
    archive_sha256: archive.sha256,
    archive_bytes: archive.bytes,
    archive_crc32c: archive.crc32c,
    pubspec: JSON.stringify(document),
    license: licenseOf(license?.text ?? null),
  }
  await insertRows(em, 'package_versions', [row])
  await insertRows(em, 'version_documents', documentRows(id, submission))
  await insertRows(em, 'package_dependencies', dependencyRows(id, pubspec))
  return id
}

const documentRows = (versionId: string, submission: Submission) =>
  documentKinds.flatMap((kind) => {
    const file = submission[kind]
    return file ? { version_id: versionId, kind, path: file.path, content: file.text } : []
  })

/** Only dependencies from a registry or an SDK are stored, because others are never looked up by name. */
const dependencyRows = (versionId: string, { dependencies }: Submission['pubspec']) =>
  dependencies
    .filter(({ source }) => source === 'hosted' || source === 'sdk')
    .map(({ kind, name, constraint, hostedUrl, sdk }) => {
      return { version_id: versionId, kind, name, constraint, hosted_url: hostedUrl && normalHostedUrl(hostedUrl), sdk }
    })

/**
 * Updates a package's latest version, prerelease and description after publishing. Only the current latest versions and the new version are compared.
 * Returns whether the new version is the latest.
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
  await changeRows(em, advance, [latest, prerelease, isLatest, description ?? '', at, advisoriesAfterPublish(target, at), target.id])
  return isLatest
}

const advance = `update packages set latest_version = ?, latest_prerelease = ?, description = case when ? then ? else description end,
  revision = revision + 1, updated_at = ?, advisories_updated = ? where id = ?`
