import type { EntityManager } from '@mikro-orm/sql'
import type { z } from 'zod'
import type { SignedInContext } from '../access/context.ts'
import { idOf } from '../db/base.ts'
import type { Job } from './entity.ts'
import type { Progress } from './lease.ts'

/** A job as passed to its handler. */
export type Work = {
  kind: string
  subject: string
  /** The account the job is done for, or null. */
  owner: string | null
  /** Number of the attempt, starting at 1. Attempts interrupted by the end of the server do not count. */
  attempt: number
  /** Aborted when the server stops or the lease is lost. Unfinished work is done by a later attempt. */
  signal: AbortSignal
  /** Reports progress. Cheap: updates are saved at most once a second. Does nothing after `signal` is aborted, so event handlers may call it. */
  progress: (progress: Progress) => void
}

export type Handler = {
  run: (work: Work, payload: unknown) => Promise<void>
  /** Number of attempts after which the job fails permanently. Defaults to 5. */
  maxAttempts: number
  /** Maximum number of concurrent jobs of this kind in a process. Unlimited by default. */
  maxConcurrent: number | (() => Promise<number>)
  /** Whether the kind has its own slots, separate from the shared ones. For long-running or numerous jobs. Requires `maxConcurrent`. */
  hasOwnSlots: boolean
  /** Called when a job has failed permanently. */
  onPermanentFailure?: ((subject: string, error: string) => Promise<void>) | undefined
  /** Called when a job is cancelled, in the same transaction. */
  onCancel?: OnCancel | undefined
}

type OnCancel = {
  /** Locks what the job changes. Called before the job is locked, in the same order as where the job is enqueued. */
  lock: (em: EntityManager, subject: string) => Promise<void>
  /** Records that the job was cancelled, with the reason. */
  record: (em: EntityManager, job: Pick<Job, 'subject' | 'payload'>, reason: string, now: Date) => Promise<void>
}

declare module '../../services.ts' {
  interface Services {
    /** Returns the job handlers by kind. They are listed in job-handlers.ts. */
    jobHandlers: (services: Services) => Handlers
    /** Called when a job was cancelled, in the same transaction. */
    afterJobCancelled: (em: EntityManager, job: Pick<Job, 'kind' | 'subject'>, context: Pick<SignedInContext, 'viewer' | 'ip'>) => void
  }
}

/** A failure that must not be retried, because it would only be repeated. */
export class PermanentFailure extends Error {
  override name = 'PermanentFailure'
}

/**
 * Returns the subject of a job as a UUID, which is safe to use in statements and paths.
 * @throws PermanentFailure if the subject is not a UUID, for example after manual changes to the database.
 */
export function subjectId({ kind, subject }: Pick<Work, 'kind' | 'subject'>): string {
  const id = idOf(subject)
  if (id === null) throw new PermanentFailure(`The subject of a job ${kind} must be an id, not ${JSON.stringify(subject.slice(0, 80))}.`)
  return id
}

/** Job handlers by kind. */
export type Handlers = Readonly<Record<string, Handler>>

/** Creates a job handler. `run` must be idempotent: it may be interrupted anywhere and run again. */
export function handler<Payload>(
  schema: z.ZodType<Payload>,
  run: (work: Work, payload: Payload) => Promise<void>,
  { maxAttempts = 5, maxConcurrent = Number.POSITIVE_INFINITY, hasOwnSlots = false, ...hooks }: Partial<Omit<Handler, 'run'>> = {},
): Handler {
  return { run: async (work, payload) => run(work, schema.parse(payload)), maxAttempts, maxConcurrent, hasOwnSlots, ...hooks }
}

/**
 * Runs `work` until it ends or `signal` is aborted. Takes a function, because an existing promise would have no handler if `throwIfAborted` throws.
 * @throws the reason of `signal`.
 */
export async function untilAborted<Result>(signal: AbortSignal, work: () => Promise<Result>): Promise<Result> {
  signal.throwIfAborted()
  const { promise, reject } = Promise.withResolvers<never>()
  const abort = () => reject(signal.reason as Error)
  signal.addEventListener('abort', abort)
  try {
    return await Promise.race([work(), promise])
  } finally {
    signal.removeEventListener('abort', abort)
  }
}
