import type { EntityManager } from '@mikro-orm/sql'
import type { Config } from '../config/config.ts'
import { toDate } from '../db/reads.ts'
import type { Visibility } from '../packages/entity.ts'
import { licenseOf } from '../packages/versions/license.ts'
import { readPubspec } from '../packages/versions/pubspec-view.ts'
import { hostedHere } from '../packages/hosted-here.ts'
import { isListed, isVersionSeenByAnybody } from '../packages/policy.ts'
import { lockEntry, removeFromIndex, type ShownTo, storeDocument } from './index-package.ts'
import { tagsOf } from './tags.ts'

/** SQL: who may find the package `p`, whose latest version is `v`, as the index has it. Takes `hostedHere`. */
export const shownTo = `case when not (${isListed('p')}) then 0 when ${isVersionSeenByAnybody} then 2 else 1 end`

/** Where this server is: by its address dependencies on it are told from others. */
export type Here = Pick<Config, 'SERVER_URL'>

/**
 * Makes the index say what the database says of a package now: texts, tags, who may find it. Whatever changes a package calls this at the end
 * of its transaction, with everything flushed; a package that is gone is taken out.
 */
export async function refreshIndex(em: EntityManager, here: Here, packageId: string): Promise<void> {
  await lockEntry(em, packageId)
  const [row] = await em.execute<PackageRow[]>(selectPackage, [hostedHere(here), packageId])
  if (!row) return removeFromIndex(em, packageId)
  const uploaders = await em.execute<{ user_id: string }[]>('select user_id from package_uploaders where package_id = ?', [packageId])
  const pubspec = readPubspec(row.pubspec)
  const isUnlisted = Boolean(row.is_unlisted)
  const tags = tagsOf({
    publisher: row.publisher_id,
    uploaderIds: uploaders.map((uploader) => uploader.user_id),
    topics: pubspec.topics,
    license: row.license ?? (await keepLicense(em, row.version_id)),
    dependencies: pubspec.dependencies.filter(({ kind }) => kind === 'direct').map(({ name }) => name),
    needsFlutter: pubspec.needsFlutter,
    platforms: pubspec.platforms.length > 0 ? pubspec.platforms : (pubspec.pluginPlatforms ?? []),
    isPlugin: pubspec.pluginPlatforms !== null,
    isPublic: row.visibility === 'public',
    isUnlisted,
    isDiscontinued: Boolean(row.is_discontinued),
    hasRetracted: Boolean(row.has_retracted),
  })
  await storeDocument(em, {
    packageId,
    name: row.name,
    description: row.description,
    topics: pubspec.topics,
    readme: row.readme,
    tags,
    shownTo: row.shown_to,
    createdAt: toDate(row.created_at),
    updatedAt: toDate(row.updated_at),
  })
}

type PackageRow = {
  name: string
  description: string
  created_at: number | string
  updated_at: number | string
  publisher_id: string | null
  visibility: Visibility
  is_unlisted: boolean | number
  is_discontinued: boolean | number
  version_id: string
  pubspec: string
  license: string | null
  readme: string | null
  has_retracted: boolean | number
  shown_to: ShownTo
}

const selectPackage = `select p.name, p.description, p.created_at, p.updated_at, p.publisher_id, p.visibility, p.is_unlisted, p.is_discontinued,
    v.id as version_id, v.pubspec, v.license, d.content as readme,
    exists (select 1 from package_versions r where r.package_id = p.id and r.retracted_at is not null) as has_retracted,
    ${shownTo} as shown_to
  from packages p join package_versions v on v.package_id = p.id and v.version = p.latest_version
  left join version_documents d on d.version_id = v.id and d.kind = 'readme' where p.id = ?`

/** Versions from before licenses were recognized learn theirs when they are indexed anew. */
async function keepLicense(em: EntityManager, versionId: string): Promise<string> {
  const sql = "select content from version_documents where version_id = ? and kind = 'license'"
  const [document] = await em.execute<{ content: string }[]>(sql, [versionId])
  const license = licenseOf(document?.content ?? null)
  await em.execute('update package_versions set license = ? where id = ?', [license, versionId])
  return license
}
