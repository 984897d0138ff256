import { type ResourceLimits, Worker } from 'node:worker_threads'

// This is not the library piscina (5.3.2): a task whose thread fails to start is never rejected there (the pool only emits an `error` event), its only
// time limit, an AbortSignal, includes the start of the thread, and a failed start looks like a failed task. The code to compensate for this
// would be as long as this file. In addition, a call takes 40 instead of 20 µs, and the process needs 7 MB more.

type Limits = {
  /** Milliseconds of CPU time after which a thread that has not answered is terminated. The time of the clock does not count, because it depends on how busy the machine is. */
  deadlineMs: number
  /** Milliseconds after which an idle thread is terminated. */
  idleMs: number
  memory: ResourceLimits
}
type Thread = { worker: Worker; isReady: boolean; waiting: PromiseWithResolvers<unknown> | undefined; timer: NodeJS.Timeout | undefined }

/** Thrown when a thread threw, exited, ran out of memory or exceeded its deadline. */
export class ThreadFailed extends Error {
  /** Whether the question is the cause. If false, the thread could not start or got too little CPU time, so a later attempt may succeed. */
  readonly wasAtWork: boolean

  constructor(cause: unknown, wasAtWork: boolean) {
    super(cause instanceof Error ? cause.message : String(cause), { cause })
    this.wasAtWork = wasAtWork
  }
}

/** Generous timeout for the start, and for a thread that gets too little CPU time, because a busy machine is not a failure. */
const maxWaitMs = 60_000

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
      if (!thread.isReady) await nextMessage(thread, maxWaitMs)
      thread.isReady = true
      const spent = cpuTimeOf(thread)
      thread.worker.postMessage(question, transfer)
      const answer = await nextMessage(thread, limits.deadlineMs, spent)
      thread.timer = setTimeout(() => retire(idle, thread), limits.idleMs).unref()
      idle.push(thread)
      return answer
    } catch (cause) {
      thread.worker.terminate().catch(() => {})
      throw new ThreadFailed(cause, thread.isReady && !(cause instanceof Starved))
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

/** The thread got too little CPU time to answer. */
class Starved extends Error {}

/** Returns the CPU time of a thread in milliseconds; null if the thread has ended, or before Node.js 24. */
async function cpuTimeOf({ worker }: Thread): Promise<number | null> {
  const used = await (worker as Partial<Worker>).cpuUsage?.call(worker).catch(() => null)
  return used ? (used.user + used.system) / 1000 : null
}

/** Waits for the next message of a thread. With `spent`, its CPU time until now, only further CPU time counts. */
async function nextMessage(thread: Thread, deadlineMs: number, spent: Promise<number | null> | null = null): Promise<unknown> {
  const waiting = (thread.waiting = Promise.withResolvers<unknown>())
  const giveUpAt = performance.now() + Math.max(deadlineMs, maxWaitMs)
  let timer: NodeJS.Timeout | undefined
  const check = async () => {
    const [before = null, now = null] = spent ? await Promise.all([spent, cpuTimeOf(thread)]) : []
    const used = before === null || now === null ? deadlineMs : now - before
    if (used >= deadlineMs) waiting.reject(new Error(`There was no answer within ${deadlineMs} ms.`))
    else if (performance.now() > giveUpAt) waiting.reject(new Starved('The machine is too busy for an answer.'))
    else look(Math.max(deadlineMs - used, shortestWaitMs))
  }
  const look = (afterMs: number) => (timer = setTimeout(() => void check(), afterMs).unref())
  look(deadlineMs)
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

/** Shortest time between two looks at the CPU time of a thread, in milliseconds. */
const shortestWaitMs = 20

/** Removes a thread from the idle list, so that it receives no further question, and terminates it. */
function retire(idle: Thread[], thread: Thread): void {
  clearTimeout(thread.timer)
  const place = idle.indexOf(thread)
  if (place >= 0) idle.splice(place, 1)
  thread.worker.terminate().catch(() => {})
}
