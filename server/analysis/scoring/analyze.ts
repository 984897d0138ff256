import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { AnalysisFailed, type AnalysisResult } from '../report/analyze.ts'
import { checksOf } from '../report/report.ts'
import { beginAttempt, markFailed, areDocsOn } from '../docs/service.ts'
import { db } from '../../platform/db/query.ts'
import { readRow, withoutSync } from '../../platform/db/statements.ts'
import { handler, PermanentFailure, type Work, untilAborted } from '../../platform/jobs/handler.ts'
import { makeJobFolder } from '../../platform/sandbox/job-folder.ts'
import type { Services } from '../../services.ts'
import { versionsAfter } from './api-changes/verdict.ts'
import { storeDocs, beginRun, hasReportOf, readSurfaceOf, storeFailure, storeFindings, storeSurface } from './store.ts'
import { copyArchive, readEarlier, readFacts, type Subject } from './facts.ts'
import { isPanaInstalled, requestPana } from './pana.ts'
import { analysisPayload, requestRepeats, versionsToRepeat } from './requests.ts'
import { concurrencyLimit } from '../../platform/settings/scoring.ts'

/**
 * Creates the handler for jobs that analyze a version with the built-in engine: report, public API and documentation. The work is committed without
 * waiting for the disk (`withoutSync`). A power failure that loses results also loses the job's completion, so the job is repeated.
 */
export const analysis = (services: Services) =>
  handler(analysisPayload, (work, { isForOthers }) => withoutSync(() => analyze(services, work, isForOthers)), {
    maxAttempts: 3,
    hasOwnSlots: true,
    maxConcurrent: () => concurrencyLimit(services),
    onPermanentFailure: (versionId, error) => giveUp(services, versionId, error),
  })

async function analyze(services: Services, work: Work, isForOthers: boolean): Promise<void> {
  const versionId = work.subject
  const subject = await readFacts(services, versionId)
  const run = subject && (await begin(services, versionId))
  // The version was deleted after the job was queued.
  if (!run) return
  const folder = await makeJobFolder(services.config)
  try {
    work.progress({ phase: 'analyzing' })
    const archive = join(folder, 'archive.tar.gz')
    await copyArchive(services, { sha256: subject.archiveSha256, path: archive, signal: work.signal })
    const earlier = await readEarlier(services, versionId)
    const docs = run.attempt === null ? null : { folder }
    const result = await untilAborted(work.signal, () => services.analyzer.analyze({ archive, facts: subject.facts, docs, earlier }))
    work.progress({ phase: 'storing' })
    await storePages(services, versionId, { subject, run, result })
    await storeReport(services, work, { run, result, dependentsOf: isForOthers ? null : subject.facts })
  } catch (error) {
    throw error instanceof AnalysisFailed && !error.isTransient ? new PermanentFailure(error.message) : error
  } finally {
    // No package code ran in this folder, so it can be removed without the sandbox's commands, whose start would block the event loop.
    await rm(folder, { recursive: true, force: true })
  }
}

/** An analysis. `attempt` of the documentation is null without documentation. `keepsPanaReport`: an existing report by pana stays. */
type Run = { generation: number; attempt: number | null; panaFollows: boolean; keepsPanaReport: boolean }

async function begin(services: Services, versionId: string): Promise<Run | null> {
  const em = services.database.fork()
  const generation = await beginRun(em, versionId)
  if (generation === null) return null
  const panaFollows = await isPanaInstalled(services)
  // The report and documentation by pana stay until a new run of pana replaces them.
  const keepsPanaReport = panaFollows && (await hasReportOf(em, versionId, 'pana'))
  const attempt = (await areDocsOn(services)) && !keepsPanaReport ? await beginAttempt(em, versionId) : null
  return { generation, attempt, panaFollows, keepsPanaReport }
}

type RunResult = { run: Run; result: AnalysisResult }

/** `dependentsOf`: the version whose dependents may be reanalyzed with the new result, or null. */
type ReportInput = RunResult & { dependentsOf: Subject['facts'] | null }

async function storePages(
  services: Services,
  versionId: string,
  { subject, run, result }: RunResult & { subject: Subject },
): Promise<void> {
  const { attempt } = run
  if (attempt === null) return
  const { docs, docsFailure, report } = result
  if (docs !== null) {
    const engine = { name: 'built-in', version: report.engine.version } as const
    return storeDocs(services, versionId, { subject, docs, engine, attempt })
  }
  await markFailed(services.database.fork(), versionId, attempt, docsFailure ?? 'The engine generated no pages.')
}

function storeReport(services: Services, work: Work, { run, result, dependentsOf }: ReportInput): Promise<void> {
  const versionId = work.subject
  const { generation, panaFollows, keepsPanaReport } = run
  const { report, apiVerdict } = result
  const surface = Buffer.from(result.surface)
  return services.database.fork().transactional(async (em) => {
    const hasChanged = !surface.equals((await readSurfaceOf(em, versionId)) ?? Buffer.alloc(0))
    const isStored = keepsPanaReport
      ? await storeSurface(em, services.config, versionId, {
          generation,
          surface,
          apiVerdict,
          checks: checksOf(report),
          isIncomplete: report.isIncomplete ?? false,
        })
      : await storeFindings(em, services.config, versionId, { generation, report, surface, apiVerdict })
    if (isStored && panaFollows) await requestPana(em, work, services.now())
    // Versions that were compared with the former API, or with an earlier version because this one had none, have another result now.
    if (isStored && hasChanged) await requestRepeats(em, await versionsAfter(em, versionId), services.now())
    if (isStored && dependentsOf) await requestRepeats(em, await versionsToRepeat(em, services.config, dependentsOf), services.now())
  })
}

/** Records that neither analysis nor documentation of a version succeeded. */
async function giveUp({ database }: Services, versionId: string, error: string): Promise<void> {
  await database.fork().transactional(async (em) => {
    await storeFailure(em, versionId, error)
    const docs = await readRow(em, db.selectFrom('version_docs').select('requested').where('version_id', '=', versionId))
    if (docs) await markFailed(em, versionId, docs.requested, error)
  })
}
