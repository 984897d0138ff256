import type { EntityManager } from '@mikro-orm/sql'
import type { InferResult } from 'kysely'
import type { SignedInContext } from '../../platform/access/context.ts'
import type { StoredBytes } from '../../platform/blobs/store.ts'
import { newId } from '../../platform/db/base.ts'
import { db, prepared } from '../../platform/db/query.ts'
import { changeRows, insertRows } from '../../platform/db/statements.ts'
import { normalHostedUrl } from '../../platform/pub/hosted-url.ts'
import { versionKey } from '../../platform/pub/version.ts'
import { isPrerelease } from '../../platform/pub/version.ts'
import { advisoriesAfterPublish, hasAdvisories } from '../advisories/service.ts'
import type { InspectedPackage } from '../archive/inspect.ts'
import { licenseOf } from '../archive/license.ts'
import { skeletonOf } from '../names/service.ts'
import { documentKinds } from '../packages/entity.ts'
import { findManualBan } from '../packages/policy.ts'
import { latestOf, latestPrereleaseOf } from '../packages/versions/latest.ts'

/** Inserts a package without versions, with the caller as its first uploader, or for a job with a publisher as its owner. */
export async function writePackage(
  em: EntityManager,
  { viewer }: SignedInContext,
  { pubspec }: Submission,
  at: Date,
  publisherId: string | null,
): Promise<Target> {
  const { name, version, description } = pubspec
  const id = newId()
  const latestPrerelease = isPrerelease(version) ? version : null
  const advisoriesUpdated = (await hasAdvisories(em, name)) ? at : null
  const row = {
    id,
    created_at: at,
    updated_at: at,
    name,
    skeleton: skeletonOf(name),
    publisher_id: publisherId,
    revision: 1,
    description: description ?? '',
    latest_version: version,
    latest_prerelease: latestPrerelease,
    advisories_updated: advisoriesUpdated,
    visibility: 'private' as const,
    is_discontinued: false,
    is_unlisted: false,
  }
  await insertRows(em, 'packages', [row])
  if (!viewer.isCiJob) await insertRows(em, 'package_uploaders', [{ package_id: id, user_id: viewer.id }])
  const pointers = { latestVersion: version, latestIsRetracted: false, latestPrerelease, advisoriesUpdated }
  const publisher = publisherId === null ? null : { id: publisherId }
  return { id, name, publisher, isPublic: false, manualBan: null, ...pointers, publishedSha256: null, isDeleted: false }
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
    published_by_id: viewer.isCiJob ? null : viewer.id,
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
  const shown = isLatest ? (description ?? '') : null
  await changeRows(em, advance, latest, prerelease, shown, at, advisoriesAfterPublish(target, at), target.id)
  return isLatest
}

/** Changes what a publish changes of its package. Without a description the package keeps its own. */
const advance = prepared(
  (latest: string, prerelease: string | null, description: string | null, at: Date, advisories: Date | null, id: string) =>
    db
      .updateTable('packages')
      .set(({ eb, fn, val, ref }) => ({
        latest_version: latest,
        latest_prerelease: prerelease,
        description: fn.coalesce(val(description), ref('description')),
        revision: eb('revision', '+', 1),
        updated_at: at,
        advisories_updated: advisories,
      }))
      .where('id', '=', id),
)

/** The package to publish into, and whether the version number is already published or deleted there. */
export type Target = {
  id: string
  name: string
  publisher: { id: string } | null
  isPublic: boolean
  /** Whose switch leaves publishing to CI jobs; null if people can publish. */
  manualBan: 'package' | 'publisher' | null
  latestVersion: string
  latestIsRetracted: boolean
  latestPrerelease: string | null
  advisoriesUpdated: Date | null
  /** SHA-256 of the existing version's archive; null if the version does not exist. */
  publishedSha256: string | null
  isDeleted: boolean
}

type TargetRow = InferResult<ReturnType<typeof selectTarget>>[number]

const targetOf = prepared(selectTarget)

/** Returns the package with this name, or null. */
export async function findTarget(
  readRow: (query: typeof targetOf, version: string, name: string) => Promise<Readonly<TargetRow> | undefined>,
  { name, version }: { name: string; version: string },
): Promise<Target | null> {
  const row = await readRow(targetOf, version, name)
  if (!row) return null
  return {
    id: row.id,
    name,
    publisher: row.publisher_id === null ? null : { id: row.publisher_id },
    isPublic: row.visibility === 'public',
    manualBan: findManualBan({ allowsManualPublishing: row.allows_manual_publishing }, row.publisher_allows !== false),
    latestVersion: row.latest_version,
    latestIsRetracted: Boolean(row.latest_is_retracted),
    latestPrerelease: row.latest_prerelease,
    advisoriesUpdated: row.advisories_updated,
    publishedSha256: row.published_sha256,
    isDeleted: Boolean(row.is_deleted),
  }
}

function selectTarget(version: string, name: string) {
  return db
    .selectFrom('packages as p')
    .leftJoin('publishers as o', 'o.id', 'p.publisher_id')
    .select(['p.id', 'p.publisher_id', 'p.visibility', 'p.latest_version', 'p.latest_prerelease', 'p.advisories_updated'])
    .select(['p.allows_manual_publishing', 'o.allows_manual_publishing as publisher_allows'])
    .select(({ selectFrom, exists, not }) => [
      not(
        exists(
          selectFrom('package_versions as l')
            .select('l.id')
            .whereRef('l.package_id', '=', 'p.id')
            .whereRef('l.version', '=', 'p.latest_version')
            .where('l.retracted_at', 'is', null),
        ),
      ).as('latest_is_retracted'),
      selectFrom('package_versions as v')
        .select('v.archive_sha256')
        .whereRef('v.package_id', '=', 'p.id')
        .where('v.version', '=', version)
        .as('published_sha256'),
      exists(
        selectFrom('deleted_versions as d').select('d.version').whereRef('d.package_name', '=', 'p.name').where('d.version', '=', version),
      ).as('is_deleted'),
    ])
    .where('p.name', '=', name)
}

/** A validated archive whose bytes are stored or about to be stored. */
export type Submission = InspectedPackage & { archive: StoredBytes }
