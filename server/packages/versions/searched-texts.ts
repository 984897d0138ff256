import type { EntityManager } from '@mikro-orm/sql'
import { licenseOf } from '../../archive/license.ts'
import type { Pubspec } from '../../archive/pubspec.ts'
import { namesInSurface, packedSurfaceBytes } from './api-names.ts'
import { changeRows, readRow } from '../../db/statements.ts'
import { storedPubspec } from './pubspec.ts'

/** What search says of a version. */
export type VersionTexts = { pubspec: Pubspec; readme: string | null; license: string }
/** What its analysis found. `api`: names that its public API declares. */
export type Analysis = { analyzed: string[]; score: number | null; api: string[] }

export const notAnalyzed: Analysis = { analyzed: [], score: null, api: [] }

export type TextRow = {
  version_id: string
  pubspec: string
  license: string | null
  readme: string | null
  analyzed: string | null
  score: number | null
  surface: Uint8Array | null
}

/** SQL: the columns of a `TextRow`, of the version `v`. */
export const textColumns = `v.id as version_id, v.pubspec, v.license, s.tags as analyzed, s.percent as score,
  (select d.content from version_documents d where d.version_id = v.id and d.kind = 'readme') as readme,
  (select substr(a.surface, 1, ${packedSurfaceBytes}) from version_surfaces a where a.version_id = v.id) as surface`
/** SQL: what they need to be joined. */
export const textTables = 'left join score_reports s on s.version_id = v.id'

/** What a row says; a version without a license learns it. */
export async function textsOf(em: EntityManager, row: TextRow): Promise<VersionTexts & Analysis> {
  const { version_id: id, pubspec, readme, license, analyzed, score, surface } = row
  const texts = { pubspec: storedPubspec(pubspec), readme, license: license ?? (await keepLicense(em, id)) }
  return { ...texts, analyzed: analyzed ? analyzed.split(' ') : [], score, api: surface ? namesInSurface(surface) : [] }
}

/** Versions from before licenses were recognized learn theirs when they are indexed anew. */
async function keepLicense(em: EntityManager, versionId: string): Promise<string> {
  const sql = "select content from version_documents where version_id = ? and kind = 'license'"
  const document = await readRow<{ content: string }>(em, sql, [versionId])
  const license = licenseOf(document?.content ?? null)
  await changeRows(em, 'update package_versions set license = ? where id = ?', [license, versionId])
  return license
}
