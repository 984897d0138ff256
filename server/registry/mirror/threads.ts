import { z } from 'zod'
import { NotFetched } from '../../platform/outbound/request.ts'
import { unpackedBytes } from '../../platform/http/caching/compression.ts'
import { ThreadFailed } from '../../platform/threads/pool.ts'
import { openTaskQueue, type TaskQueue } from '../../platform/threads/task-queue.ts'
import type { Services } from '../../services.ts'
import type { Task } from './worker.ts'

declare module '../../services.ts' {
  interface State {
    /** Documents with a size of `largeBytes` and more have a thread of their own, so that small ones do not wait for them. */
    mirrorQueues?: { small: TaskQueue; large: TaskQueue }
  }
}

/** Size of large documents, uncompressed. */
const largeBytes = 1024 ** 2

function openQueues(): { small: TaskQueue; large: TaskQueue } {
  // The work is bounded by the size of documents (`limitedText`) and takes at most a few seconds. The deadline only ends a thread that hangs.
  const limits = { deadlineMs: 60_000, idleMs: 30_000, heapMb: 512, newHeapMb: 32, maxWaitMs: 30_000 }
  const full = 'Too many documents of the upstream server are waiting to be read. Try again in a moment.'
  const failed = 'A document of the upstream server could not be read. Try again in a minute.'
  const open = (bounds: { threads?: number; waiting: number; waitingPerKey: number }) =>
    openTaskQueue(new URL('./worker.ts', import.meta.url), { ...limits, ...bounds, full, failed })
  // Waiting documents are in memory.
  return { small: open({ waiting: 5000, waitingPerKey: 1000 }), large: open({ threads: 1, waiting: 16, waitingPerKey: 16 }) }
}

const fault = z.object({ fault: z.string() })

/**
 * Works on documents of the upstream server in a thread. Callers take turns. Memory in `transfer` is moved to the thread.
 * @throws NotFetched if a document is unusable; ApiError ServiceUnavailable if too many are waiting or no thread can be started.
 */
export async function inThread<Answer>(
  { state }: Pick<Services, 'state'>,
  caller: string,
  schema: z.ZodType<Answer>,
  task: Task,
  transfer: ArrayBuffer[] = [],
): Promise<Answer> {
  const { small, large } = (state.mirrorQueues ??= openQueues())
  const answered = await (sizeOf(task) < largeBytes ? small : large).run(caller, task, transfer).catch(taskError)
  const failed = fault.safeParse(answered)
  if (failed.success) throw new NotFetched(failed.data.fault)
  return schema.parse(answered)
}

/** Returns the size in bytes of the documents of a task, uncompressed. */
function sizeOf(task: Task): number {
  if (task.task === 'check') return task.document.length + unpackedBytes(task.known)
  if (task.task === 'completion') return task.lines.length
  return Object.values(task).reduce<number>((sum, value) => sum + (value instanceof Uint8Array ? unpackedBytes(value) : 0), 0)
}

function taskError(failure: unknown): never {
  if (!(failure instanceof ThreadFailed)) throw failure
  throw new NotFetched(`the document could not be read (${failure.message})`, { cause: failure })
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
export const checkInThread = (
  services: Pick<Services, 'state'>,
  caller: string,
  task: Extract<Task, { task: 'check' }>,
): Promise<z.infer<typeof checkedDocument>> => inThread(services, caller, checkedDocument, task, movable(task.document))

/** Returns the memory of a large buffer, which is its own. Small buffers share memory, and copying them is fast. */
const movable = ({ buffer, length }: Uint8Array): ArrayBuffer[] => (length > 64 * 1024 && buffer instanceof ArrayBuffer ? [buffer] : [])
