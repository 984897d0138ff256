import { createWriteStream } from 'node:fs'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { z } from 'zod'
import { AnalysisFailed, type AnalysisResult } from '../analysis/analyze.ts'
import { recordEvents } from '../audit/service.ts'
import { markFailed, markPending, markRunning } from '../docs/service.ts'
import { storePages } from '../docs/store.ts'
import { areDocsOn } from '../docs/switch.ts'
import { handler, PermanentFailure, type Work } from '../jobs/handler.ts'
import { makeJobFolder } from '../sandbox/job-folder.ts'
import type { Services } from '../services.ts'
import { readEarlier, readFacts, type Subject } from './facts.ts'
import { writeLog } from './log.ts'
import { currentSettings, isScoringOn } from './settings.ts'
import { beginRun, engineOf, storeFailure, storeFindings } from './store.ts'

/** Analyzes a version by the built-in engine when a job says so: its report, its public API, its documentation. */
export const analysis = (services: Services) =>
  handler(z.unknown(), (work) => analyze(services, work), {
    maxAttempts: 3,
    isApart: true,
    maxConcurrent: async () => ((await isScoringOn(services)) ? (await currentSettings(services)).concurrency : 0),
    gaveUp: (versionId, error) => giveUp(services, versionId, error),
  })

async function analyze(services: Services, work: Work): Promise<void> {
  const versionId = work.subject
  const subject = await readFacts(services, versionId)
  const begun = subject && (await begin(services, versionId))
  // A version that is gone needs no report.
  if (!begun) return
  const folder = await makeJobFolder(services.config)
  try {
    work.progress({ phase: 'analyzing' })
    const archive = join(folder, 'archive.tar.gz')
    await pipeline(await services.blobs.open(subject.archiveSha256), createWriteStream(archive))
    const earlier = await readEarlier(services, versionId)
    const docs = begun.docsAttempt === null ? null : { folder }
    const result = await within(work, services.analyzer.analyze({ archive, facts: subject.facts, docs, earlier }))
    work.progress({ phase: 'storing' })
    await storeDocs(services, versionId, { subject, attempt: begun.docsAttempt, result })
    await services.database.fork().transactional((em) =>
      storeFindings(em, services.config, versionId, {
        generation: begun.generation,
        report: result.report,
        surface: Buffer.from(result.surface),
      }),
    )
  } catch (error) {
    throw error instanceof AnalysisFailed && !error.isTransient ? new PermanentFailure(error.message) : error
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

/** Takes the numbers of an analysis and of its documentation, where that is wanted; null when the version is gone. */
async function begin(services: Services, versionId: string): Promise<{ generation: number; docsAttempt: number | null } | null> {
  const wantsDocs = await areDocsOn(services)
  return services.database.fork().transactional(async (em) => {
    const generation = await beginRun(em, versionId)
    if (generation === null) return null
    if (!wantsDocs) return { generation, docsAttempt: null }
    const docsAttempt = await markPending(em, versionId)
    await markRunning(em, versionId, docsAttempt)
    return { generation, docsAttempt }
  })
}

type Docs = { subject: Subject; attempt: number | null; result: AnalysisResult }

async function storeDocs(services: Services, versionId: string, { subject, attempt, result }: Docs): Promise<void> {
  if (attempt === null) return
  if (result.docs === null) {
    const reason = result.docsFailure ?? 'The engine made no pages.'
    return void (await markFailed(services.database.fork(), versionId, attempt, reason))
  }
  const { name: engine, version: engineVersion } = result.report.engine
  const isStored = await storePages(services, versionId, attempt, result.docs, {
    name: engine === 'pana' ? 'dartdoc' : engine,
    version: engineVersion,
  })
  if (!isStored) return
  const { name, version } = subject.facts
  await services.database.fork().transactional(async (em) => {
    const summary = `API documentation of ${name} ${version} was generated`
    await recordEvents(em, [{ kind: 'package.docs_generated', actor: null, summary, package: name, version }])
    await writeLog(em, { level: 'info', package: name, version, message: `documentation generated (${engineOf(result.report)})` })
  })
}

/** Records that a version cannot be analyzed, nor documented. */
async function giveUp({ database }: Services, versionId: string, error: string): Promise<void> {
  await database.fork().transactional(async (em) => {
    await storeFailure(em, versionId, error)
    const [docs] = await em.execute<{ requested: number }[]>('select requested from version_docs where version_id = ?', [versionId])
    if (docs) await markFailed(em, versionId, docs.requested, error)
  })
}

/** What comes of the work, unless the server stops or the job is somebody else's before. */
async function within<Result>({ signal }: Work, result: Promise<Result>): Promise<Result> {
  signal.throwIfAborted()
  const { promise, reject } = Promise.withResolvers<never>()
  const abort = () => reject(signal.reason as Error)
  signal.addEventListener('abort', abort)
  try {
    return await Promise.race([result, promise])
  } finally {
    signal.removeEventListener('abort', abort)
  }
}
