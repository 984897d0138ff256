import { type ResourceLimits, Worker } from 'node:worker_threads'

type Limits = {
  /** A thread that did not answer for so long is given up. */
  deadlineMs: number
  /** A thread that had nothing to do for so long ends. */
  idleMs: number
  memory: ResourceLimits
}
type Thread = { worker: Worker; isReady: boolean; waiting: PromiseWithResolvers<unknown> | undefined; timer: NodeJS.Timeout | undefined }

/** A thread that threw, ended, ran out of memory or did not answer in time. */
export class ThreadFailed extends Error {
  /** Whether the thread was at work; else it could not even start, and the question is not at fault. */
  readonly wasAtWork: boolean

  constructor(cause: unknown, wasAtWork: boolean) {
    super(cause instanceof Error ? cause.message : String(cause), { cause })
    this.wasAtWork = wasAtWork
  }
}

/** A busy machine is no failure. */
const maxStartMs = 60_000

/**
 * Makes a function that has threads of a module answer questions (server/threads/answer.ts), each one at a time. They are started when they are
 * needed: as many as the caller asks at once. One that fails is replaced. They do not keep the process alive, except while a question is open.
 * @throws ThreadFailed
 */
export function threadsOf(module: URL, limits: Limits): (question: unknown) => Promise<unknown> {
  const idle: Thread[] = []
  return async function ask(question) {
    const thread = idle.pop() ?? start(module, limits, idle)
    clearTimeout(thread.timer)
    try {
      if (!thread.isReady) await nextMessage(thread, maxStartMs)
      thread.isReady = true
      // oxlint-disable-next-line unicorn/require-post-message-target-origin -- threads have no origin
      thread.worker.postMessage(question)
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
    thread.waiting?.reject(new Error('The thread ended without an answer.'))
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
    // Ending the server does not wait for it.
    thread.worker.unref()
  }
}

/** Removed from the idle ones first, so that it gets no further question. */
function retire(idle: Thread[], thread: Thread): void {
  clearTimeout(thread.timer)
  const place = idle.indexOf(thread)
  if (place >= 0) idle.splice(place, 1)
  thread.worker.terminate().catch(() => {})
}
