import { db } from '../../platform/db/query.ts'
import { readRow } from '../../platform/db/statements.ts'
import { countJobs } from '../../platform/jobs/queue.ts'
import { isScoringOn } from '../../platform/settings/scoring.ts'
import { healthOf } from '../../registry/mirror/health.ts'
import { sealedProblem } from '../checks/sealed.ts'
import { type AttentionCheck, countOf, itemsIfAny, item, plural } from './items.ts'

const dayMs = 86_400_000

export const checkJobs: AttentionCheck = async ({ database }) => {
  const { failed } = await countJobs(database.reads)
  return itemsIfAny(failed, { kind: 'jobs_failed', severity: 'warning', text: `${plural(failed, 'background job')} failed.` })
}

export const checkSdks: AttentionCheck = async ({ config, database }) => {
  if (!(await isScoringOn({ config, database }))) return []
  const rows = await database.reads.all(
    db
      .selectFrom('sdk_installs')
      .select(({ fn }) => ['kind', 'status', fn.countAll<number>().as('total')])
      .groupBy(['kind', 'status']),
  )
  const failed = rows.reduce((sum, { status, total }) => (status === 'failed' ? sum + total : sum), 0)
  const isReady = rows.some(({ status }) => status === 'ready')
  return [
    ...itemsIfAny(failed, { kind: 'sdk_failed', severity: 'warning', text: `${plural(failed, 'SDK')} could not be installed.` }),
    ...(isReady
      ? []
      : [item({ kind: 'sdk_missing', severity: 'info', text: 'No SDK is installed, so versions are scored without pana and dart doc.' })]),
  ]
}

export const checkNames: AttentionCheck = async (watched) => {
  const waiting = await countOf(
    watched,
    db
      .selectFrom('confusable_names')
      .select(({ fn }) => fn.countAll<number>().as('total'))
      .where('approved_at', 'is', null),
  )
  const text = `${plural(waiting, 'package name')} could be confused with others and ${waiting === 1 ? 'waits' : 'wait'} for a decision.`
  return itemsIfAny(waiting, { kind: 'names_waiting', severity: 'warning', text })
}

const awayMs = 10 * 60_000

/** Reports an upstream server that does not answer this process, and what it sent that could not be used. */
export const checkMirror: AttentionCheck = async (watched) => {
  const { config, database, now } = watched
  if (config.UPSTREAM_URL === undefined) return []
  const { failingSince, lastFailure } = healthOf(watched)
  const isAway = failingSince !== null && now().getTime() - failingSince.getTime() > awayMs
  const awayText = `${config.UPSTREAM_URL} does not answer${lastFailure === null ? '' : ` (${lastFailure})`}. Only packages in the mirror can be used.`
  const since = new Date(now().getTime() - dayMs)
  const latest = await readRow(database.fork(), latestFault(since))
  const faults = latest?.total ?? 0
  const text = `${config.UPSTREAM_URL} sent ${plural(faults, 'thing')} that could not be used in the last day. Latest: ${latest?.reason ?? ''}`
  return [
    ...(isAway ? [item({ kind: 'mirror_upstream_away', severity: 'warning', at: failingSince, text: awayText })] : []),
    ...itemsIfAny(faults, { kind: 'mirror_faults', severity: 'warning', at: latest?.last_at ?? null, text }),
  ]
}

/** The latest fault since a time, and the number of all of them. */
function latestFault(since: Date) {
  const faults = db.selectFrom('mirror_decisions').where('outcome', '=', 'fault').where('last_at', '>=', since)
  return faults
    .select(['last_at', 'reason'])
    .select(
      faults
        .select(({ fn }) => fn.countAll<number>().as('total'))
        .$asScalar()
        .$notNull()
        .as('total'),
    )
    .orderBy('last_at', 'desc')
    .orderBy('id', 'desc')
    .limit(1)
}

/** Reports secrets that cannot be decrypted, such as on a server that was restored with another JWT_SECRET. */
export const checkSecrets: AttentionCheck = async ({ config, database, keys }) => {
  const problem = await sealedProblem(database.fork(), config, keys)
  if (!problem) return []
  const { count, text, advice } = problem
  return [item({ kind: 'secrets_unreadable', severity: 'error', count, text: `${text} ${advice}` })]
}

export const checkInvitations: AttentionCheck = async (watched) => {
  const invited = await countOf(
    watched,
    db
      .selectFrom('users')
      .select(({ fn }) => fn.countAll<number>().as('total'))
      .where('kind', '=', 'person')
      .where('password_hash', 'is', null)
      .where('provider_sign_in_at', 'is', null)
      .where('is_active', '=', true),
  )
  const text = `${plural(invited, 'invited person', 'invited people')} ${invited === 1 ? 'has' : 'have'} not accepted yet.`
  return itemsIfAny(invited, { kind: 'invitations_unanswered', severity: 'info', text })
}
