import type { EntityManager } from '@mikro-orm/sql'
import { licenseOf } from '../../archive/license.ts'
import type { Pubspec } from '../../archive/pubspec.ts'
import { db } from '../../../platform/db/query.ts'
import { changeRows, readRow } from '../../../platform/db/statements.ts'
import { storedPubspec } from './pubspec.ts'
import { constants, gunzipSync } from 'node:zlib'

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
  /** Number of the analysis that produced the results; null without one. */
  generation: number | null
}

/** Number of leading compressed bytes of an API outline from which names are read. Names at the end of a larger API are ignored. */
export const packedSurfaceBytes = 64 * 1024

/** SQL columns of a `TextRow` except the id, for the version `v`. */
export const textColumns = `v.pubspec, v.license, s.tags as analyzed, s.checks_percent as score, s.generation,
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
  const ofVersion = db.selectFrom('version_documents').select('content').where('version_id', '=', versionId)
  const document = await readRow(em, ofVersion.where('kind', '=', 'license'))
  const license = licenseOf(document?.content ?? null)
  await changeRows(em, db.updateTable('package_versions').set({ license }).where('id', '=', versionId))
  return license
}

const maxBytes = 4 * 1024 ** 2

/**
 * Extracts declared names from the beginning of a gzipped API outline (server/analysis/dart/surface.ts), types and functions first. Uses a regular
 * expression, because parsing takes longer and the JSON may be truncated.
 */
export function namesInSurface(packed: Uint8Array): string[] {
  const [main, members] = [new Set<string>(), new Set<string>()]
  for (const [, kind = '', name = ''] of shown(read(packed)).matchAll(declared)) {
    if (types.has(kind)) main.add(name)
    else if (!unnamed.has(kind)) members.add(name)
  }
  return [...main.union(members)]
}

/** Returns the part of the outline with the exported declarations. Hidden types follow the list of libraries and are dropped. */
const shown = (surface: string): string => surface.split('],"libraries":[', 1)[0] ?? ''

/** Matches a declaration, with properties in the order of analysis/dart/surface.ts. Quotes in strings are escaped, so they cannot match. */
const declared = /"kind":"([a-z ]{1,20})","name":"([\w.$]{1,200})"/g

const types = new Set(['class', 'mixin', 'extension', 'extension type', 'enum', 'function', 'typedef'])
/** Constructors repeat the name of their type. */
const unnamed = new Set(['constructor', 'operator'])

/** Decompresses an outline; returns an empty string if the result exceeds `maxBytes`. */
function read(packed: Uint8Array): string {
  try {
    return gunzipSync(packed, { finishFlush: constants.Z_SYNC_FLUSH, maxOutputLength: maxBytes }).toString()
  } catch {
    return ''
  }
}
