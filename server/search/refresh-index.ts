import type { EntityManager } from '@mikro-orm/sql'
import type { Pubspec } from '../archive/pubspec.ts'
import { toDate } from '../db/reads/reads.ts'
import { changeRows, readRow, readRows } from '../db/statements.ts'
import type { Visibility } from '../packages/entity.ts'
import { licenseOf } from '../archive/license.ts'
import { storedPubspec } from '../packages/versions/pubspec.ts'
import { type Here, hostedHere } from '../packages/hosted-here.ts'
import { isListed, isVersionSeenByAnybody } from '../packages/policy.ts'
import { lockEntry, removeFromIndex, type ShownTo, storeDocument } from './index-package.ts'
import { tagsOf } from './tags.ts'

/** SQL: who may find the package `p`, whose latest version is `v`, as the index has it. Takes `hostedHere`. */
export const shownTo = `case when not (${isListed('p')}) then 0 when ${isVersionSeenByAnybody} then 2 else 1 end`

/** What the index says of a package's latest version. */
type LatestVersion = { pubspec: Pubspec; readme: string | null; license: string }
/** What its analysis found. */
type Analysis = { analyzed: string[]; score: number | null }

/**
 * Makes the index say what the database says of a package now: texts, tags, who may find it. Whatever changes a package calls this at the end
 * of its transaction, with everything flushed; a package that is gone is taken out. Who has just written the latest version gives it along, so
 * that it need not be read again.
 */
export async function refreshIndex(em: EntityManager, here: Here, packageId: string, written?: LatestVersion): Promise<void> {
  await lockEntry(em, packageId)
  const row = await readRow<PackageRow & TextRow>(em, written ? selectPackage('', '') : selectWithTexts, [hostedHere(here), packageId])
  if (!row) return removeFromIndex(em, packageId)
  const uploaders = await readRows<{ user_id: string }>(em, 'select user_id from package_uploaders where package_id = ?', [packageId])
  const latest = written ? { ...written, ...notAnalyzed } : await latestIn(em, row)
  const tags = tagsOf({
    pubspec: latest.pubspec,
    license: latest.license,
    publisher: row.publisher_id,
    uploaderIds: uploaders.map((uploader) => uploader.user_id),
    isPublic: row.visibility === 'public',
    isUnlisted: Boolean(row.is_unlisted),
    isDiscontinued: Boolean(row.is_discontinued),
    hasRetracted: Boolean(row.has_retracted),
    analyzed: latest.analyzed,
  })
  await storeDocument(em, {
    packageId,
    name: row.name,
    description: row.description,
    topics: latest.pubspec.topics,
    readme: latest.readme,
    tags,
    shownTo: row.shown_to,
    score: latest.score,
    createdAt: toDate(row.created_at),
    updatedAt: toDate(row.updated_at),
  })
}

const notAnalyzed: Analysis = { analyzed: [], score: null }

async function latestIn(em: EntityManager, row: TextRow): Promise<LatestVersion & Analysis> {
  const { version_id: id, pubspec, readme, license, analyzed, score } = row
  const texts = { pubspec: storedPubspec(pubspec), readme, license: license ?? (await keepLicense(em, id)) }
  return { ...texts, analyzed: analyzed ? analyzed.split(' ') : [], score }
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
  has_retracted: boolean | number
  shown_to: ShownTo
}

type TextRow = {
  version_id: string
  pubspec: string
  license: string | null
  readme: string | null
  analyzed: string | null
  score: number | null
}

const selectPackage = (
  texts: string,
  analysis: string,
) => `select p.name, p.description, p.created_at, p.updated_at, p.publisher_id, p.visibility, p.is_unlisted, p.is_discontinued, ${texts}
    exists (select 1 from package_versions r where r.package_id = p.id and r.retracted_at is not null) as has_retracted,
    ${shownTo} as shown_to
  from packages p join package_versions v on v.package_id = p.id and v.version = p.latest_version ${analysis} where p.id = ?`

const selectWithTexts = selectPackage(
  `v.id as version_id, v.pubspec, v.license, s.tags as analyzed, s.percent as score,
    (select d.content from version_documents d where d.version_id = v.id and d.kind = 'readme') as readme,`,
  'left join score_reports s on s.version_id = v.id',
)

/** Versions from before licenses were recognized learn theirs when they are indexed anew. */
async function keepLicense(em: EntityManager, versionId: string): Promise<string> {
  const sql = "select content from version_documents where version_id = ? and kind = 'license'"
  const document = await readRow<{ content: string }>(em, sql, [versionId])
  const license = licenseOf(document?.content ?? null)
  await changeRows(em, 'update package_versions set license = ? where id = ?', [license, versionId])
  return license
}
