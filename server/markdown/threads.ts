import { availableParallelism } from 'node:os'
import { Worker } from 'node:worker_threads'
import { serviceUnavailable } from '../errors.ts'
import { fairQueue } from './fair-queue.ts'
import type { Task } from './worker.ts'

/** A text that takes longer is not rendered: honest ones take milliseconds. */
const deadlineMs = 1500
/** A text that waited so long for its turn is given up: people wait for the answer. */
const maxWaitMs = 10_000
/** A thread takes some twenty megabytes, and leaves when it had nothing to do for so long. */
const idleMs = 30_000
const maxThreads = availableParallelism() > 2 ? 2 : 1
const bounds = { maxWaiting: 1000, maxPerCaller: 150 }
const resourceLimits = { maxOldGenerationSizeMb: 192, maxYoungGenerationSizeMb: 16 }

type Job = { task: Task; settle: (html: string | null) => void; fail: (error: unknown) => void; patience?: NodeJS.Timeout }
type Thread = { worker: Worker; isReady: boolean; job: Job | null; timer: NodeJS.Timeout | undefined }

const waiting = fairQueue<Job>(bounds)
const idle: Thread[] = []
let running = 0

/**
 * Renders Markdown in a thread of its own, so that nobody waits for a text that takes long: callers have turns, and each text a deadline.
 * Gives null for a text that took too long or too much memory.
 * @throws ApiError ServiceUnavailable when too much waits already, or before its turn comes.
 */
export function renderInThread(caller: string, task: Task): Promise<string | null> {
  const { promise, resolve, reject } = Promise.withResolvers<string | null>()
  const job: Job = { task, settle: resolve, fail: reject }
  if (!waiting.add(caller, job)) throw tooMany()
  job.patience = setTimeout(() => {
    waiting.remove(caller, job)
    reject(tooMany())
  }, maxWaitMs).unref()
  if (idle.length > 0) take(idle.pop())
  else if (running < maxThreads) start()
  return promise
}

const tooMany = () => serviceUnavailable('Too many texts wait to be rendered. Try again in a moment.', 5)

function next(): Job | undefined {
  const job = waiting.next()
  clearTimeout(job?.patience)
  return job
}

function start(): void {
  running++
  const worker = new Worker(new URL('./worker.ts', import.meta.url), { resourceLimits })
  const thread: Thread = { worker, isReady: false, job: null, timer: undefined }
  worker.on('message', (html: string) => {
    thread.isReady = true
    settle(thread, html)
    take(thread)
  })
  // Out of memory, or a failure of the renderer: the text is at fault. A thread that cannot even start is another matter.
  worker.on('error', (error) => (thread.isReady ? settle(thread, null) : next()?.fail(error)))
  worker.on('exit', () => leave(thread))
  // Ending the server does not wait for it.
  worker.unref()
}

/** Gives the thread its next text, or lets it wait for one. */
function take(thread: Thread | undefined): void {
  if (!thread) return
  const job = next()
  if (!job) {
    idle.push(thread)
    thread.timer = setTimeout(() => retire(thread), idleMs).unref()
    return
  }
  clearTimeout(thread.timer)
  thread.job = job
  thread.timer = setTimeout(() => void thread.worker.terminate(), deadlineMs)
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- threads have no origin
  thread.worker.postMessage(job.task)
}

function settle(thread: Thread, html: string | null): void {
  clearTimeout(thread.timer)
  thread.job?.settle(html)
  thread.job = null
}

/** A thread that ended, by its deadline or by itself; whatever waits gets another. */
function leave(thread: Thread): void {
  settle(thread, null)
  running--
  if (!waiting.isEmpty()) start()
}

/** Out of the idle ones first, so that it gets no text any more. */
function retire(thread: Thread): void {
  idle.splice(idle.indexOf(thread), 1)
  void thread.worker.terminate()
}
