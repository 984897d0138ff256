import type { EntityManager } from '@mikro-orm/sql'
import { type Expression, expressionBuilder } from 'kysely'
import { batched } from '../../platform/db/batched.ts'
import { db, prepared } from '../../platform/db/query.ts'
import { changeRows, readRow, readRows } from '../../platform/db/statements.ts'
import type { VersionDocs } from './entity.ts'
import type { Services } from '../../services.ts'
import { currentSettings, type ScoringSettings } from '../../platform/settings/scoring.ts'
import type { Audience } from '../../platform/access/audience.ts'
import { hostedHere } from '../../registry/packages/hosting.ts'
import { isVersionPublic } from '../../registry/packages/conditions.ts'
import { latestOf } from '../../registry/packages/versions/latest.ts'

/** Kind of the jobs that analyze a version, whose id is the subject, and generate its documentation. */
export const analysisKind = 'analysis'

export type DocsEngine = { name: 'built-in' | 'dartdoc'; version: string }

/** Begins documenting a version. Returns the number of the attempt, so that an attempt that ends late does not overwrite a later one. */
export async function beginAttempt(em: EntityManager, versionId: string): Promise<number> {
  const row = await readRow(
    em,
    db
      .insertInto('version_docs')
      .values({ version_id: versionId, state: 'running', requested: 1 })
      .onConflict((earlier) =>
        earlier
          .column('version_id')
          .doUpdateSet((eb) => ({ state: 'running', requested: eb('version_docs.requested', '+', 1), error: null })),
      )
      .returning('requested'),
  )
  if (!row) throw new Error(`The documentation of version ${versionId} could not be begun`)
  return row.requested
}

/** Records that an attempt failed, and why. Existing pages stay. Returns false if there is a later attempt, or the version was deleted. */
export async function markFailed(em: EntityManager, versionId: string, attempt: number, reason: string): Promise<boolean> {
  const failure = db.updateTable('version_docs').set({ state: 'failed', error: reason.slice(0, 1000) })
  return (await changeRows(em, failure.where('version_id', '=', versionId).where('requested', '=', attempt))) > 0
}

export type KnownDocs = Pick<VersionDocs, 'state' | 'generation' | 'pages'> & {
  engine: string | null
  engineVersion: string | null
  sha256: string | null
  bytes: number
  generatedAt: Date | null
  error: string | null
}

const docsColumns = [
  'd.state',
  'd.generation',
  'd.engine',
  'd.engine_version as engineVersion',
  'd.sha256',
  'd.bytes',
  'd.pages',
  'd.generated_at as generatedAt',
  'd.error',
] as const

/** Returns the state of a version's documentation by version id, or null if it was never requested. Batched. */
export const loadDocs = batched<KnownDocs>(async (em, ids) => {
  const rows = await readRows(
    em,
    db
      .selectFrom('version_docs as d')
      .select(['d.version_id', ...docsColumns])
      .where('d.version_id', 'in', ids),
  )
  return new Map(rows.map(({ version_id: id, bytes, ...docs }) => [id, { ...docs, bytes: bytes ?? 0 }]))
})

/** The state shown to users: the state of the last attempt, or why there was none. */
export type ShownState = KnownDocs['state'] | 'disabled' | 'not_analyzed'

/** Returns the state shown to users, given whether documentation is switched on and whether an analysis is queued. */
export function shownState(docs: KnownDocs | null, isOn: boolean, isAwaited: boolean): ShownState {
  if (docs) return docs.state
  if (!isOn) return 'disabled'
  return isAwaited ? 'pending' : 'not_analyzed'
}

/** Selects the queued analysis of a version, which also generates documentation. */
const queuedAnalysisOf = (versionId: Expression<string>) =>
  db
    .selectFrom('jobs as j')
    .select('j.subject')
    .where('j.kind', '=', analysisKind)
    .where('j.subject', '=', expressionBuilder().cast<string>(versionId, 'varchar(36)'))
    .where('j.state', '=', 'queued')

/** Returns whether a version is queued for analysis, by version id. Batched. */
export const loadAwaited = batched(async (em, ids) => {
  const awaited = db
    .selectFrom('package_versions as v')
    .select('v.id')
    .where('v.id', 'in', ids)
    .where((eb) => eb.exists(queuedAnalysisOf(eb.ref('v.id'))))
  return new Map((await readRows(em, awaited)).map(({ id }) => [id, true]))
})

/** Returns whether documentation is generated on this server, as part of analyses. */
export const areDocsOn = async (services: Pick<Services, 'config' | 'database'>): Promise<boolean> =>
  generatesDocs(await currentSettings(services))

export const generatesDocs = ({ scoringEnabled, docsEnabled }: ScoringSettings): boolean => scoringEnabled && docsEnabled

type Reader = Pick<Services, 'database' | 'config'>

/** A version that the audience may read, its documentation, and whether it is waiting to be generated. */
export type FoundVersion = { id: string; version: string; docs: KnownDocs | null; isAwaited: boolean }

/** Returns a version, or the latest one, with its documentation. Null if the version does not exist or is hidden from the audience. */
export async function findDocs(reader: Reader, audience: Audience, name: string, wanted: string): Promise<FoundVersion | null> {
  const { reads } = reader.database
  const version = wanted === 'latest' ? await latestVersion(reader, audience, name) : wanted
  if (version === null) return null
  const row = await (audience === 'members'
    ? reads.get(docsOf, name, version)
    : reads.get(publicDocsOf, name, version, hostedHere(reader.config)))
  if (!row) return null
  const { id, state, generation, pages, bytes, awaited, ...docs } = row
  const isKnown = state !== null && generation !== null && pages !== null
  return { id, version, docs: isKnown ? { ...docs, state, generation, pages, bytes: bytes ?? 0 } : null, isAwaited: awaited !== null }
}

const selectDocs = (name: string, version: string) =>
  db
    .selectFrom('package_versions as v')
    .innerJoin('packages as p', 'p.id', 'v.package_id')
    .leftJoin('version_docs as d', 'd.version_id', 'v.id')
    .select(['v.id', ...docsColumns])
    .select((eb) => queuedAnalysisOf(eb.ref('v.id')).limit(1).as('awaited'))
    .where('p.name', '=', name)
    .where('v.version', '=', version)
const docsOf = prepared(selectDocs)
const publicDocsOf = prepared((name: string, version: string, here: string) =>
  selectDocs(name, version).where((eb) => isVersionPublic(eb.ref('p.visibility'), eb.ref('v.id'), here)),
)

/** Maximum number of versions in the list of a documentation page. */
const maxDocumented = 100

/** Returns the versions of a package that have documentation pages and that the audience may read, highest first. */
export async function listDocumented(
  { database: { reads }, config }: Reader,
  audience: Audience,
  name: string,
): Promise<{ version: string; isRetracted: boolean }[]> {
  const rows = await (audience === 'members' ? reads.all(documentedOf, name) : reads.all(publicDocumentedOf, name, hostedHere(config)))
  return rows.map(({ version, retracted_at }) => ({ version, isRetracted: retracted_at !== null }))
}

const selectVersions = (name: string) =>
  db
    .selectFrom('package_versions as v')
    .innerJoin('packages as p', 'p.id', 'v.package_id')
    .select(['v.version', 'v.retracted_at'])
    .where('p.name', '=', name)
const selectPublicVersions = (name: string, here: string) =>
  selectVersions(name).where((eb) => isVersionPublic(eb.ref('p.visibility'), eb.ref('v.id'), here))
const publicVersionsOf = prepared(selectPublicVersions)

const withPages = (versions: ReturnType<typeof selectVersions>) =>
  versions
    .innerJoin('version_docs as d', 'd.version_id', 'v.id')
    .where('d.sha256', 'is not', null)
    .orderBy('v.sort_key', 'desc')
    .limit(maxDocumented)
const documentedOf = prepared((name: string) => withPages(selectVersions(name)))
const publicDocumentedOf = prepared((name: string, here: string) => withPages(selectPublicVersions(name, here)))

async function latestVersion({ database: { reads }, config }: Reader, audience: Audience, name: string): Promise<string | null> {
  if (audience === 'members') return (await reads.recall(latestOfPackage, name))?.latest_version ?? null
  const rows = await reads.all(publicVersionsOf, name, hostedHere(config))
  return latestOf(rows.map(({ version, retracted_at }) => ({ version, retracted: retracted_at !== null })))?.version ?? null
}

const latestOfPackage = prepared((name: string) => db.selectFrom('packages').select('latest_version').where('name', '=', name))
