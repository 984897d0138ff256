import type { EntityManager } from '@mikro-orm/sql'
import type { InferResult } from 'kysely'
import { db } from '../../platform/db/query.ts'
import { changeRows, readRow, readRows } from '../../platform/db/statements.ts'
import type { Services } from '../../services.ts'
import { type Job, lowerCase, type Problem, readProblem, type Rule } from './rules.ts'
import { countRefusal } from './verify.ts'

/** Returns the rules that allow a job to read, locked to its repository; without any, the reason of the rule that is closest to it. */
export async function evaluateRules(em: EntityManager, issuerId: string, job: Job): Promise<{ allowed: Rule[]; problem: Problem | null }> {
  const { repository, repositoryId } = job.facts
  const rows = await readRows(
    em,
    rules
      .where('issuer_id', '=', issuerId)
      .where((eb) =>
        eb.or([
          eb('repository', 'is', null),
          eb('repository', 'like', '%*%'),
          eb('repository', '=', repository ?? ''),
          eb(eb.fn<string>('lower', ['repository']), '=', lowerCase(repository ?? '')),
          ...(repositoryId === null ? [] : [eb('locked_repository_id', '=', repositoryId)]),
        ]),
      ),
  )
  const allowed: Rule[] = []
  const problems: Problem[] = []
  for (const rule of rows.map(toRule)) {
    const locked = await lockToRepository(em, rule, job, readProblem)
    if (!('message' in locked)) allowed.push(locked)
    else if (locked.rank > 0 || isAboutSameRepository(rule, job)) problems.push(locked)
  }
  return { allowed, problem: closest(problems) }
}

/** Whether a rule names the job's repository in another case, or before it was renamed. Other rules do not concern the job. */
const isAboutSameRepository = ({ repository, lockedRepositoryId }: Rule, { facts }: Job): boolean =>
  (lockedRepositoryId !== null && lockedRepositoryId === facts.repositoryId) ||
  (repository !== null && facts.repository !== null && lowerCase(repository) === lowerCase(facts.repository))

/** Returns the problem of the rule that is closest to allowing the job. */
export const closest = (problems: readonly Problem[]): Problem | null =>
  problems.reduce<Problem | null>((best, one) => (best && best.rank >= one.rank ? best : one), null)

export const rules = db
  .selectFrom('trusted_publishers')
  .select(['id', 'repository', 'workflow', 'environment', 'events', 'claims', 'tag_pattern', 'is_read_only'])
  .select(['locked_repository_id', 'locked_owner_id', 'publisher_id'])
  .orderBy('id')

export const toRule = (row: InferResult<typeof rules>[number]): Rule => ({
  id: row.id,
  repository: row.repository,
  workflow: row.workflow,
  environment: row.environment,
  events: row.events.split(',').filter(Boolean),
  claims: JSON.parse(row.claims) as Record<string, string>,
  tagPattern: row.tag_pattern,
  isReadOnly: row.is_read_only,
  lockedRepositoryId: row.locked_repository_id,
  lockedOwnerId: row.locked_owner_id,
  publisherId: row.publisher_id,
})

/**
 * Evaluates a rule and locks it to the ids of the job's repository at its first use. Of concurrent jobs, one locks it and the others are compared
 * with that. Patterns of repositories are locked to the owner only, and patterns of owners, or that include subgroups of GitLab, not at all.
 */
export async function lockToRepository(
  em: EntityManager,
  rule: Rule,
  job: Job,
  check: (rule: Rule, job: Job) => Problem | null,
): Promise<Rule | Problem> {
  const problem = check(rule, job)
  if (problem) return problem
  const { repositoryId, ownerId } = job.facts
  const { repository, lockedRepositoryId, lockedOwnerId } = rule
  const repositoryLock = repository?.includes('*') === false ? repositoryId : null
  const hasOneOwner = repository?.includes('/') && !(job.preset === 'gitlab' ? repository : repository.replace(/[^/]*$/, '')).includes('*')
  const ownerLock = hasOneOwner ? ownerId : null
  if ([repositoryLock, ownerLock].some((id) => (id?.length ?? 0) > 255))
    return { ruleId: rule.id, rank: 1, message: 'The id of the repository or its owner is longer than 255 characters.' }
  if ((lockedRepositoryId ?? repositoryLock) === lockedRepositoryId && (lockedOwnerId ?? ownerLock) === lockedOwnerId) return rule
  const lock = db
    .updateTable('trusted_publishers')
    .set({ locked_repository_id: lockedRepositoryId ?? repositoryLock, locked_owner_id: lockedOwnerId ?? ownerLock })
    .where('id', '=', rule.id)
    .where('locked_repository_id', lockedRepositoryId === null ? 'is' : '=', lockedRepositoryId)
    .where('locked_owner_id', lockedOwnerId === null ? 'is' : '=', lockedOwnerId)
  await changeRows(em, lock)
  const row = await readRow(em, rules.where('id', '=', rule.id))
  if (!row) return { ruleId: rule.id, rank: 1, message: 'The rule for this job has just been removed.' }
  const current = toRule(row)
  return check(current, job) ?? current
}

const rejectionMs = 60_000

/** Counts a job that a rule rejected, and records why. The same reason is written at most once a minute. */
export async function recordRejection(services: Pick<Services, 'database' | 'now' | 'state'>, { ruleId, message }: Problem): Promise<void> {
  const { database, now } = services
  countRefusal(services, 'rule')
  const at = now()
  const rejection = db
    .updateTable('trusted_publishers')
    .set({ last_rejected_at: at, last_rejection: message })
    .where('id', '=', ruleId)
    .where((eb) =>
      eb.or([
        eb('last_rejected_at', 'is', null),
        eb('last_rejected_at', '<', new Date(at.getTime() - rejectionMs)),
        eb('last_rejection', '<>', message),
      ]),
    )
  await changeRows(database.fork(), rejection)
}
