import { defineEntity, type InferEntity, p } from '@mikro-orm/core'
import { Base } from '../db/base.ts'

export const jobStates = ['queued', 'running', 'done', 'failed'] as const
export type JobState = (typeof jobStates)[number]

/**
 * A piece of work that outlives its request. Whoever claims it holds a lease; when that runs out, because a process died, the next one
 * takes over. A queued job is committed with the change that wants it.
 */
export const Job = defineEntity({
  name: 'Job',
  tableName: 'jobs',
  extends: Base,
  indexes: [
    { properties: ['state', 'runAt'] },
    { properties: ['kind', 'subject'] },
    // The order in which they are claimed, however many wait; the other one is that of the previous release.
    { properties: ['kind', 'state', 'priority', 'turn', 'runAt', 'id'] },
    { properties: ['kind', 'state', 'priority', 'runAt', 'id'] },
    // The last turn of an owner.
    { properties: ['kind', 'owner', 'state', 'turn'] },
  ],
  uniques: [{ name: 'jobs_waiting', properties: ['kind', 'subject'], where: "state = 'queued'" }],
  properties: {
    kind: p.string().length(64),
    /** What it is about, such as a version or a hash: one job of a kind and subject waits at a time. */
    subject: p.string().length(255),
    /** What its worker needs, as JSON text. */
    payload: p.text().default('{}'),
    state: p.enum(jobStates).default('queued'),
    /** The lowest first: what nobody waits for has a higher one. */
    priority: p.integer().default(0),
    /** The account that it is done for: owners take turns. Null when it is done for none in particular. */
    owner: p.string().length(64).nullable(),
    /** Among jobs of the same priority, the lowest first: a moment in milliseconds since 1970, or 0. */
    turn: p.bigint('number').default(0),
    /** Not before this moment. */
    runAt: p.datetime(3),
    attempts: p.integer().default(0),
    /** How many of the attempts ended because the process ended. */
    interruptions: p.integer().default(0),
    leasedUntil: p.datetime(3).nullable(),
    /** Tells its holder from whoever took over. */
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
