import type { z } from 'zod'
import { idOf } from '../db/base.ts'
import type { Progress } from './lease.ts'

/** A job as its handler sees it. */
export type Work = {
  kind: string
  subject: string
  /** The account that it is done for; null when it is done for none in particular. */
  owner: string | null
  /** 1 for the first try. Tries that ended because the server ended do not count. */
  attempt: number
  /** Aborted when the server stops, or when the lease was lost: what is not done by then will be done by another one. */
  signal: AbortSignal
  /** Reports how far it is; does nothing once the signal is aborted, so event handlers may call it. Cheap: it is written down once a second. */
  progress: (progress: Progress) => void
}

export type Handler = {
  run: (work: Work, payload: unknown) => Promise<void>
  /** After so many attempts it has failed permanently; 5 unless said otherwise. */
  maxAttempts: number
  /** How many of this kind a process runs at once; as many as there is room for unless said otherwise. */
  maxConcurrent: number | (() => Promise<number>)
  /** It takes no room from other kinds: for work that takes long, or of which there is much. It must state `maxConcurrent`. */
  isApart: boolean
  /** Hears of a job that has failed for good. */
  gaveUp?: ((subject: string, error: string) => Promise<void>) | undefined
}

/** A failure that further attempts would only repeat. */
export class PermanentFailure extends Error {
  override name = 'PermanentFailure'
}

/**
 * Returns the subject of a job as an id, which may become part of a statement or a path.
 * @throws PermanentFailure when it is not one, as in a database that was edited.
 */
export function subjectId({ kind, subject }: Pick<Work, 'kind' | 'subject'>): string {
  const id = idOf(subject)
  if (id === null) throw new PermanentFailure(`The subject of a job ${kind} must be an id, not ${JSON.stringify(subject.slice(0, 80))}.`)
  return id
}

/** Handlers by the kind of their jobs. */
export type Handlers = Readonly<Record<string, Handler>>

/** Makes a handler. It may run again after it was interrupted anywhere, so what it did before must not disturb it. */
export function handler<Payload>(
  schema: z.ZodType<Payload>,
  run: (work: Work, payload: Payload) => Promise<void>,
  { maxAttempts = 5, maxConcurrent = Number.POSITIVE_INFINITY, isApart = false, gaveUp }: Partial<Omit<Handler, 'run'>> = {},
): Handler {
  return { run: async (work, payload) => run(work, schema.parse(payload)), maxAttempts, maxConcurrent, isApart, gaveUp }
}
