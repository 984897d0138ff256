import type { EntityManager } from '@mikro-orm/sql'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { toDate } from '../../platform/db/reads.ts'
import { db } from '../../platform/db/query.ts'
import { changeRows, readRow, readRows } from '../../platform/db/statements.ts'
import type { Visibility } from '../packages/entity.ts'
import { type Here, hostedHere, isHostedHere } from '../packages/hosting.ts'
import { isEntirelyPublic, listedSql, isPublicPackage } from '../packages/policy.ts'
import {
  type Analysis,
  notAnalyzed,
  textColumns,
  type TextRow,
  textsOf,
  textTables,
  type VersionTexts,
} from '../packages/versions/searched-texts.ts'
import { markVisibilityChange } from '../packages/visibility.ts'
import { lockEntries, lockEntry, removeFromIndex, type ShownTo, storeDocument } from './index-package.ts'
import { storeSymbols } from './symbols/index-symbols.ts'
import { tagsOf } from './tags.ts'

/** SQL expression: the visibility (`ShownTo`) of package `p` in search. Parameter: `hostedHere`. */
export const shownTo = `case when not (${listedSql('p')}) then 0 when ${isEntirelyPublic} then 2 else 1 end`

/**
 * Updates a package's search document from the database: texts, tags and visibility. Call it at the end of every transaction that changes a package,
 * after flushing. Removes the document if the package no longer exists. `written` is the latest version if the caller has just stored it, which saves
 * reading it again.
 */
export async function refreshIndex(em: EntityManager, here: Here, packageId: string, written?: VersionTexts): Promise<void> {
  await lockEntry(em, packageId)
  const row = await readRow<PackageRow & TextRow>(em, written ? selectPublished : selectWithTexts, [hostedHere(here), packageId])
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
  const document = await storeDocument(em, {
    packageId,
    name,
    description: row.description,
    topics: latest.pubspec.topics,
    readme: latest.readme,
    api: latest.api,
    implemented: latest.pubspec.implementedPlugin,
    tags: tagsOf({ ...facts, ...latest, hasRetracted: Boolean(row.has_retracted) }),
    shownTo: row.shown_to,
    score: latest.score,
    createdAt: toDate(row.created_at),
    updatedAt: toDate(row.updated_at),
    publishedAt: toDate(row.published_at),
  })
  await storeSymbols(em, document, { name, versionId: row.version_id, generation: row.generation ?? null })
}

type PackageRow = {
  name: string
  description: string
  created_at: number | string
  updated_at: number | string
  published_at: number | string
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
  publishedAt: string,
) => `select p.name, p.description, p.created_at, p.updated_at, p.publisher_id, p.visibility, p.is_unlisted, p.is_discontinued, v.id as version_id, ${texts}
    exists (select 1 from package_versions r where r.package_id = p.id and r.retracted_at is not null) as has_retracted,
    ${publishedAt} as published_at, ${shownTo} as shown_to
  from packages p join package_versions v on v.package_id = p.id and v.version = p.latest_version ${analysis} where p.id = ?`

// A publish changes the package at the time of its version, so the versions need not be read.
const selectPublished = selectPackage('', '', 'p.updated_at')
const selectWithTexts = selectPackage(
  `${textColumns},`,
  textTables,
  '(select max(n.created_at) from package_versions n where n.package_id = p.id)',
)

/**
 * Updates the search documents of packages that became public or private, and of their public dependents: anonymous callers cannot find versions that
 * depend on a private package. A new package needs no call, because it is private and missing packages count as private. Locks visibility changes
 * until the transaction ends, which also invalidates caches of visible packages.
 */
export async function refreshWithDependents(em: EntityManager, here: Here, names: readonly string[]): Promise<void> {
  if (names.length === 0) return
  await markVisibilityChange(em)
  const affected = affectedBy(here, names)
  const unknown = await lockEntries(em, affected.sql, affected.parameters)
  const changed = await readRows(em, db.selectFrom('packages').select('id').where('name', 'in', names).orderBy('id'))
  await refreshEach(em, here, new Set([...changed.map(({ id }) => id), ...unknown]))
  await updateReach(em, here, affected)
}

type Subquery = { sql: string; parameters: string[] }

/**
 * Selects the packages themselves and all public packages with any version that depends on them. Includes dependents that are unlisted or whose
 * latest version no longer has the dependency, because both may be changing concurrently.
 */
function affectedBy(here: Here, names: readonly string[]): Subquery {
  const sql = `select id from packages where name in (${marksFor(names)}) union
    select o.id from package_dependencies d join package_versions w on w.id = d.version_id join packages o on o.id = w.package_id
    where d.name in (${marksFor(names)}) and d.kind = 'direct' and ${isPublicPackage('o')} and ${isHostedHere('d.hosted_url')}`
  return { sql, parameters: [...names, ...names, hostedHere(here)] }
}

const marksFor = (values: readonly string[]) => values.map(() => '?').join(', ')

/** Reindexes packages one by one, yielding to other work in between. Each takes milliseconds. */
async function refreshEach(em: EntityManager, here: Here, ids: Iterable<string>): Promise<void> {
  for (const id of ids) {
    await refreshIndex(em, here, id)
    await nextTurn()
  }
}

/** Updates the visibility of the affected packages in one statement, without rewriting their texts. */
async function updateReach(em: EntityManager, here: Here, affected: Subquery): Promise<void> {
  await changeRows(
    em,
    `update package_search_documents as d set shown_to = now.shown_to from (
       select p.id as package_id, ${shownTo} as shown_to from packages p where p.id in (${affected.sql})
     ) now where now.package_id = d.package_id and now.shown_to <> d.shown_to`,
    [hostedHere(here), ...affected.parameters],
  )
}
