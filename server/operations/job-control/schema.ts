import { builder } from '../../platform/graphql/builder.ts'
import { encodeGlobalID } from '@pothos/plugin-relay'
import { formerly } from '../../platform/graphql/former-schema.ts'
import { done, payload } from '../../platform/graphql/payload.ts'
import { byServerAdmin, JobRef } from '../../platform/jobs/schema.ts'
import type { EntityManager } from '@mikro-orm/sql'
import type { SignedInContext } from '../../platform/access/context.ts'
import { audit } from '../../accounts/audit/service.ts'
import { conflict, notFound } from '../../errors.ts'
import { db } from '../../platform/db/query.ts'
import { changeRows } from '../../platform/db/statements.ts'
import { Job } from '../../platform/jobs/entity.ts'
import { cancelInstall, sdkInstallKind, lockInstall } from '../../analysis/sdks/service.ts'

builder.mutationField('cancelJob', (t) =>
  t.withAuth(byServerAdmin).fieldWithInput({
    type: payload('CancelJobPayload', 'A job that was cancelled.', { jobId: { type: 'ID', description: 'Global id of the job.' } }),
    extensions: { formerResult: true },
    description:
      'Cancels a job. A queued job is removed; a running job is stopped and fails, and so does the SDK install that it performs.',
    typeOptions: { description: 'The job to cancel.' },
    argOptions: { description: 'ID of the job.' },
    input: { jobId: t.input.globalID({ required: true, for: [JobRef], description: 'ID of the job.', ...formerly('id') }) },
    resolve: (_root, { input }, context) => done(cancelJob(context, input.jobId.id), { jobId: encodeGlobalID('Job', input.jobId.id) }),
  }),
)

/**
 * Deletes a queued job, or fails a running one and its SDK install, and notifies its worker within seconds (jobs/attempt.ts).
 * Throws NotFound; Conflict if the job has already ended.
 */
async function cancelJob({ em, viewer, ip, now }: SignedInContext, id: string): Promise<void> {
  const { kind, subject } = await findJob(em, id)
  await em.fork().transactional(async (inner) => {
    // Lock the install before its job, in the same order as the start of an install.
    if (kind === sdkInstallKind) await lockInstall(inner, subject)
    const job = await lockJob(inner, id)
    if (job.state !== 'queued' && job.state !== 'running')
      throw conflict(`Only queued or running jobs can be cancelled. This job is ${job.state}.`)
    const error = `Cancelled by ${viewer.displayName}.`
    if (job.state === 'queued') inner.remove(job)
    else inner.assign(job, { state: 'failed', lease: null, leasedUntil: null, finishedAt: now(), error })
    if (kind === sdkInstallKind) await cancelInstall(inner, job, error, now())
    audit(inner, { kind: 'server.job_cancelled', actor: viewer, summary: `Cancelled the job ${job.kind} of ${job.subject}`, ip })
  })
}

/** Locks a job, starting with a write: on SQLite, a transaction that starts with a read cannot write after another has committed. */
async function lockJob(em: EntityManager, id: string): Promise<Job> {
  await changeRows(
    em,
    db
      .updateTable('jobs')
      .set(({ ref }) => ({ attempts: ref('attempts') }))
      .where('id', '=', id),
  )
  return findJob(em, id)
}

async function findJob(em: EntityManager, id: string): Promise<Job> {
  const job = await em.findOne(Job, { id })
  if (!job) throw notFound('There is no job with this id.')
  return job
}
