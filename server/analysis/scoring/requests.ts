import { BasePostgreSqlPlatform, type EntityManager } from '@mikro-orm/sql'
import { z } from 'zod'
import type { SignedInContext } from '../../platform/access/context.ts'
import { newId } from '../../platform/db/base.ts'
import { changeRows, readRow, readRows } from '../../platform/db/statements.ts'
import { conflict } from '../../errors.ts'
import { reportSchema } from '../report/report.ts'
import type { PackageFacts } from '../report/task.ts'
import { enqueue, nextTurn, turnMs, wakeAfterCommit } from '../../platform/jobs/queue.ts'
import { type Here, hostedHere } from '../../registry/packages/hosting.ts'
import { unknownPackage, unknownVersion } from '../../registry/packages/parameters.ts'
import { isDependencyHere } from './facts.ts'
import { writeLog } from './store.ts'
import { currentSettings, isScoringOn, isSwitchedOff, loadScoringSettings } from '../../platform/settings/scoring.ts'

/** Job kinds for analyzing a version, whose id is the job's subject: with the built-in engine, and with pana afterwards. */
export const analysisKind = 'analysis'
export const panaKind = 'analysis.pana'

/** Priority of background analyses. Lower values run first, so newly published versions take precedence. */
const remainingPriority = 10

type Requester = Pick<SignedInContext, 'config' | 'viewer'> & { at: Date }

/** Queues the first analysis of a version that is being published, in the transaction of `em`, unless scoring is off. Uses a single statement. */
export async function requestFirstAnalysis(em: EntityManager, versionId: string, { config, viewer, at }: Requester): Promise<void> {
  if (!config.SCORING_ENABLED) return
  const { uuid, text, moment } = casts(em)
  const id = newId()
  await changeRows(
    em,
    `insert into jobs (id, created_at, kind, subject, payload, state, run_at, owner, turn)
     select ${uuid('?')}, ${moment('?')}, '${analysisKind}', ?, '{}', 'queued', ${moment('?')}, ${text('?')}, ${turnOf(em)}
     where not ${isSwitchedOff}`,
    [id, at, versionId, at, viewer.id, at.getTime(), viewer.id],
  )
  wakeAfterCommit(em, id)
}

/** Queues analyses of existing versions, such as restored ones, in the transaction of `em`, unless scoring is off. An analysis that is still queued is not queued again. */
export async function requestAnalysesOfVersions(
  em: EntityManager,
  ids: readonly string[],
  { config, viewer, at }: Requester,
): Promise<void> {
  if (!(await loadScoringSettings({ config, em })).scoringEnabled) return
  for (const subject of ids) await enqueue(em, { kind: analysisKind, subject, owner: viewer.id }, at)
}

/** SQL: the turn of an account's next analysis in the fair queue. Parameters: the current time in milliseconds, and the account. */
const turnOf = (em: EntityManager): string => nextTurn(casts(em).integer('?'), `'${analysisKind}'`, '?')

/** Queues new analyses of packages whose visibility changed, in the transaction of `em`, because reports depend on what their readers may know. */
export async function requestAnalysesOf(em: EntityManager, packageIds: string[], { config, viewer, at }: Requester): Promise<void> {
  if (!config.SCORING_ENABLED || packageIds.length === 0) return
  const { uuid, text, moment } = casts(em)
  const turn = `${turnOf(em)} + ${turnMs} * (row_number() over (order by v.id desc) - 1)`
  await changeRows(
    em,
    `insert into jobs (id, created_at, kind, subject, payload, state, run_at, owner, turn)
     select ${jobIdFor(em, 'r.version_id')}, ${moment('?')}, '${analysisKind}', ${text('r.version_id')}, '{}', 'queued', ${moment('?')}, ${text('?')}, ${turn}
     from package_versions v join score_reports r on r.version_id = v.id
     where v.package_id in (${packageIds.map(() => uuid('?')).join(', ')}) and r.granted is not null and not ${isSwitchedOff}
     on conflict do nothing`,
    [newId().slice(0, idTimeLength), at, at, viewer.id, at.getTime(), viewer.id, ...packageIds],
  )
  wakeAfterCommit(em)
}

/** Returns direct and transitive dependents whose reports lacked data about this version, if it is the latest version. */
export async function versionsToRepeat(
  em: EntityManager,
  here: Here,
  { name, version }: Pick<PackageFacts, 'name' | 'version'>,
): Promise<string[]> {
  const hosted = hostedHere(here)
  const rows = await readRows<{ id: string; report: string }>(
    em,
    `with recursive needing(name) as (
       select p.name from packages p where p.name = ? and p.latest_version = ?
       union
       select p.name from needing n join package_dependencies d on d.name = n.name and d.kind = 'direct' and ${isDependencyHere}
         join package_versions v on v.id = d.version_id join packages p on p.id = v.package_id
     )
     select v.id, r.report from needing n join packages p on p.name = n.name join package_versions v on v.package_id = p.id
       join score_reports r on r.version_id = v.id
     where r.engine = 'built-in' and r.report like ? limit 1000`,
    [name, version, hosted, `%"unknownPackages":[%"${name}"%`],
  )
  // Filter again: the `like` condition also matches other lists of package names in the report.
  return rows.filter(({ report }) => reportSchema.parse(JSON.parse(report)).unknownPackages?.includes(name)).map(({ id }) => id)
}

/** Payload of an analysis job. `isForOthers`: repeated because of a dependency, so dependents are not analyzed again. */
export const analysisPayload = z.object({ isForOthers: z.boolean().default(false) })

/** Queues repeated analyses in the transaction of `em`, with more data about dependencies. Skips versions that are already queued. */
export async function requestRepeats(em: EntityManager, versionIds: readonly string[], at: Date): Promise<void> {
  const payload = JSON.stringify({ isForOthers: true } satisfies z.input<typeof analysisPayload>)
  for (const versionId of versionIds) {
    await changeRows(
      em,
      `insert into jobs (id, created_at, kind, subject, payload, state, priority, run_at, turn)
       values (?, ?, '${analysisKind}', ?, ?, 'queued', ${remainingPriority}, ?, 0) on conflict do nothing`,
      [newId(), at, versionId, payload, at],
    )
  }
  if (versionIds.length > 0) wakeAfterCommit(em)
}

/** SQL: the id of a version's job, made of the current time (the parameter) and the rest of the version's id. */
function jobIdFor(em: EntityManager, versionId: string): string {
  const { uuid, text } = casts(em)
  return uuid(`? || substr(${text(versionId)}, ${idTimeLength + 1})`)
}

/** Length of the time prefix of an id, in characters. */
const idTimeLength = 15

/** SQL casts that PostgreSQL needs for parameters in a select list. */
function casts(em: EntityManager) {
  const isPostgres = em.getPlatform() instanceof BasePostgreSqlPlatform
  const cast = (type: string) => (value: string) => (isPostgres ? `cast(${value} as ${type})` : value)
  const after = (from: string, ms: string) =>
    isPostgres ? `${cast('timestamptz')(from)} + ${ms} * interval '1 millisecond'` : `${from} + ${ms}`
  return { uuid: cast('uuid'), text: cast('varchar'), integer: cast('bigint'), moment: cast('timestamptz'), after }
}

type Target = { package: string; version: string }

/** Queues a new analysis of a version. Returns the id of the job. @throws ApiError NotFound; Conflict while scoring is off. */
export async function rescore(context: SignedInContext, { package: name, version }: Target): Promise<string> {
  const { id } = await findTarget(context.em, name, version)
  await requireScoring(context)
  return request(context, { package: name, version }, id, 'a new analysis')
}

/** Queues an analysis that regenerates the latest version's documentation. Returns the job's id. @throws ApiError NotFound; Conflict if off. */
export async function regenerateDocs(context: SignedInContext, name: string): Promise<string> {
  const { id, version } = await findTarget(context.em, name, null)
  await requireScoring(context)
  if (!(await currentSettings(context)).docsEnabled)
    throw conflict('Generating documentation is switched off. Switch it on in the scoring settings first.')
  return request(context, { package: name, version }, id, 'new documentation')
}

/**
 * Queues an analysis of every version without a report, or of every version (`again`), newest first, after newly published versions. Returns their
 * number. @throws ApiError Conflict while scoring is off.
 */
export async function scoreVersions(context: SignedInContext, { again = false } = {}): Promise<number> {
  await requireScoring(context)
  const { em, now, viewer } = context
  const row = await readRow<{ total: number | string }>(em, 'select count(*) as total from package_versions', [])
  // Due times in the past, one millisecond apart, make all jobs runnable now and keep their order.
  const first = now().getTime() - Number(row?.total ?? 0)
  let queued = 0
  for (let window = { start: afterAll, place: 0 }; ;) {
    const { start, place } = window
    queued += await queueBelow(em, { start, again, at: now(), from: new Date(first + place) })
    const last = await readRow<{ id: string }>(
      em,
      `select id from package_versions where id < ? order by id desc limit 1 offset ${windowSize - 1}`,
      [start],
    )
    if (!last) break
    window = { start: last.id, place: place + windowSize }
  }
  const what = again ? 'every version again' : 'the versions without a report'
  await writeLog(em, { level: 'info', message: `${viewer.displayName} requested the analysis of ${what}: ${queued} queued` })
  return queued
}

/** The maximum UUID. Sorts after every id. */
const afterAll = 'ffffffff-ffff-ffff-ffff-ffffffffffff'
/** Number of versions per statement. Other writers can run between two statements. */
const windowSize = 500

type Window = { start: string; again: boolean; at: Date; from: Date }

/** Queues the next window of versions in descending order of their ids, which increase with time. */
async function queueBelow(em: EntityManager, { start, again, at, from }: Window): Promise<number> {
  const { text, moment, after } = casts(em)
  const lacksReport = 'not exists (select 1 from score_reports r where r.version_id = n.id and r.granted is not null)'
  const count = await changeRows(
    em,
    `insert into jobs (id, created_at, kind, subject, payload, state, priority, run_at)
     select ${jobIdFor(em, 'n.id')}, ${moment('?')}, '${analysisKind}', ${text('n.id')}, '{}', 'queued', ${remainingPriority}, ${after('?', 'n.place')}
     from (select v.id, row_number() over (order by v.id desc) as place
           from (select id from package_versions where id < ? order by id desc limit ${windowSize}) v) n
     where ${again ? 'true' : lacksReport}
       and not exists (select 1 from jobs j where j.kind = '${analysisKind}' and j.subject = ${text('n.id')} and j.state in ('queued', 'running'))
     on conflict do nothing`,
    [newId().slice(0, idTimeLength), at, from, start],
  )
  if (count > 0) wakeAfterCommit(em)
  return count
}

/** @throws ApiError Conflict while scoring is off. */
async function requireScoring(context: SignedInContext): Promise<void> {
  if (!context.config.SCORING_ENABLED)
    throw conflict('Scoring is switched off by the environment of this server. Set SCORING_ENABLED=true and restart it.')
  if (!(await isScoringOn(context))) throw conflict('Scoring is switched off. Switch it on in the scoring settings first.')
}

function request({ em, now, viewer }: SignedInContext, about: Target, versionId: string, what: string): Promise<string> {
  return em.fork().transactional(async (inner) => {
    await writeLog(inner, { level: 'info', ...about, message: `${viewer.displayName} requested ${what}` })
    return enqueue(inner, { kind: analysisKind, subject: versionId, owner: viewer.id }, now())
  })
}

/** Returns the given version, or the latest one. @throws ApiError NotFound. */
async function findTarget(em: EntityManager, name: string, version: string | null): Promise<{ id: string; version: string }> {
  const row = await readRow<{ id: string | null; version: string }>(
    em,
    `select v.id, v.version from packages p left join package_versions v on v.package_id = p.id and v.version = coalesce(cast(? as varchar(64)), p.latest_version)
     where p.name = ?`,
    [version, name],
  )
  if (!row) throw unknownPackage(name)
  if (row.id === null) throw unknownVersion(name, version ?? 'latest')
  return { id: row.id, version: row.version }
}
