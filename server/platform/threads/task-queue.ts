import { availableParallelism } from 'node:os'
import { serviceUnavailable } from '../../errors.ts'
import { createFairLimiter } from './fair-limiter.ts'
import { openThreadPool, ThreadFailed } from './pool.ts'

type Options = {
  /** Maximum number of running tasks, each in a thread of its own. Defaults to two, and to one on machines with up to two cores, so that requests keep a core. */
  threads?: number
  /** Milliseconds of CPU time after which a task fails. */
  deadlineMs: number
  /** Milliseconds after which an idle thread is terminated. */
  idleMs: number
  /** Memory of a thread for long-lived and for new objects. */
  heapMb: number
  newHeapMb?: number
  /** Maximum number of waiting tasks, in total and per key. */
  waiting: number
  waitingPerKey: number
  /** Maximum wait in milliseconds. Tasks that wait longer are rejected. */
  maxWaitMs: number
  /** Message of the ServiceUnavailable error when too many tasks wait, or a task waits too long. */
  full: string
  /** Message of the ServiceUnavailable error when a thread cannot be started. Without it, ThreadFailed is thrown. */
  failed?: string
}

type Ask = ReturnType<typeof openThreadPool>
export type TaskQueue = {
  /** Runs a task in a thread when it is the turn of `key`, and moves the memory in `transfer` there. */
  run: (key: string, task: unknown, transfer?: ArrayBuffer[]) => Promise<unknown>
  /** Calls `work` when it is the turn of `key`, with a function that runs tasks in a thread. */
  inTurn: <Result>(key: string, work: (ask: Ask) => Promise<Result>) => Promise<Result>
}

/**
 * Returns a queue of tasks for threads of a module (`answerQuestions`). Keys, such as users and networks of anonymous callers, take turns.
 * @throws ThreadFailed if the task threw, or took too long or too much memory; ApiError ServiceUnavailable if too many tasks wait, or if no thread can
 *   be started.
 */
export function openTaskQueue(module: URL, options: Options): TaskQueue {
  const { threads = availableParallelism() > 2 ? 2 : 1, deadlineMs, idleMs, heapMb, newHeapMb = 16, full, failed, ...bounds } = options
  const memory = { maxOldGenerationSizeMb: heapMb, maxYoungGenerationSizeMb: newHeapMb }
  const askThread = openThreadPool(module, { deadlineMs, idleMs, memory })
  const takeTurn = createFairLimiter({ atOnce: threads, ...bounds, rejection: () => serviceUnavailable(full, 5) })
  const ask: Ask = (task, transfer) =>
    askThread(task, transfer).catch((cause: unknown) => {
      if (failed === undefined || (cause instanceof ThreadFailed && cause.wasAtWork)) throw cause
      throw Object.assign(serviceUnavailable(failed, 60), { cause })
    })
  const inTurn: TaskQueue['inTurn'] = (key, work) => takeTurn(key, () => work(ask))
  return { inTurn, run: (key, task, transfer) => inTurn(key, () => ask(task, transfer)) }
}

/** Returns null for a task that failed, such as one that took too long. Throws any other error. */
export function nullIfFailed(error: unknown): null {
  if (error instanceof ThreadFailed) return null
  throw error
}
