import { AccessToken } from '../../accounts/tokens/entity.ts'
import { countJobs } from '../../platform/jobs/queue.ts'
import { isScoringOn } from '../../platform/settings/scoring.ts'
import { type AttentionCheck, countOf, counted, item, plural } from './items.ts'

const [expiringDays, dayMs] = [14, 86_400_000]

export const checkJobs: AttentionCheck = async ({ database }) => {
  const { failed } = await countJobs(database.reads)
  return counted(failed, { kind: 'jobs_failed', severity: 'warning', text: `${plural(failed, 'background job')} failed.` })
}

export const checkSdks: AttentionCheck = async ({ config, database }) => {
  if (!(await isScoringOn({ config, database }))) return []
  const rows = await database.reads.all<{ kind: string; status: string; total: number | string }>(
    'select kind, status, count(*) as total from sdk_installs group by kind, status',
  )
  const failed = rows.reduce((sum, { status, total }) => (status === 'failed' ? sum + Number(total) : sum), 0)
  const isReady = rows.some(({ status }) => status === 'ready')
  return [
    ...counted(failed, { kind: 'sdk_failed', severity: 'warning', text: `${plural(failed, 'SDK')} could not be installed.` }),
    ...(isReady
      ? []
      : [item({ kind: 'sdk_missing', severity: 'info', text: 'No SDK is installed, so versions are scored without pana and dart doc.' })]),
  ]
}

export const checkNames: AttentionCheck = async (watched) => {
  const waiting = await countOf(watched, 'select count(*) as total from confusable_names where approved_at is null')
  const text = `${plural(waiting, 'package name')} could be confused with others and ${waiting === 1 ? 'waits' : 'wait'} for a decision.`
  return counted(waiting, { kind: 'names_waiting', severity: 'warning', text })
}

export const checkTokens: AttentionCheck = async ({ database, now }) => {
  const [from, before] = [now(), new Date(now().getTime() + expiringDays * dayMs)]
  const where = { revokedAt: null, scopes: { $like: '%admin%' }, expiresAt: { $gte: from, $lt: before } }
  const em = database.fork()
  const [soonest] = await em.find(AccessToken, where, { fields: ['expiresAt'], orderBy: { expiresAt: 'asc' }, limit: 1 })
  if (!soonest) return []
  const expiring = await em.count(AccessToken, where)
  const text = `${plural(expiring, 'administrator token')} ${expiring === 1 ? 'expires' : 'expire'} within ${expiringDays} days. Scripts that use ${expiring === 1 ? 'it' : 'them'} stop working then.`
  return counted(expiring, { kind: 'tokens_expiring', severity: 'warning', at: soonest.expiresAt ?? null, text })
}

export const checkInvitations: AttentionCheck = async (watched) => {
  const invited = await countOf(watched, 'select count(*) as total from users where password_hash is null and is_active')
  const text = `${plural(invited, 'invited person', 'invited people')} ${invited === 1 ? 'has' : 'have'} not accepted yet.`
  return counted(invited, { kind: 'invitations_unanswered', severity: 'info', text })
}
