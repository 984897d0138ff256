import { builder } from '../graphql/builder.ts'
import { payload } from '../graphql/payload.ts'
import { Job, type JobState } from './entity.ts'
import { listJobs } from './list.ts'
import { byServerAdmin, canSeeJobs } from './policy.ts'
import { countJobs, retryJob } from './queue.ts'
import { JobCountsRef } from './refs.ts'

const JobStateEnum = builder.enumType('JobState', {
  description: 'How far a job is.',
  values: {
    QUEUED: { value: 'queued', description: 'It waits, for the first time or for another attempt.' },
    RUNNING: { value: 'running', description: 'Somebody is doing it.' },
    DONE: { value: 'done', description: 'It is done.' },
    FAILED: { value: 'failed', description: 'It failed for good; an administrator may have it tried again.' },
  } satisfies Record<Uppercase<JobState>, { value: JobState; description: string }>,
})

const JobRef = builder.objectRef<Job>('Job')
builder.node(JobRef, {
  description: 'A piece of work that outlives the request that wanted it.',
  authScopes: byServerAdmin,
  id: { resolve: (job) => job.id },
  loadOne: (id, { em, scopes }) => (canSeeJobs({ scopes }) ? em.findOne(Job, { id }) : null),
  fields: (t) => ({
    uuid: t.exposeID('id', { description: 'Its plain identifier, as REST and the log show it.' }),
    kind: t.exposeString('kind', { description: 'What is done.' }),
    subject: t.exposeString('subject', { description: 'What it is done to.' }),
    state: t.expose('state', { type: JobStateEnum, description: 'How far it is.' }),
    attempts: t.exposeInt('attempts', { description: 'How often it was begun.' }),
    phase: t.exposeString('phase', { nullable: true, description: 'What it is busy with.' }),
    done: t.expose('done', { type: 'BigInt', description: 'How much of it is done.' }),
    total: t.field({
      type: 'BigInt',
      nullable: true,
      description: 'How much there is to do, once that is known.',
      resolve: (job) => job.total ?? null,
    }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When it was asked for.' }),
    runAt: t.expose('runAt', { type: 'DateTime', description: 'Not before this moment is it begun.' }),
    startedAt: t.field({
      type: 'DateTime',
      nullable: true,
      description: 'When it was begun last.',
      resolve: (job) => job.startedAt ?? null,
    }),
    finishedAt: t.field({ type: 'DateTime', nullable: true, description: 'When it ended.', resolve: (job) => job.finishedAt ?? null }),
    error: t.exposeString('error', { nullable: true, description: 'What went wrong in the last attempt that failed.' }),
  }),
})

builder.queryField('jobs', (t) =>
  t.withAuth(byServerAdmin).connection(
    {
      type: JobRef,
      description: 'The work that waits, runs, is done or failed, what was asked for last first; for administrators.',
      args: {
        state: t.arg({ type: JobStateEnum, description: 'Only jobs in this state.' }),
        kind: t.arg.string({ description: 'Only jobs of this kind.' }),
        subject: t.arg.string({ description: 'Only jobs about this.' }),
      },
      resolve: (_root, args, { em }) => listJobs(em, args, args),
    },
    { description: 'A page of jobs.' },
    { description: 'A job in a page.' },
  ),
)

builder.queryField('jobCounts', (t) =>
  t.withAuth(byServerAdmin).field({
    type: JobCountsRef,
    description: 'How much work there is; for administrators.',
    resolve: (_root, _args, { database }) => countJobs(database.reads),
  }),
)

builder.mutationField('retryJob', (t) =>
  t.withAuth(byServerAdmin).fieldWithInput({
    type: payload('JobPayload', 'A job as it is now.', { job: { type: JobRef, description: 'The job.' } }),
    description: 'Has a job that failed for good tried again.',
    typeOptions: { description: 'The job to try again.' },
    argOptions: { description: 'Which one.' },
    input: { id: t.input.globalID({ required: true, for: [JobRef], description: 'Which one.' }) },
    resolve: async (_root, { input }, { em, now }) => ({ job: await retryJob(em, input.id.id, now()) }),
  }),
)
