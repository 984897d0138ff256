import { availableParallelism } from 'node:os'
import { Worker } from 'node:worker_threads'
import { serviceUnavailable } from '../errors.ts'
import { fairQueue } from './fair-queue.ts'
import type { Task } from './worker.ts'

/** A text that takes longer is not rendered: honest ones take milliseconds. */
const deadlineMs = 1500
/** A thread takes some twenty megabytes, and leaves when it had nothing to do for so long. */
const idleMs = 30_000
const maxThreads = availableParallelism() > 2 ? 2 : 1
const bounds = { maxWaiting: 1000, maxPerCaller: 150 }
const resourceLimits = { maxOldGenerationSizeMb: 192, maxYoungGenerationSizeMb: 16 }

type Job = { task: Task; settle: (html: string | null) => void; fail: (error: unknown) => void }
type Thread = { worker: Worker; isReady: boolean; job: Job | null; timer: NodeJS.Timeout | undefined }

const waiting = fairQueue<Job>(bounds)
const idle: Thread[] = []
let running = 0

/**
 * Renders Markdown in a thread of its own, so that nobody waits for a text that takes long: callers have turns, and each text a deadline.
 * Gives null for a text that took too long or too much memory.
 * @throws ApiError ServiceUnavailable when too much waits already.
 */
export function renderInThread(caller: string, task: Task): Promise<string | null> {
  const { promise, resolve, reject } = Promise.withResolvers<string | null>()
  if (!waiting.add(caller, { task, settle: resolve, fail: reject }))
    throw serviceUnavailable('Too many texts wait to be rendered. Try again in a moment.', 2)
  if (idle.length > 0) take(idle.pop())
  else if (running < maxThreads) start()
  return promise
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
  worker.on('error', (error) => (thread.isReady ? settle(thread, null) : waiting.next()?.fail(error)))
  worker.on('exit', () => leave(thread))
  // Ending the server does not wait for it.
  worker.unref()
}

/** Gives the thread its next text, or lets it wait for one. */
function take(thread: Thread | undefined): void {
  if (!thread) return
  const job = waiting.next()
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
