import type { EntityManager } from '@mikro-orm/sql'
import { licenseOf } from '../../archive/license.ts'
import type { Pubspec } from '../../archive/pubspec.ts'
import { namesInSurface, packedSurfaceBytes } from './api-names.ts'
import { changeRows, readRow } from '../../../platform/db/statements.ts'
import { storedPubspec } from './pubspec.ts'

/** Texts of a version that search indexes. */
export type VersionTexts = { pubspec: Pubspec; readme: string | null; license: string }
/** Results of a version's analysis. `api`: names that its public API declares. */
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

/** SQL columns of a `TextRow`, for the version `v`. */
export const textColumns = `v.id as version_id, v.pubspec, v.license, s.tags as analyzed, s.percent as score,
  (select d.content from version_documents d where d.version_id = v.id and d.kind = 'readme') as readme,
  (select substr(a.surface, 1, ${packedSurfaceBytes}) from version_surfaces a where a.version_id = v.id) as surface`
/** SQL join that `textColumns` requires. */
export const textTables = 'left join score_reports s on s.version_id = v.id'

/** Returns the texts of a row. Detects and stores the license if the version has none yet. */
export async function textsOf(em: EntityManager, row: TextRow): Promise<VersionTexts & Analysis> {
  const { version_id: id, pubspec, readme, license, analyzed, score, surface } = row
  const texts = { pubspec: storedPubspec(pubspec), readme, license: license ?? (await detectLicense(em, id)) }
  return { ...texts, analyzed: analyzed ? analyzed.split(' ') : [], score, api: surface ? namesInSurface(surface) : [] }
}

/** Detects the license of a version that was published before license detection and stores it. */
async function detectLicense(em: EntityManager, versionId: string): Promise<string> {
  const sql = "select content from version_documents where version_id = ? and kind = 'license'"
  const document = await readRow<{ content: string }>(em, sql, [versionId])
  const license = licenseOf(document?.content ?? null)
  await changeRows(em, 'update package_versions set license = ? where id = ?', [license, versionId])
  return license
}
