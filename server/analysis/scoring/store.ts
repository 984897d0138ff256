import type { EntityManager } from '@mikro-orm/sql'
import type { ApiVerdict } from '../dart/changes.ts'
import { checksOf, type Criterion, outcomeOf, percentOf, pointsOf, type Report, reportSchema } from '../report/report.ts'
import { recordEvents } from '../../accounts/audit/service.ts'
import { db } from '../../platform/db/query.ts'
import { changeRows, insertRows, lockRows, readRow } from '../../platform/db/statements.ts'
import { PermanentFailure } from '../../platform/jobs/handler.ts'
import type { Here } from '../../registry/packages/hosting.ts'
import { refreshIndex } from '../../registry/search/refresh-index.ts'
import { searchableTags } from '../../registry/search/tags.ts'
import { mentionablePackages } from './report.ts'
import { beginAttempt, type DocsEngine } from '../docs/service.ts'
import { storePages } from '../docs/store.ts'
import type { Services } from '../../services.ts'
import { writeApiVerdict } from './api-changes/verdict.ts'
import type { Subject } from './facts.ts'
import { currentTimeOf, newId } from '../../platform/db/base.ts'
import type { LogLevel } from './entity.ts'

/** Begins an analysis. Returns its number, which is higher than that of every earlier one, or null if the version was deleted. */
export async function beginRun(em: EntityManager, versionId: string): Promise<number | null> {
  const row = await readRow(
    em,
    db
      .insertInto('score_reports')
      .columns(['version_id', 'runs', 'started_at'])
      .expression(
        db
          .selectFrom('package_versions')
          .select((eb) => ['id', eb.lit(1).as('runs'), eb.cast<Date>(eb.val(currentTimeOf(em)), 'timestamptz').as('started_at')])
          .where('id', '=', versionId),
      )
      .onConflict((earlier) =>
        earlier
          .column('version_id')
          .doUpdateSet((eb) => ({ runs: eb('score_reports.runs', '+', 1), started_at: eb.ref('excluded.started_at') })),
      )
      .returning('runs'),
  )
  return row?.runs ?? null
}

export type Findings = {
  generation: number
  report: Report
  surface?: Buffer | undefined
  apiVerdict?: ApiVerdict | null
  log?: string | undefined
}

/** Stores the result of an analysis in the transaction of `em`. Returns false if the version was deleted or has a later result. */
export async function storeFindings(em: EntityManager, here: Here, versionId: string, findings: Findings): Promise<boolean> {
  const about = await lockVersion(em, versionId)
  if (!about) return false
  const found = findings.report.engine.name === 'pana' ? await withRemarks(em, versionId, findings.report) : findings.report
  const report = { ...found, leadsTo: [...new Set([...(found.leadsTo ?? []), ...(await mentionablePackages(em, here, versionId))])] }
  if (!(await writeReport(em, versionId, { ...findings, report }))) return false
  const { name, version, packageId, isLatest } = about
  const outcome = outcomeOf(report)
  const summary = `${name} ${version} ${outcome}`
  await recordEvents(em, [{ kind: 'package.scored', actor: null, summary, package: name, version }])
  await writeLog(em, { level: 'info', package: name, version, message: `${outcome} (${engineOf(report)})` })
  if (isLatest) await refreshIndex(em, here, packageId)
  return true
}

/** Stores only the public API and the checks; the rest of a report by another engine stays. Returns false if the version was deleted or has a later result. */
export async function storeSurface(
  em: EntityManager,
  here: Here,
  versionId: string,
  { generation, surface, apiVerdict, checks, isIncomplete }: Surface,
): Promise<boolean> {
  const about = await lockVersion(em, versionId)
  if (!about) return false
  const earlier = await readReport(em, versionId)
  const report = earlier && { ...earlier, checks }
  const judged = report && { report: JSON.stringify(report), ...percentages(report) }
  const result = { generation, finished_at: currentTimeOf(em), error: null, is_incomplete: isIncomplete, ...judged }
  if ((await changeRows(em, updateReport(versionId).set(result).where('generation', '<', generation))) === 0) return false
  await writeSurface(em, versionId, surface, apiVerdict)
  if (about.isLatest) await refreshIndex(em, here, about.packageId)
  return true
}

const percentages = (report: Report) => ({ percent: percentOf(report), checks_percent: percentOf(report) })
const updateReport = (versionId: string) => db.updateTable('score_reports').where('version_id', '=', versionId)

/** Returns the stored public API of a version, or null. */
export async function readSurfaceOf(em: EntityManager, versionId: string): Promise<Buffer | null> {
  const row = await readRow(em, db.selectFrom('version_surfaces').select('surface').where('version_id', '=', versionId))
  return row ? Buffer.from(row.surface) : null
}

type Surface = { generation: number; surface: Buffer; apiVerdict: ApiVerdict | null; checks: Criterion[]; isIncomplete: boolean }

/** Returns whether the last report of a version is by this engine. */
export async function hasReportOf(em: EntityManager, versionId: string, engine: Report['engine']['name']): Promise<boolean> {
  const reports = db.selectFrom('score_reports').select('version_id').where('version_id', '=', versionId)
  return (await readRow(em, reports.where('engine', '=', engine))) !== undefined
}

/** Adds a note to a report on why pana did not analyze the version. Returns the version, or null if it was deleted or has no report. */
export async function notePana(em: EntityManager, versionId: string, reason: string): Promise<{ package: string; version: string } | null> {
  const about = await lockVersion(em, versionId)
  const report = about && (await readReport(em, versionId))
  if (!report) return null
  const note = `${notJudged}${report.engine.name === 'pana' ? ' again' : ''}: ${reason}`
  const notes = [...report.notes.filter((one) => !one.startsWith(notJudged)), note]
  // Use a new generation, so that caches notice the change. Do not take the number of an analysis that is in progress.
  const noted = JSON.stringify({ ...report, notes })
  await changeRows(
    em,
    updateReport(versionId).set((eb) => {
      const next = eb('generation', '+', 1)
      const isBegun = eb('runs', '>', eb.ref('generation'))
      return { generation: next, runs: eb.case().when(isBegun).then(eb.ref('runs')).else(next).end(), report: noted }
    }),
  )
  return { package: about.name, version: about.version }
}
const notJudged = 'pana did not judge this version'

/** Records that the last analysis of a version failed permanently, in the transaction of `em`. An existing report stays. */
export async function storeFailure(em: EntityManager, versionId: string, error: string): Promise<void> {
  const about = await lockVersion(em, versionId)
  if (!about) return
  const failure = { error, finished_at: currentTimeOf(em) }
  await changeRows(
    em,
    db
      .insertInto('score_reports')
      .values({ version_id: versionId, runs: 1, ...failure })
      .onConflict((earlier) =>
        earlier.column('version_id').doUpdateSet(failure).whereRef('score_reports.generation', '<', 'score_reports.runs'),
      ),
  )
  const { name, version } = about
  const summary = `The analysis of ${name} ${version} failed: ${error}`
  await recordEvents(em, [{ kind: 'package.score_failed', actor: null, summary, package: name, version }])
  await writeLog(em, { level: 'error', package: name, version, message: error })
}

/** Adds what pana does not report to pana's report: checks, notes and documentation coverage of the built-in engine. */
async function withRemarks(em: EntityManager, versionId: string, report: Report): Promise<Report> {
  const earlier = await readReport(em, versionId)
  if (!earlier) return report
  const notes = earlier.notes.filter((note) => !note.startsWith(notJudged) && !report.notes.includes(note))
  const { leadsTo, isIncomplete } = earlier
  const documented = report.documented ?? earlier.documented
  return { ...report, notes: [...report.notes, ...notes], checks: checksOf(earlier), documented, leadsTo, isIncomplete }
}

async function readReport(em: EntityManager, versionId: string): Promise<Report | null> {
  const row = await readRow(em, db.selectFrom('score_reports').select('report').where('version_id', '=', versionId))
  return row?.report ? reportSchema.parse(JSON.parse(row.report)) : null
}

export const engineOf = ({ engine }: Pick<Report, 'engine'>): string => `${engine.name} ${engine.version}`

type About = { name: string; version: string; packageId: string; isLatest: boolean }

/** Locks the version's package. Returns the version, or null if it was deleted. */
async function lockVersion(em: EntityManager, versionId: string): Promise<About | null> {
  const packageId = db.selectFrom('package_versions').select('package_id').where('id', '=', versionId)
  await lockRows(em, db.selectFrom('packages').select('id').where('id', '=', packageId).forUpdate())
  const row = await readRow(
    em,
    db
      .selectFrom('package_versions as v')
      .innerJoin('packages as p', 'p.id', 'v.package_id')
      .select(['p.name', 'v.version', 'v.package_id', 'p.latest_version'])
      .where('v.id', '=', versionId),
  )
  return row ? { name: row.name, version: row.version, packageId: row.package_id, isLatest: row.version === row.latest_version } : null
}

async function writeReport(
  em: EntityManager,
  versionId: string,
  { generation, report, surface, apiVerdict, log }: Findings,
): Promise<boolean> {
  const { granted, maximum } = pointsOf(report)
  const text = JSON.stringify(report)
  if (text.length > maxReportLength)
    throw new PermanentFailure(`The report has ${text.length} characters; at most ${maxReportLength} are kept.`)
  const result = {
    generation,
    granted,
    maximum,
    ...percentages(report),
    report: text,
    error: null,
    finished_at: currentTimeOf(em),
    engine: report.engine.name,
    engine_version: report.engine.version.slice(0, 64),
    tags: searchableTags(report.tags).join(' '),
    log: log ?? null,
    is_incomplete: report.isIncomplete ?? false,
  }
  if ((await changeRows(em, updateReport(versionId).set(result).where('generation', '<', generation))) === 0) return false
  if (surface) await writeSurface(em, versionId, surface, apiVerdict ?? null)
  return true
}

async function writeSurface(em: EntityManager, versionId: string, surface: Buffer, verdict: ApiVerdict | null): Promise<void> {
  await changeRows(
    em,
    db
      .insertInto('version_surfaces')
      .values({ version_id: versionId, surface })
      .onConflict((earlier) => earlier.column('version_id').doUpdateSet((eb) => ({ surface: eb.ref('excluded.surface') }))),
  )
  await writeApiVerdict(em, versionId, verdict)
}

/** Maximum length of a report in UTF-16 code units: about ten times that of real reports. */
const maxReportLength = 512 * 1024

type GeneratedDocs = {
  subject: Subject
  docs: string
  engine: DocsEngine
  /** Number of the documentation attempt. A new attempt is started if omitted. */
  attempt?: number
}

/** Stores generated documentation of a version, with audit and log entries. Does nothing if the version was deleted or has newer pages. */
export async function storeDocs(services: Services, versionId: string, { subject, docs, engine, attempt }: GeneratedDocs): Promise<void> {
  const { name, version } = subject.facts
  const inSameTransaction = async (em: EntityManager) => {
    const summary = `API documentation of ${name} ${version} was generated`
    await recordEvents(em, [{ kind: 'package.docs_generated', actor: null, summary, package: name, version }])
    await writeLog(em, { level: 'info', package: name, version, message: `documentation generated (${engine.name} ${engine.version})` })
  }
  const number = attempt ?? (await beginAttempt(services.database.fork(), versionId))
  await storePages(services, versionId, { attempt: number, file: docs, engine, inSameTransaction })
}

type LogLine = { level: LogLevel; package?: string; version?: string; message: string }

const maxEntries = 1000

/** Adds an entry to the scoring log and deletes the oldest entries beyond the limit. Runs in the transaction of `em`, if there is one. */
export async function writeLog(em: EntityManager, { level, package: name, version, message }: LogLine): Promise<void> {
  const row = { id: newId(), created_at: currentTimeOf(em), level, package: name ?? null, version: version ?? null }
  await insertRows(em, 'scoring_log', [{ ...row, message: message.slice(0, 1000) }])
  const newestBeyond = db.selectFrom('scoring_log').select('id').orderBy('id', 'desc').limit(1).offset(maxEntries)
  await changeRows(em, db.deleteFrom('scoring_log').where('id', '<=', newestBeyond))
}
