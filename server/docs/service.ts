import type { EntityManager } from '@mikro-orm/sql'
import { z } from 'zod'
import { batched } from '../db/batched.ts'
import { changeRows, readRow, readRows } from '../db/statements.ts'
import { docsStates } from './entity.ts'

/** What makes documentation, and its version. */
export type DocsEngine = { name: 'built-in' | 'dartdoc'; version: string }

/**
 * Begins to document a version. Gives the number of the attempt, which grows with each one: the other functions want it, so that an attempt that
 * ends late changes nothing of a later one.
 */
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

/** Says that an attempt failed, and why. Pages that are there stay. False when a later one was asked for, or the version is gone. */
export const markFailed = async (em: EntityManager, versionId: string, attempt: number, reason: string): Promise<boolean> =>
  (await changeRows(em, "update version_docs set state = 'failed', error = ? where version_id = ? and requested = ?", [
    reason.slice(0, 1000),
    versionId,
    attempt,
  ])) > 0

/** What is known of the documentation of a version. */
export type KnownDocs = z.infer<typeof docsRow>

/** What is known of the documentation of a version, by its id; null when it was never asked for. */
export const loadDocs = batched<KnownDocs>(async (em, ids) => {
  const rows = await readRows<{ version_id: string }>(
    em,
    `select version_id, ${docsColumns} from version_docs d where version_id in (${ids.map(() => '?').join(', ')})`,
    ids,
  )
  return new Map(rows.map((row) => [row.version_id, docsRow.parse(row)]))
})

/** How far documentation is: that of an attempt, or why there was none yet. */
export type ShownState = KnownDocs['state'] | 'disabled' | 'not_analyzed'

/** How far the documentation of a version is, where documentation is generated or not, and an analysis may wait. */
export function stateOf(docs: KnownDocs | null, isOn: boolean, isAwaited: boolean): ShownState {
  if (docs) return docs.state
  if (!isOn) return 'disabled'
  return isAwaited ? 'pending' : 'not_analyzed'
}

/** SQL: whether the version `v` waits to be analyzed, and so documented. */
export const isAnalysisAwaited =
  "exists (select 1 from jobs j where j.kind = 'analysis' and j.subject = cast(v.id as varchar(36)) and j.state = 'queued')"

/** Whether a version waits to be analyzed, by its id. */
export const loadAwaited = batched(async (em, ids) => {
  const marks = ids.map(() => '?').join(', ')
  const rows = await readRows<{ id: string }>(
    em,
    `select v.id from package_versions v where v.id in (${marks}) and ${isAnalysisAwaited}`,
    ids,
  )
  return new Map(rows.map(({ id }) => [id, true]))
})

/** SQL: the columns of the documentation `d` that `docsRow` reads. */
export const docsColumns =
  'd.state, d.generation, d.engine, d.engine_version as "engineVersion", d.sha256, d.bytes, d.pages, d.generated_at as "generatedAt", d.error'

export const docsRow = z.object({
  state: z.enum(docsStates),
  generation: z.number(),
  engine: z.string().nullable(),
  engineVersion: z.string().nullable(),
  sha256: z.string().nullable(),
  // PostgreSQL hands out 64-bit integers as text.
  bytes: z.coerce.number(),
  pages: z.number(),
  generatedAt: z.coerce.date().nullable(),
  error: z.string().nullable(),
})
