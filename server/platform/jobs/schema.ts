import { encodeGlobalID } from '@pothos/plugin-relay'
import { builder } from '../graphql/builder.ts'
import { formerly } from '../graphql/former-schema.ts'
import { connectionOf, done, payload } from '../graphql/payload.ts'
import { newestByDefault } from '../graphql/types.ts'
import { watch } from '../graphql/subscriptions.ts'
import { Job, type JobState } from './entity.ts'
import { type JobGroup, readJobGroups } from './backlog.ts'
import { cancelJob } from './attempt.ts'
import { countJobs, retryJob } from './queue.ts'
import { isServerAdmin } from '../access/roles.ts'
import { newestFirst } from '../graphql/connections.ts'

/** Only server administrators may list, cancel and retry jobs: the rule of `isServerAdmin` as an auth scope. */
export const byServerAdmin = { scope: 'admin' } as const

const JobStateEnum = builder.enumType('JobState', {
  description: 'State of a job.',
  values: {
    QUEUED: { value: 'queued', description: 'Waiting for its first or another attempt.' },
    RUNNING: { value: 'running', description: 'Running.' },
    DONE: { value: 'done', description: 'Completed.' },
    FAILED: { value: 'failed', description: 'Failed permanently. An administrator can retry the job.' },
  } satisfies Record<Uppercase<JobState>, { value: JobState; description: string }>,
})

export const JobRef = builder.objectRef<Job>('Job')
builder.node(JobRef, {
  description: 'A background job.',
  authScopes: byServerAdmin,
  id: { resolve: (job) => job.id },
  loadOne: (id, { em, scopes }) => (isServerAdmin({ scopes }) ? em.findOne(Job, { id }) : null),
  fields: (t) => ({
    uuid: t.exposeID('id', { description: 'UUID of the job, as used in the REST API and the log.' }),
    kind: t.exposeString('kind', { description: 'Kind of the job.' }),
    subject: t.exposeString('subject', { description: 'What the job is about, such as a version.' }),
    state: t.expose('state', { type: JobStateEnum, description: 'State of the job.' }),
    attempts: t.exposeInt('attempts', { description: 'Number of attempts so far.' }),
    phase: t.exposeString('phase', { nullable: true, description: 'Current phase of the work.' }),
    done: t.expose('done', { type: 'BigInt', description: 'Amount of work done so far.' }),
    total: t.expose('total', { type: 'BigInt', nullable: true, description: 'Total amount of work, if known.' }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When the job was enqueued.' }),
    runAt: t.expose('runAt', { type: 'DateTime', description: 'Earliest time of the next attempt.' }),
    startedAt: t.expose('startedAt', { type: 'DateTime', nullable: true, description: 'When the last attempt started.' }),
    finishedAt: t.expose('finishedAt', { type: 'DateTime', nullable: true, description: 'When the job ended.' }),
    error: t.exposeString('error', { nullable: true, description: 'Error of the last failed attempt.' }),
  }),
})

builder.queryField('jobs', (t) =>
  t.withAuth(byServerAdmin).connection(
    {
      type: JobRef,
      description: 'Background jobs in all states, newest first. For administrators.',
      args: {
        state: t.arg({ type: JobStateEnum, description: 'Only jobs in this state.' }),
        kind: t.arg.string({ description: 'Only jobs of this kind.' }),
        subject: t.arg.string({ description: 'Only jobs with this subject.' }),
        direction: t.arg(newestByDefault),
      },
      resolve: (_root, args, { em }) => {
        const { state, kind, subject } = args
        return newestFirst(em, Job, { ...(state && { state }), ...(kind && { kind }), ...(subject && { subject }) }, args)
      },
    },
    connectionOf(JobRef),
  ),
)

export const JobCountsRef = builder.objectRef<Awaited<ReturnType<typeof countJobs>>>('JobCounts').implement({
  description: 'Number of background jobs in each state.',
  fields: (t) => ({
    queued: t.exposeInt('queued', { description: 'Waiting.' }),
    running: t.exposeInt('running', { description: 'Running.' }),
    failed: t.exposeInt('failed', { description: 'Failed.' }),
  }),
})

builder.queryField('jobCounts', (t) =>
  t.withAuth(byServerAdmin).field({
    type: JobCountsRef,
    description: 'Number of jobs in each state. For administrators.',
    resolve: (_root, _args, { database }) => countJobs(database.reads),
  }),
)

const JobGroupRef = builder.objectRef<JobGroup>('JobGroup').implement({
  description: 'Jobs of one kind in one state.',
  fields: (t) => ({
    kind: t.exposeString('kind', { description: 'Kind of the jobs.' }),
    state: t.expose('state', { type: JobStateEnum, description: 'State of the jobs.' }),
    count: t.exposeInt('count', { description: 'Number of jobs, counted up to 10,000.' }),
  }),
})

builder.queryField('jobGroups', (t) =>
  t.withAuth(byServerAdmin).field({
    type: [JobGroupRef],
    extensions: { size: 40 },
    description: 'Number of jobs by kind and state. For administrators.',
    resolve: (_root, _args, { database }) => readJobGroups(database.reads),
  }),
)

builder.subscriptionField('jobProgress', (t) =>
  t.withAuth(byServerAdmin).field({
    type: JobRef,
    description: 'Sends a background job now and whenever it makes progress, until it ends. For administrators.',
    args: { jobId: t.arg.globalID({ required: true, for: [JobRef], description: 'ID of the job.', ...formerly('id') }) },
    subscribe: (_root, { jobId }, context) =>
      watch<Job>(context, {
        permits: isServerAdmin,
        read: ({ em }) => em.findOne(Job, { id: jobId.id }),
        tag: ({ state, attempts, phase, done, total }) => [state, attempts, phase, done, total].join(' '),
        isLast: ({ state }) => state === 'done' || state === 'failed',
        missing: 'There is no job with this id.',
      }),
    resolve: ({ value }) => value,
  }),
)

builder.mutationField('retryJob', (t) =>
  t.withAuth(byServerAdmin).fieldWithInput({
    type: payload('JobPayload', 'The updated job.', { job: { type: JobRef, description: 'The job.' } }),
    description: 'Retries a failed job.',
    typeOptions: { description: 'The job to retry.' },
    argOptions: { description: 'ID of the job.' },
    input: { jobId: t.input.globalID({ required: true, for: [JobRef], description: 'ID of the job.', ...formerly('id') }) },
    resolve: async (_root, { input }, { em, now }) => ({ job: await retryJob(em, input.jobId.id, now()) }),
  }),
)

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
