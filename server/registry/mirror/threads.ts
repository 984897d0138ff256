import { availableParallelism } from 'node:os'
import { z } from 'zod'
import { serviceUnavailable } from '../../errors.ts'
import { NotFetched } from '../../platform/outbound/request.ts'
import { createFairLimiter } from '../../platform/threads/fair-limiter.ts'
import { openThreadPool, ThreadFailed } from '../../platform/threads/pool.ts'
import { unpackedBytes } from './upstream.ts'
import type { Task } from './worker.ts'

// The work is bounded by the size of documents (`limitedText`) and takes at most a few seconds. The deadline only ends a thread that hangs.
const ask = openThreadPool(new URL('./worker.ts', import.meta.url), {
  deadlineMs: 60_000,
  idleMs: 30_000,
  memory: { maxOldGenerationSizeMb: 512, maxYoungGenerationSizeMb: 32 },
})

/** Documents of this size and more, uncompressed, have a thread of their own, so that small ones do not wait for them. */
const largeBytes = 1024 ** 2

const shared = {
  maxWaitMs: 30_000,
  rejection: () => serviceUnavailable('Too many documents of the upstream server are waiting to be read. Try again in a moment.', 5),
}
const inTurn = createFairLimiter({ ...shared, atOnce: availableParallelism() > 2 ? 2 : 1, waiting: 5000, waitingPerKey: 1000 })
// Waiting documents are in memory.
const inTurnForLarge = createFairLimiter({ ...shared, atOnce: 1, waiting: 16, waitingPerKey: 16 })

const fault = z.object({ fault: z.string() })

/**
 * Works on documents of the upstream server in a thread. Callers take turns. `bytes`: size of the documents, uncompressed. Memory
 * in `transfer` is moved to the thread.
 * @throws NotFetched if a document is unusable; ApiError ServiceUnavailable if too many are waiting or no thread can be started.
 */
export async function inThread<Answer>(
  caller: string,
  bytes: number,
  schema: z.ZodType<Answer>,
  task: Task,
  transfer: ArrayBuffer[] = [],
): Promise<Answer> {
  const answered = await (bytes < largeBytes ? inTurn : inTurnForLarge)(caller, () => ask(task, transfer).catch(threadError))
  const failed = fault.safeParse(answered)
  if (failed.success) throw new NotFetched(failed.data.fault)
  return schema.parse(answered)
}

function threadError(failure: unknown): never {
  if (failure instanceof ThreadFailed && failure.wasAtWork)
    throw new NotFetched(`the document could not be read (${failure.message})`, { cause: failure })
  throw Object.assign(serviceUnavailable('A document of the upstream server could not be read. Try again in a minute.', 60), {
    cause: failure,
  })
}

/** Bytes that a thread answered with. */
export const bytes = z.instanceof(Uint8Array).transform((array) => Buffer.from(array.buffer, array.byteOffset, array.byteLength))

const checkedDocument = z.object({
  content: bytes,
  ages: z.string().nullable(),
  faults: z.array(z.object({ version: z.string(), rule: z.string(), reason: z.string() })),
})

/**
 * Returns a document as it is stored: for listings, only what is valid, and when the ages of versions begin. `faults` are what is wrong with it.
 * @throws NotFetched if the document is unusable.
 */
export const checkInThread = (caller: string, task: Extract<Task, { task: 'check' }>): Promise<z.infer<typeof checkedDocument>> =>
  inThread(caller, task.document.length + unpackedBytes(task.known), checkedDocument, task, movable(task.document))

/** Returns the memory of a large buffer, which is its own. Small buffers share memory, and copying them is fast. */
const movable = ({ buffer, length }: Uint8Array): ArrayBuffer[] => (length > 64 * 1024 && buffer instanceof ArrayBuffer ? [buffer] : [])
