import type { z } from 'zod'
import type { Progress } from './lease.ts'

/** A job as its handler sees it. */
export type Work = {
  kind: string
  subject: string
  /** 1 for the first try. */
  attempt: number
  /** Aborted when the server stops, or when the lease was lost: what is not done by then will be done by another one. */
  signal: AbortSignal
  /** Says how far it is; throws when the signal is aborted. Cheap: it is written down once a second. */
  progress: (progress: Progress) => void
}

export type Handler = {
  run: (work: Work, payload: unknown) => Promise<void>
  /** After so many attempts it has failed for good; 5 unless said otherwise. */
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
