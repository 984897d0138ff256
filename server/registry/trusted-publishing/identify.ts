import type { EntityManager } from '@mikro-orm/sql'
import type { InferResult } from 'kysely'
import { ApiError, insufficientPermissions, missingAuthentication } from '../../errors.ts'
import type { Identity } from '../../platform/access/authenticate.ts'
import type { Narrowing } from '../../platform/access/roles.ts'
import type { Services } from '../../services.ts'
import { newId } from '../../platform/db/base.ts'
import { db, prepared } from '../../platform/db/query.ts'
import { addressKey, countFailures } from '../../platform/http/limits.ts'
import { changeRows, lockRows, readRow } from '../../platform/db/statements.ts'
import { shown } from '../../platform/outbound/texts.ts'
import { evaluateRules, recordRejection } from './match.ts'
import { type Job, jobOf, spelledOut } from './rules.ts'
import { countRefusal, type VerifiedToken, verifyToken } from './verify.ts'

const jobs = db
  .selectFrom('ci_jobs as j')
  .select(['j.id', 'j.created_at', 'j.display_name', 'j.expires_at'])
  .select(({ exists, selectFrom }) => [
    exists(selectFrom('ci_job_rules as r').select('r.rule_id').whereRef('r.job_id', '=', 'j.id')).as('may_read'),
    exists(selectFrom('ci_job_rules as w').select('w.rule_id').whereRef('w.job_id', '=', 'j.id').where('w.is_read_only', '=', false)).as(
      'may_publish',
    ),
  ])
const jobByHash = prepared((hash: string) => jobs.where('j.hash', '=', hash))
const jobById = prepared((id: string) => jobs.where('j.id', '=', id))
type JobRow = Readonly<InferResult<typeof jobs>[number]>

/**
 * Identifies a job by its token: with one keyed read, once the token was verified and a rule allows the job to read. Rules that change are evaluated
 * again. Verifications that fail are limited per client address.
 * @throws ApiError MissingAuthentication; InsufficientPermissions if no rule allows the job to read packages; RateLimitExceeded.
 */
export async function identifyCiJob(services: Services, token: string, hash: string, ip: string): Promise<Identity> {
  const { database, now } = services
  const known = await database.reads.recall(jobByHash, hash)
  if (known?.may_read && known.expires_at > now()) return identityOf(known)
  const judge = async () => {
    try {
      return await matchRules(services, await verifyToken(services, token), hash)
    } catch (error) {
      if (error instanceof ApiError && error.status < 500) return error
      throw error
    }
  }
  const isRejected = (error: unknown) => error !== undefined
  const problem = await countFailures(services.limits, 'jobToken', addressKey(ip), judge, isRejected).catch((error: ApiError) => {
    if (error.code === 'RateLimitExceeded') countRefusal(services, 'rate_limited')
    throw error
  })
  if (problem) throw problem
  const row = await database.reads.get(jobByHash, hash)
  if (!row?.may_read) throw missingAuthentication('The rules for this job have just changed. Try again.')
  return identityOf(row)
}

/** Returns the identity of a job that started an upload, or null if its token has expired or no rule allows the job anything. */
export async function findCiJob({ database, now }: Services, id: string): Promise<Identity | null> {
  const row = await database.reads.get(jobById, id)
  return row?.may_read && row.expires_at > now() ? identityOf(row) : null
}

function identityOf(row: JobRow): Identity {
  let identity = identities.get(row)
  if (!identity) identities.set(row, (identity = buildIdentity(row)))
  return identity
}

// Cached by row. Reads.recall returns the same object for an unchanged row.
const identities = new WeakMap<JobRow, Identity>()

function buildIdentity(row: JobRow): Identity {
  const mayPublish = Boolean(row.may_publish)
  return {
    viewer: {
      id: row.id,
      email: '',
      displayName: row.display_name,
      kind: 'service',
      role: mayPublish ? 'member' : 'viewer',
      isActive: true,
      mustChangePassword: false,
      createdAt: row.created_at,
      isCiJob: true,
    },
    credential: {
      kind: 'token',
      id: row.id,
      scopes: mayPublish ? ['read', 'write'] : ['read'],
      expiresAt: row.expires_at,
      // A rule can allow new names, so the package is checked when an upload is finished.
      narrowing: mayPublish ? { actions: new Set(['read', 'publish']), covers: null } : readOnly,
    },
    // The use of a job is recorded with its rules.
    lastUsedAt: endOfTime,
  }
}

const readOnly: Narrowing = {
  actions: new Set(['read']),
  covers: null,
  hint: 'All trusted publishers that match this job are read-only.',
}

const endOfTime = new Date(8.64e15)

/** Stores a verified token with the rules that allow its job to read. @throws ApiError InsufficientPermissions without any. */
async function matchRules(services: Services, token: VerifiedToken, hash: string): Promise<void> {
  const { database, now } = services
  const job = jobOf(token.preset, token.issuerName, token.claims)
  const problem = await database.fork().transactional(async (em) => {
    await lockRows(em, db.selectFrom('token_issuers').select('id').where('id', '=', token.issuerId).forShare())
    const { allowed, problem: reason } = await evaluateRules(em, token.issuerId, job)
    if (allowed.length === 0) return reason ?? 'none'
    const jobId = await storeJob(em, token, job, hash, now())
    for (const { id, isReadOnly } of allowed) {
      const row = { job_id: jobId, rule_id: id, is_read_only: isReadOnly }
      await changeRows(
        em,
        db
          .insertInto('ci_job_rules')
          .values(row)
          .onConflict((conflict) => conflict.columns(['job_id', 'rule_id']).doNothing()),
      )
    }
    const use = { last_used_at: now(), last_use: shown(`${nameJob(job)} read packages.`, 500) }
    const ids = allowed.map(({ id }) => id)
    await changeRows(em, db.updateTable('trusted_publishers').set(use).where('id', 'in', ids))
    return null
  })
  if (problem === null) return
  if (problem !== 'none') await recordRejection(services, problem)
  else countRefusal(services, 'no_rule')
  const noRule = `No trusted publisher allows jobs of ${nameJob(job)} to read packages of this server.`
  throw insufficientPermissions(problem === 'none' ? noRule : problem.message)
}

/** Returns how a job is named for people, such as `acme/acme_ui (GitHub Actions)`. */
export const nameJob = ({ issuerName, facts }: Job): string => `${spelledOut(facts.repository ?? 'an unknown repository')} (${issuerName})`

/** Stores a verified token, and deletes expired ones. Returns its id. */
async function storeJob(em: EntityManager, token: VerifiedToken, job: Job, hash: string, now: Date): Promise<string> {
  await changeRows(em, db.deleteFrom('ci_jobs').where('expires_at', '<', new Date(now.getTime() - 3_600_000)))
  const row = {
    id: newId(),
    created_at: now,
    hash,
    issuer_id: token.issuerId,
    display_name: shown(nameJob(job), 400),
    claims: JSON.stringify(token.claims),
    expires_at: token.expiresAt,
  }
  await changeRows(
    em,
    db
      .insertInto('ci_jobs')
      .values(row)
      .onConflict((conflict) => conflict.column('hash').doNothing()),
  )
  return (await readRow(em, db.selectFrom('ci_jobs').select('id').where('hash', '=', hash)))?.id ?? row.id
}
