import type { EntityManager } from '@mikro-orm/sql'
import { toDate } from '../../platform/db/reads.ts'
import { readRow, readRows } from '../../platform/db/statements.ts'
import type { Visibility } from '../packages/entity.ts'
import { type Here, hostedHere } from '../packages/hosting.ts'
import { isListed, isEntirelyPublic } from '../packages/policy.ts'
import { lockEntry, removeFromIndex, type ShownTo, storeDocument } from './index-package.ts'
import {
  type Analysis,
  notAnalyzed,
  textColumns,
  type TextRow,
  textsOf,
  textTables,
  type VersionTexts,
} from '../packages/versions/searched-texts.ts'
import { tagsOf } from './tags.ts'

/** SQL expression: the visibility (`ShownTo`) of package `p` in search. Parameter: `hostedHere`. */
export const shownTo = `case when not (${isListed('p')}) then 0 when ${isEntirelyPublic} then 2 else 1 end`

/**
 * Updates a package's search document from the database: texts, tags and visibility. Call it at the end of every transaction that changes a package,
 * after flushing. Removes the document if the package no longer exists. `written` is the latest version if the caller has just stored it, which saves
 * reading it again.
 */
export async function refreshIndex(em: EntityManager, here: Here, packageId: string, written?: VersionTexts): Promise<void> {
  await lockEntry(em, packageId)
  const row = await readRow<PackageRow & TextRow>(em, written ? selectPackage('', '') : selectWithTexts, [hostedHere(here), packageId])
  if (!row) return removeFromIndex(em, packageId)
  const uploaders = await readRows<{ user_id: string }>(em, 'select user_id from package_uploaders where package_id = ?', [packageId])
  const latest: VersionTexts & Analysis = written ? { ...written, ...notAnalyzed } : await textsOf(em, row)
  const { name } = row
  const facts = {
    publisher: row.publisher_id,
    uploaderIds: uploaders.map((uploader) => uploader.user_id),
    isPublic: row.visibility === 'public',
    isUnlisted: Boolean(row.is_unlisted),
    isDiscontinued: Boolean(row.is_discontinued),
  }
  await storeDocument(em, {
    packageId,
    name,
    description: row.description,
    topics: latest.pubspec.topics,
    readme: latest.readme,
    api: latest.api,
    tags: tagsOf({ ...facts, ...latest, hasRetracted: Boolean(row.has_retracted) }),
    shownTo: row.shown_to,
    score: latest.score,
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
  has_retracted: boolean | number
  shown_to: ShownTo
}

const selectPackage = (
  texts: string,
  analysis: string,
) => `select p.name, p.description, p.created_at, p.updated_at, p.publisher_id, p.visibility, p.is_unlisted, p.is_discontinued, ${texts}
    exists (select 1 from package_versions r where r.package_id = p.id and r.retracted_at is not null) as has_retracted, ${shownTo} as shown_to
  from packages p join package_versions v on v.package_id = p.id and v.version = p.latest_version ${analysis} where p.id = ?`

const selectWithTexts = selectPackage(`${textColumns},`, textTables)
