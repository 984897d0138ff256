import { defineEntity, type InferEntity, p } from '@mikro-orm/core'
import { Base } from '../db/base.ts'
import type { InferKyselyDB } from '@mikro-orm/sql'

export const jobStates = ['queued', 'running', 'done', 'failed'] as const
export type JobState = (typeof jobStates)[number]

/** A background job. A worker claims a job with a lease; if the lease expires because the process died, another worker takes over. */
export const Job = defineEntity({
  name: 'Job',
  tableName: 'jobs',
  extends: Base,
  indexes: [
    { properties: ['state', 'runAt'] },
    { properties: ['kind', 'subject'] },
    // Claim order, so that the cost does not depend on the queue length. The second index is used by the previous release.
    { properties: ['kind', 'state', 'priority', 'turn', 'runAt', 'id'] },
    { properties: ['kind', 'state', 'priority', 'runAt', 'id'] },
    // Finds the last turn of an owner.
    { properties: ['kind', 'owner', 'state', 'turn'] },
  ],
  uniques: [{ name: 'jobs_waiting', properties: ['kind', 'subject'], where: "state = 'queued'" }],
  properties: {
    kind: p.string().length(64),
    /** What the job is about, such as a version or a hash. At most one job of a kind and subject waits at a time. */
    subject: p.string().length(255),
    /** Input of the handler, as JSON. */
    payload: p.text().default('{}'),
    state: p.enum(jobStates).default('queued'),
    /** Lower values run first; background jobs use higher values. */
    priority: p.integer().default(0),
    /** The account the job is done for. Owners take turns. Null if there is no owner. */
    owner: p.string().length(64).nullable(),
    /** Order among jobs of the same priority, lowest first: milliseconds since 1970, or 0. */
    turn: p.bigint('number').default(0),
    /** Earliest start time. */
    runAt: p.datetime(3),
    attempts: p.integer().default(0),
    /** Number of attempts that ended because the process ended. */
    interruptions: p.integer().default(0),
    leasedUntil: p.datetime(3).nullable(),
    /** Identifies the current holder of the lease. */
    lease: p.uuid().nullable(),
    phase: p.string().length(64).nullable(),
    done: p.bigint('number').default(0),
    total: p.bigint('number').nullable(),
    startedAt: p.datetime(3).nullable(),
    finishedAt: p.datetime(3).nullable(),
    error: p.string().length(1000).nullable(),
  },
})
export type Job = InferEntity<typeof Job>

declare module '../db/query.ts' {
  interface Tables extends InferKyselyDB<typeof Job> {}
}
