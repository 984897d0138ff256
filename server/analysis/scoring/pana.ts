import { join } from 'node:path'
import type { EntityManager } from '@mikro-orm/sql'
import { z } from 'zod'
import { db, prepared } from '../../platform/db/query.ts'
import { readRow } from '../../platform/db/statements.ts'
import { beginAttempt, markFailed, areDocsOn } from '../docs/service.ts'
import { handler, PermanentFailure, type Work } from '../../platform/jobs/handler.ts'
import { enqueue } from '../../platform/jobs/queue.ts'
import { analyzeWithPana } from '../pana/analyze.ts'
import { AnalysisNeedsFlutter, AnalysisNeedsSdk, PanaOverLimit } from '../pana/to-report.ts'
import { makeJobFolder, removeFolder } from '../../platform/sandbox/job-folder.ts'
import { readySdk } from '../sdks/ready.ts'
import type { Services } from '../../services.ts'
import { storeDocs, beginRun, notePana, storeFindings, writeLog } from './store.ts'
import { copyArchive, readFacts } from './facts.ts'
import { panaKind } from './requests.ts'
import { currentSettings, concurrencyLimit } from '../../platform/settings/scoring.ts'

/** Creates the handler for jobs that analyze a version with pana, which run after the built-in engine if an SDK is installed. */
export const panaAnalysis = (services: Services) =>
  handler(z.unknown(), (work) => analyze(services, work), {
    maxAttempts: 3,
    hasOwnSlots: true,
    maxConcurrent: async () => ((await isPanaReady(services)) ? concurrencyLimit(services) : 0),
    onPermanentFailure: (versionId, error) =>
      error.startsWith(noDocs)
        ? keepEarlierDocs(services, versionId, error)
        : keepBuiltInReport(services, versionId, { error, level: 'warning' }),
  })

/** Returns whether a default SDK is installed on any instance, so that pana runs after the built-in engine. */
export async function isPanaInstalled({ database }: Pick<Services, 'database'>): Promise<boolean> {
  return (await database.reads.recall(readyDefault)) !== undefined
}

const readyDefault = prepared(() =>
  db
    .selectFrom('sdk_installs')
    .select('id')
    .where((eb) => eb.ref('is_default'))
    .where('status', '=', 'ready')
    .limit(1),
)

/** Queues the analysis by pana in the transaction of `em`. It keeps the place of the first analysis in the fair queue of accounts. */
export const requestPana = (em: EntityManager, { subject, owner }: Pick<Work, 'subject' | 'owner'>, now: Date): Promise<string> =>
  enqueue(em, { kind: panaKind, subject, owner }, now)

/** Returns whether this instance can run pana, which requires an SDK on this machine. */
const isPanaReady = async (services: Services): Promise<boolean> =>
  (await isPanaInstalled(services)) && ((await readySdk(services, 'dart')) ?? (await readySdk(services, 'flutter'))) !== null

async function analyze(services: Services, work: Work): Promise<void> {
  const versionId = work.subject
  const subject = await readFacts(services, versionId)
  const generation = subject && (await beginRun(services.database.fork(), versionId))
  if (!subject || generation === null) return
  const folder = await makeJobFolder(services.config)
  try {
    const archive = join(folder, 'archive.tar.gz')
    await copyArchive(services, { sha256: subject.archiveSha256, path: archive, signal: work.signal })
    const { timeoutSeconds: seconds } = await currentSettings(services)
    const { name, version, isPrivate } = subject.facts
    const { report, docs, docsFailure, log } = await analyzeWithPana(services, {
      versionId,
      name,
      version,
      archive,
      isPrivate,
      seconds,
      signal: work.signal,
      onLine: () => work.progress({ phase: 'pana' }),
      docs: (await areDocsOn(services)) ? { folder } : null,
    })
    const findings = { generation, report, log: log.join('\n').slice(-maxLogLength) }
    const isStored = await services.database.fork().transactional((em) => storeFindings(em, services.config, versionId, findings))
    if (!isStored) return
    if (docs !== null) await storeDocs(services, versionId, { subject, docs, engine: { name: 'dartdoc', version: report.engine.version } })
    else if (docsFailure !== null) throw new PermanentFailure(`${noDocs}${docsFailure}`)
  } catch (error) {
    if (!(error instanceof AnalysisNeedsFlutter || error instanceof AnalysisNeedsSdk))
      throw error instanceof PanaOverLimit ? new PermanentFailure(error.message) : error
    await keepBuiltInReport(services, versionId, { error: error.message, level: 'info' })
  } finally {
    await removeFolder(folder)
  }
}

/** Prefix of the error of a job whose report was stored but whose documentation failed. */
const noDocs = 'no documentation by dart doc: '

/** Keeps the existing pages and records why there are no new ones. */
async function keepEarlierDocs({ database }: Services, versionId: string, error: string): Promise<void> {
  await database.fork().transactional(async (em) => {
    const about = await readRow(
      em,
      db
        .selectFrom('package_versions as v')
        .innerJoin('packages as p', 'p.id', 'v.package_id')
        .select(['p.name as package', 'v.version'])
        .where('v.id', '=', versionId),
    )
    if (!about) return
    await markFailed(em, versionId, await beginAttempt(em, versionId), error.slice(noDocs.length))
    await writeLog(em, { level: 'warning', ...about, message: error })
  })
}

/** Maximum length of the stored log, in UTF-16 code units. The end of the log is kept. */
const maxLogLength = 64 * 1024

/** Keeps the built-in engine's report and adds a note on why pana produced none. */
async function keepBuiltInReport(
  { database }: Services,
  versionId: string,
  { error, level }: { error: string; level: 'info' | 'warning' },
) {
  await database.fork().transactional(async (em) => {
    const about = await notePana(em, versionId, error)
    if (about) await writeLog(em, { level, ...about, message: `not analyzed by pana: ${error}` })
  })
}
