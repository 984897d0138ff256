import type { EntityManager } from '@mikro-orm/sql'
import { toDate } from '../../platform/db/reads/reads.ts'
import { changeRows, readRow, readRows } from '../../platform/db/statements.ts'
import { dayOf, lastDayBeforeWindow } from '../downloads/days.ts'
import { type Here, hostedHere } from '../packages/hosting/hosted-here.ts'
import { isPublicVersion } from '../packages/policy.ts'
import { latestOf } from '../packages/versions/latest.ts'
import { storeTerms } from './index-package.ts'
import { type Facts, tagsOf } from './tags.ts'
import { documentTerms, summaryOf } from './terms.ts'
import { textColumns, type TextRow, textsOf, textTables } from '../packages/versions/searched-texts.ts'

// An excerpt is the search document that anonymous callers see of a public package some of whose versions depend on private packages. Those versions
// are hidden from anonymous callers, so the excerpt's texts, tags, score, dates and downloads come from the remaining versions only. Packages whose
// versions are all public have no excerpt.

/** The data in an excerpt that comes from the package rather than from its versions. */
type Excerpted = { packageId: string; name: string; facts: Omit<Facts, 'pubspec' | 'license' | 'hasRetracted' | 'analyzed'> }

/**
 * Creates or replaces a package's excerpt. Deletes the excerpt when anonymous callers can read none of the package's versions. Requires that the
 * package's search document is locked (`lockEntry`) and already stored.
 */
export async function storeExcerpt(em: EntityManager, here: Here, { packageId, name, facts }: Excerpted, now = new Date()): Promise<void> {
  const versions = (await readRows<VersionRow>(em, selectReadable, [packageId, hostedHere(here)])).map((row) => ({
    ...row,
    retracted: row.retracted_at !== null,
  }))
  const latest = latestOf(versions)
  const row = latest && (await readRow<TextRow>(em, selectTexts, [latest.id]))
  if (!row) return removeExcerpt(em, packageId)
  const texts = await textsOf(em, row)
  const { pubspec, readme, api, score } = texts
  const terms = documentTerms({ name, description: pubspec.description ?? '', topics: pubspec.topics, readme, api })
  const tags = tagsOf({ ...facts, ...texts, hasRetracted: versions.some(({ retracted }) => retracted) })
  const published = versions.map(({ created_at: at }) => toDate(at).getTime())
  const changed = versions.flatMap(({ retracted_at: at }) => (at === null ? [] : toDate(at).getTime()))
  const stored = await readRow<{ id: number | string }>(em, upsert, [
    Math.min(...published),
    Math.max(...published, ...changed),
    score ?? -1,
    ` ${tags.join(' ')} `,
    summaryOf(terms),
    packageId,
  ])
  if (!stored) throw new Error(`No search document for ${name}`)
  await storeTerms(em, 'package_search_excerpts', stored.id, { terms, tags })
  await countExcerpt(em, here, packageId, now)
}

/** Deletes a package's excerpt from the index. */
export async function removeExcerpt(em: EntityManager, packageId: string): Promise<void> {
  await changeRows(em, 'delete from package_search_excerpts where package_id = ?', [packageId])
}

/** Sets an excerpt's download count: the downloads of publicly readable versions in the last 30 days. */
export async function countExcerpt(em: EntityManager, here: Here, packageId: string, now: Date): Promise<void> {
  await changeRows(em, count, [lastDayBeforeWindow(dayOf(now)), hostedHere(here), packageId])
}

type VersionRow = {
  id: string
  version: string
  created_at: number | string | Date
  retracted_at: number | string | Date | null
}

const ofPackages = 'from package_versions v join packages p on p.id = v.package_id'
const selectReadable = `select v.id, v.version, v.created_at, v.retracted_at ${ofPackages} where p.id = ? and ${isPublicVersion}`
const selectTexts = `select ${textColumns} from package_versions v ${textTables} where v.id = ?`

const upsert = `insert into package_search_excerpts (id, package_id, created_at, updated_at, score, tags, summary)
  select d.id, d.package_id, cast(? as bigint), cast(? as bigint), cast(? as integer), ?, ? from package_search_documents d where d.package_id = ?
  on conflict (id) do update set created_at = excluded.created_at, updated_at = excluded.updated_at, score = excluded.score,
    tags = excluded.tags, summary = excluded.summary returning id`

/** SQL expression: the downloads of a package's publicly readable versions after a day. Parameters: that day, and `hostedHere`. */
export const downloadsOf = (packageId: string): string => `(
    select coalesce(sum(n.downloads), 0) from version_downloads n join package_versions v on v.id = n.version_id join packages p on p.id = v.package_id
    where p.id = ${packageId} and n.day > ? and ${isPublicVersion})`

const count = `update package_search_excerpts set downloads = ${downloadsOf('package_search_excerpts.package_id')} where package_id = ?`
