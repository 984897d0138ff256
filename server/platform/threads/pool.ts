import { type ResourceLimits, Worker } from 'node:worker_threads'

// This is not the library piscina (5.3.2): a task whose thread fails to start is never rejected there (the pool only emits an `error` event), its only
// time limit, an AbortSignal, includes the start of the thread, and a failed start looks like a failed task. The code to compensate for this
// would be as long as this file. In addition, a call takes 40 instead of 20 µs, and the process needs 7 MB more.

type Limits = {
  /** Milliseconds after which a thread that has not answered is terminated. */
  deadlineMs: number
  /** Milliseconds after which an idle thread is terminated. */
  idleMs: number
  memory: ResourceLimits
}
type Thread = { worker: Worker; isReady: boolean; waiting: PromiseWithResolvers<unknown> | undefined; timer: NodeJS.Timeout | undefined }

/** Thrown when a thread threw, exited, ran out of memory or exceeded its deadline. */
export class ThreadFailed extends Error {
  /** Whether the thread had started to work. If false, the thread could not start and the question is not the cause. */
  readonly wasAtWork: boolean

  constructor(cause: unknown, wasAtWork: boolean) {
    super(cause instanceof Error ? cause.message : String(cause), { cause })
    this.wasAtWork = wasAtWork
  }
}

/** Generous start timeout, because a slow start on a busy machine is not a failure. */
const maxStartMs = 60_000

/**
 * Returns a function that sends a question, and moves the memory in `transfer`, to a thread of a module (`answerQuestions`) and resolves with its answer. Threads answer one question at a
 * time, are started on demand and replaced if they fail, and keep the process alive only while they work. @throws ThreadFailed
 */
export function openThreadPool(module: URL, limits: Limits): (question: unknown, transfer?: ArrayBuffer[]) => Promise<unknown> {
  const idle: Thread[] = []
  return async function ask(question, transfer = []) {
    const thread = idle.pop() ?? start(module, limits, idle)
    clearTimeout(thread.timer)
    try {
      if (!thread.isReady) await nextMessage(thread, maxStartMs)
      thread.isReady = true
      thread.worker.postMessage(question, transfer)
      const answer = await nextMessage(thread, limits.deadlineMs)
      thread.timer = setTimeout(() => retire(idle, thread), limits.idleMs).unref()
      idle.push(thread)
      return answer
    } catch (cause) {
      thread.worker.terminate().catch(() => {})
      throw new ThreadFailed(cause, thread.isReady)
    }
  }
}

function start(module: URL, { memory }: Limits, idle: Thread[]): Thread {
  const worker = new Worker(module, { resourceLimits: memory })
  const thread: Thread = { worker, isReady: false, waiting: undefined, timer: undefined }
  worker.on('message', (message) => thread.waiting?.resolve(message))
  worker.on('error', (error) => thread.waiting?.reject(error))
  worker.on('exit', () => {
    thread.waiting?.reject(new Error('The thread exited without an answer.'))
    retire(idle, thread)
  })
  return thread
}

async function nextMessage(thread: Thread, deadlineMs: number): Promise<unknown> {
  const waiting = (thread.waiting = Promise.withResolvers<unknown>())
  const timer = setTimeout(() => waiting.reject(new Error(`There was no answer within ${deadlineMs} ms.`)), deadlineMs).unref()
  thread.worker.ref()
  try {
    return await waiting.promise
  } finally {
    clearTimeout(timer)
    thread.waiting = undefined
    // Idle threads do not keep the process alive.
    thread.worker.unref()
  }
}

/** Removes a thread from the idle list, so that it receives no further question, and terminates it. */
function retire(idle: Thread[], thread: Thread): void {
  clearTimeout(thread.timer)
  const place = idle.indexOf(thread)
  if (place >= 0) idle.splice(place, 1)
  thread.worker.terminate().catch(() => {})
}
