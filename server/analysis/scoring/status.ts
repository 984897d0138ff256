import type { EntityManager } from '@mikro-orm/sql'
import type { JobState } from '../../platform/jobs/entity.ts'
import { batched } from '../../platform/db/batched.ts'
import { db } from '../../platform/db/query.ts'
import { readRows } from '../../platform/db/statements.ts'
import type { Services } from '../../services.ts'
import { analysisKind } from '../docs/service.ts'
import { panaKind } from './requests.ts'
import { loadScoringSettings } from '../../platform/settings/scoring.ts'

export type ScoreStatus = 'disabled' | 'not_analyzed' | 'pending' | 'running' | 'completed' | 'failed'

/** The score of a version. `isIncomplete`: parts of the public API are missing. `error`: why the last analysis failed. `awaitsPana`: whether an analysis by pana is waiting or running. */
export type Score = Awaited<ReturnType<typeof scoreOf>>

type Reader = Pick<Services, 'config' | 'database'> & { em: EntityManager }

/**
 * Returns the score of a version, in four batched reads. Points come from the last successful report, even while another analysis is waiting, running
 * or has failed.
 */
export async function scoreOf(reader: Reader, versionId: string) {
  const [{ scoringEnabled: isOnNow }, row, job, pana] = await Promise.all([
    loadScoringSettings(reader),
    loadResult(reader, versionId),
    loadJob(reader, versionId),
    loadPana(reader, versionId),
  ])
  const status = statusOf(isOnNow, row, job?.state)
  const error = status === 'failed' ? (row?.error ?? job?.error ?? null) : null
  return {
    versionId,
    status,
    error,
    granted: row?.granted ?? null,
    maximum: row?.maximum ?? null,
    percent: row?.checks_percent ?? null,
    engine: row?.engine ?? null,
    engineVersion: row?.engine_version ?? null,
    isIncomplete: row?.is_incomplete ?? false,
    startedAt: row?.started_at ?? null,
    finishedAt: row?.finished_at ?? null,
    awaitsPana: isOnNow && (pana?.state === 'queued' || pana?.state === 'running'),
  }
}

/** Derives the state of an analysis. The job determines whether it is waiting or running; neither is the case while scoring is off. */
function statusOf(isOn: boolean, row: { error: string | null; granted: number | null } | null, job: JobState | undefined): ScoreStatus {
  if (isOn && job === 'running') return 'running'
  if (isOn && job === 'queued') return 'pending'
  if (row?.error != null) return 'failed'
  if (row?.granted != null) return 'completed'
  // The process ended before it could record the failure.
  if (job === 'failed') return 'failed'
  return isOn ? 'not_analyzed' : 'disabled'
}

const loadResult = batched(async (em, ids) => {
  const rows = await readRows(
    em,
    db
      .selectFrom('score_reports')
      .select([
        'version_id',
        'engine',
        'engine_version',
        'granted',
        'maximum',
        'checks_percent',
        'error',
        'started_at',
        'finished_at',
        'is_incomplete',
      ])
      .where('version_id', 'in', ids),
  )
  return new Map(rows.map((row) => [row.version_id, row]))
})

const order = { done: 0, failed: 0, queued: 1, running: 2 }
const jobsOf = (kind: string) =>
  batched(async (em, ids) => {
    const rows = await readRows(
      em,
      db
        .selectFrom('jobs')
        .select(['subject', 'state', 'error'])
        .where('kind', '=', kind)
        .where('subject', 'in', ids)
        .where('state', 'in', ['queued', 'running', 'failed']),
    )
    // The last row per version wins, so sort running and queued jobs after failed ones.
    return new Map(rows.toSorted((a, b) => order[a.state] - order[b.state]).map((row) => [row.subject, row]))
  })
const loadJob = jobsOf(analysisKind)
const loadPana = jobsOf(panaKind)
