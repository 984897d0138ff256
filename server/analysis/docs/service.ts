import type { EntityManager } from '@mikro-orm/sql'
import { z } from 'zod'
import { batched } from '../../platform/db/batched.ts'
import { changeRows, readRow, readRows } from '../../platform/db/statements.ts'
import { docsStates } from './entity.ts'
import type { Services } from '../../services.ts'
import { currentSettings, type ScoringSettings } from '../../platform/settings/scoring.ts'
import type { Audience } from '../../platform/access/audience.ts'
import { hostedHere } from '../../registry/packages/hosting.ts'
import { isPublicVersion } from '../../registry/packages/policy.ts'
import { latestOf } from '../../registry/packages/versions/latest.ts'

export type DocsEngine = { name: 'built-in' | 'dartdoc'; version: string }

/** Begins documenting a version. Returns the number of the attempt, so that an attempt that ends late does not overwrite a later one. */
export async function beginAttempt(em: EntityManager, versionId: string): Promise<number> {
  const row = await readRow<{ requested: number }>(
    em,
    `insert into version_docs (version_id, state, requested) values (?, 'running', 1)
     on conflict (version_id) do update set state = 'running', requested = version_docs.requested + 1, error = null returning requested`,
    [versionId],
  )
  if (!row) throw new Error(`The documentation of version ${versionId} could not be begun`)
  return row.requested
}

/** Records that an attempt failed, and why. Existing pages stay. Returns false if there is a later attempt, or the version was deleted. */
export const markFailed = async (em: EntityManager, versionId: string, attempt: number, reason: string): Promise<boolean> =>
  (await changeRows(em, "update version_docs set state = 'failed', error = ? where version_id = ? and requested = ?", [
    reason.slice(0, 1000),
    versionId,
    attempt,
  ])) > 0

export type KnownDocs = z.infer<typeof docsRow>

/** Returns the state of a version's documentation by version id, or null if it was never requested. Batched. */
export const loadDocs = batched<KnownDocs>(async (em, ids) => {
  const rows = await readRows<{ version_id: string }>(
    em,
    `select version_id, ${docsColumns} from version_docs d where version_id in (${ids.map(() => '?').join(', ')})`,
    ids,
  )
  return new Map(rows.map((row) => [row.version_id, docsRow.parse(row)]))
})

/** The state shown to users: the state of the last attempt, or why there was none. */
export type ShownState = KnownDocs['state'] | 'disabled' | 'not_analyzed'

/** Returns the state shown to users, given whether documentation is switched on and whether an analysis is queued. */
export function stateOf(docs: KnownDocs | null, isOn: boolean, isAwaited: boolean): ShownState {
  if (docs) return docs.state
  if (!isOn) return 'disabled'
  return isAwaited ? 'pending' : 'not_analyzed'
}

/** SQL condition: the version `v` is queued for analysis, which also generates documentation. */
export const isAnalysisAwaited =
  "exists (select 1 from jobs j where j.kind = 'analysis' and j.subject = cast(v.id as varchar(36)) and j.state = 'queued')"

/** Returns whether a version is queued for analysis, by version id. Batched. */
export const loadAwaited = batched(async (em, ids) => {
  const marks = ids.map(() => '?').join(', ')
  const rows = await readRows<{ id: string }>(
    em,
    `select v.id from package_versions v where v.id in (${marks}) and ${isAnalysisAwaited}`,
    ids,
  )
  return new Map(rows.map(({ id }) => [id, true]))
})

/** SQL: the columns of `version_docs d` that `docsRow` parses. */
export const docsColumns =
  'd.state, d.generation, d.engine, d.engine_version as "engineVersion", d.sha256, d.bytes, d.pages, d.generated_at as "generatedAt", d.error'

export const docsRow = z.object({
  state: z.enum(docsStates),
  generation: z.number(),
  engine: z.string().nullable(),
  engineVersion: z.string().nullable(),
  sha256: z.string().nullable(),
  // PostgreSQL returns 64-bit integers as strings.
  bytes: z.coerce.number(),
  pages: z.number(),
  generatedAt: z.coerce.date().nullable(),
  error: z.string().nullable(),
})

/** Returns whether documentation is generated on this server, as part of analyses. */
export const areDocsOn = async (services: Pick<Services, 'config' | 'database'>): Promise<boolean> =>
  generatesDocs(await currentSettings(services))

export const generatesDocs = ({ scoringEnabled, docsEnabled }: ScoringSettings): boolean => scoringEnabled && docsEnabled

type Reader = Pick<Services, 'database' | 'config'>

/** A version that the audience may read, its documentation, and whether it is waiting to be generated. */
export type FoundVersion = { version: string; docs: KnownDocs | null; isAwaited: boolean }

/** Returns a version, or the latest one, with its documentation. Null if the version does not exist or is hidden from the audience. */
export async function findDocs(reader: Reader, audience: Audience, name: string, wanted: string): Promise<FoundVersion | null> {
  const { reads } = reader.database
  const version = wanted === 'latest' ? await latestVersion(reader, audience, name) : wanted
  if (version === null) return null
  const row = await (audience === 'members'
    ? reads.get(docsSql, name, version)
    : reads.get(`${docsSql} and ${isPublicVersion}`, name, version, hostedHere(reader.config)))
  if (!row) return null
  return { version, docs: row.state === null ? null : docsRow.parse(row), isAwaited: Boolean(row.awaited) }
}

const docsSql = `select ${docsColumns}, ${isAnalysisAwaited} as awaited from package_versions v join packages p on p.id = v.package_id
  left join version_docs d on d.version_id = v.id where p.name = ? and v.version = ?`

/** Maximum number of versions in the list of a documentation page. */
const maxDocumented = 100

/** Returns the versions of a package that have documentation pages and that the audience may read, highest first. */
export async function listDocumented(
  { database: { reads }, config }: Reader,
  audience: Audience,
  name: string,
): Promise<{ version: string; isRetracted: boolean }[]> {
  const sql = `select v.version, v.retracted_at from package_versions v join packages p on p.id = v.package_id
    join version_docs d on d.version_id = v.id where p.name = ? and d.sha256 is not null`
  const order = `order by v.sort_key desc limit ${maxDocumented}`
  const rows = await (audience === 'members'
    ? reads.all<{ version: string; retracted_at: unknown }>(`${sql} ${order}`, name)
    : reads.all<{ version: string; retracted_at: unknown }>(`${sql} and ${isPublicVersion} ${order}`, name, hostedHere(config)))
  return rows.map(({ version, retracted_at }) => ({ version, isRetracted: retracted_at !== null }))
}

async function latestVersion({ database: { reads }, config }: Reader, audience: Audience, name: string): Promise<string | null> {
  if (audience === 'members')
    return (await reads.recall<{ version: string }>('select latest_version as version from packages where name = ?', name))?.version ?? null
  const rows = await reads.all<{ version: string; retracted_at: unknown }>(
    `select v.version, v.retracted_at from package_versions v join packages p on p.id = v.package_id where p.name = ? and ${isPublicVersion}`,
    name,
    hostedHere(config),
  )
  return latestOf(rows.map(({ version, retracted_at }) => ({ version, retracted: retracted_at !== null })))?.version ?? null
}
