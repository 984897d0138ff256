import type { EntityManager } from '@mikro-orm/sql'
import { sql } from 'kysely'
import { z } from 'zod'
import type { SignedInContext } from '../../platform/access/context.ts'
import { db } from '../../platform/db/query.ts'
import { readRow, readRows } from '../../platform/db/statements.ts'
import { conflict } from '../../errors.ts'
import { analysisKind } from '../docs/service.ts'
import { reportSchema } from '../report/report.ts'
import type { PackageFacts } from '../report/task.ts'
import { enqueue, enqueueFrom } from '../../platform/jobs/queue.ts'
import { isDependencyHere } from '../../registry/packages/conditions.ts'
import { type Here, hostedHere } from '../../registry/packages/hosting.ts'
import { unknownPackage, unknownVersion } from '../../registry/packages/parameters.ts'
import { writeLog } from './store.ts'
import { currentSettings, isScoringOn, isSwitchedOff, loadScoringSettings } from '../../platform/settings/scoring.ts'

/** Kind of the jobs that analyze a version with pana, after the built-in engine. */
export const panaKind = 'analysis.pana'

/** Priority of background analyses. Lower values run first, so newly published versions take precedence. */
const remainingPriority = 10

type Requester = Pick<SignedInContext, 'config' | 'viewer'> & { at: Date }

/** Queues the first analysis of a version that is being published, in the transaction of `em`, unless scoring is off. Uses a single statement. */
export async function requestFirstAnalysis(em: EntityManager, versionId: string, { config, viewer, at }: Requester): Promise<void> {
  if (!config.SCORING_ENABLED) return
  const subject = db
    .selectNoFrom((eb) => [eb.cast<string>(eb.val(versionId), 'varchar').as('subject'), eb.lit(0).$castTo<number>().as('place')])
    .where((eb) => eb.not(isSwitchedOff))
  await enqueueFrom(em, { kind: analysisKind, owner: viewer.id }, subject, at)
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

/** Queues new analyses of packages whose visibility changed, in the transaction of `em`, because reports depend on what their readers may know. */
export async function requestAnalysesOf(em: EntityManager, packageIds: string[], { config, viewer, at }: Requester): Promise<void> {
  if (!config.SCORING_ENABLED || packageIds.length === 0) return
  const analyzed = db
    .selectFrom('package_versions as v')
    .innerJoin('score_reports as r', 'r.version_id', 'v.id')
    .select((eb) => [
      eb.cast<string>('r.version_id', 'varchar').as('subject'),
      sql<number>`row_number() over (order by ${eb.ref('v.id')} desc) - 1`.as('place'),
    ])
    .where('v.package_id', 'in', packageIds)
    .where('r.granted', 'is not', null)
    .where((eb) => eb.not(isSwitchedOff))
  await enqueueFrom(em, { kind: analysisKind, owner: viewer.id }, analyzed, at)
}

/** Returns direct and transitive dependents whose reports lacked data about this version, if it is the latest version. */
export async function versionsToRepeat(
  em: EntityManager,
  here: Here,
  { name, version }: Pick<PackageFacts, 'name' | 'version'>,
): Promise<string[]> {
  const hosted = hostedHere(here)
  const rows = await readRows(
    em,
    db
      .withRecursive('needing(name)', (query) =>
        query
          .selectFrom('packages as p')
          .select('p.name')
          .where('p.name', '=', name)
          .where('p.latest_version', '=', version)
          .union(
            query
              .selectFrom('needing as n')
              .innerJoin('package_dependencies as d', 'd.name', 'n.name')
              .innerJoin('package_versions as v', 'v.id', 'd.version_id')
              .innerJoin('packages as p', 'p.id', 'v.package_id')
              .select('p.name')
              .where('d.kind', '=', 'direct')
              .where((eb) => isDependencyHere({ sdk: eb.ref('d.sdk'), url: eb.ref('d.hosted_url') }, hosted)),
          ),
      )
      .selectFrom('needing as n')
      .innerJoin('packages as p', 'p.name', 'n.name')
      .innerJoin('package_versions as v', 'v.package_id', 'p.id')
      .innerJoin('score_reports as r', 'r.version_id', 'v.id')
      .select(['v.id', 'r.report'])
      .where('r.engine', '=', 'built-in')
      .where('r.report', 'like', `%"unknownPackages":[%"${name}"%`)
      .limit(1000),
  )
  // Filter again: the `like` condition also matches other lists of package names in the report.
  const lacksPackage = (report: string) => reportSchema.parse(JSON.parse(report)).unknownPackages?.includes(name)
  return rows.filter(({ report }) => report !== null && lacksPackage(report)).map(({ id }) => id)
}

/** Payload of an analysis job. `isForOthers`: repeated because of a dependency, so dependents are not analyzed again. */
export const analysisPayload = z.object({ isForOthers: z.boolean().default(false) })

/** Queues repeated analyses in the transaction of `em`, with more data about dependencies. Skips versions that are already queued. */
export async function requestRepeats(em: EntityManager, versionIds: readonly string[], at: Date): Promise<void> {
  if (versionIds.length === 0) return
  const versions = db
    .selectFrom('package_versions')
    .select((eb) => [eb.cast<string>('id', 'varchar').as('subject'), eb.lit(0).$castTo<number>().as('place')])
    .where('id', 'in', versionIds)
  const payload = { isForOthers: true } satisfies z.input<typeof analysisPayload>
  await enqueueFrom(em, { kind: analysisKind, payload, priority: remainingPriority }, versions, at)
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
 * Queues an analysis of every version without checks, or of every version (`again`), newest first, after newly published versions. Returns their
 * number. @throws ApiError Conflict while scoring is off.
 */
export async function scoreVersions(context: SignedInContext, { again = false } = {}): Promise<number> {
  await requireScoring(context)
  const { em, now, viewer } = context
  const row = await readRow(
    em,
    db.selectFrom('package_versions').select(({ fn }) => fn.countAll<number>().as('total')),
  )
  // Due times in the past, one millisecond apart, make all jobs runnable now and keep their order.
  const first = now().getTime() - (row?.total ?? 0)
  let queued = 0
  for (let window = { start: afterAll, place: 0 }; ;) {
    const { start, place } = window
    queued += await queueBelow(em, { start, again, at: now(), from: new Date(first + place) })
    const last = await readRow(
      em,
      versionsBelow(start)
        .limit(1)
        .offset(windowSize - 1),
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

const versionsBelow = (start: string) => db.selectFrom('package_versions').select('id').where('id', '<', start).orderBy('id', 'desc')

type Window = { start: string; again: boolean; at: Date; from: Date }

/** Queues the next window of versions in descending order of their ids, which increase with time. */
function queueBelow(em: EntityManager, { start, again, at, from }: Window): Promise<number> {
  const numbered = db
    .selectFrom(versionsBelow(start).limit(windowSize).as('v'))
    .select((eb) => ['v.id', sql<number>`row_number() over (order by ${eb.ref('v.id')} desc)`.as('place')])
  const versions = db
    .selectFrom(numbered.as('n'))
    .select((eb) => [eb.cast<string>('n.id', 'varchar').as('subject'), 'n.place'])
    .$if(!again, (all) =>
      all.where((eb) =>
        eb.not(
          eb.exists(
            eb
              .selectFrom('score_reports as r')
              .select('r.version_id')
              .whereRef('r.version_id', '=', 'n.id')
              .where('r.checks_percent', 'is not', null),
          ),
        ),
      ),
    )
    .where((eb) =>
      eb.not(
        eb.exists(
          eb
            .selectFrom('jobs as j')
            .select('j.id')
            .where('j.kind', '=', analysisKind)
            .where('j.subject', '=', eb.cast<string>('n.id', 'varchar'))
            .where('j.state', 'in', ['queued', 'running']),
        ),
      ),
    )
  return enqueueFrom(em, { kind: analysisKind, priority: remainingPriority, runAt: from }, versions, at)
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
  const row = await readRow(
    em,
    db
      .selectFrom('packages as p')
      .leftJoin('package_versions as v', (join) =>
        join
          .onRef('v.package_id', '=', 'p.id')
          .on((eb) => eb('v.version', '=', version === null ? eb.ref('p.latest_version') : eb.val(version))),
      )
      .select(['v.id', 'v.version'])
      .where('p.name', '=', name),
  )
  if (!row) throw unknownPackage(name)
  const { id, version: found } = row
  if (id === null || found === null) throw unknownVersion(name, version ?? 'latest')
  return { id, version: found }
}
