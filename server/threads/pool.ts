import { Worker } from 'node:worker_threads'
import { serviceUnavailable } from '../errors.ts'

type Limits = {
  /** A thread that did not answer for so long is given up. */
  deadlineMs: number
  /** A thread that had nothing to do for so long ends. */
  idleMs: number
  maxHeapMb: number
}
type Thread = { worker: Worker; waiting: PromiseWithResolvers<unknown> | undefined; timer: NodeJS.Timeout | undefined }

/**
 * Makes a function that has threads of a module answer questions, each one at a time. They are started when they are needed: as many as the
 * caller asks at once. One that fails is replaced. They do not keep the process alive, except while a question is open.
 * @throws ApiError ServiceUnavailable when a thread fails or does not answer in time; the cause is for the log.
 */
export function threadsOf(module: URL, limits: Limits): (question: unknown) => Promise<unknown> {
  const idle: Thread[] = []
  return async function ask(question) {
    const thread = idle.pop() ?? start(module, limits, idle)
    try {
      const answer = await answerOf(thread, question, limits)
      thread.timer = setTimeout(() => retire(idle, thread), limits.idleMs).unref()
      idle.push(thread)
      return answer
    } catch (cause) {
      void thread.worker.terminate()
      throw Object.assign(serviceUnavailable('The password could not be checked. Try again in a minute.', 60), { cause })
    }
  }
}

function start(module: URL, { maxHeapMb }: Limits, idle: Thread[]): Thread {
  const worker = new Worker(module, { resourceLimits: { maxOldGenerationSizeMb: maxHeapMb } })
  const thread: Thread = { worker, waiting: undefined, timer: undefined }
  worker.on('message', (answer) => thread.waiting?.resolve(answer))
  worker.on('error', (error) => thread.waiting?.reject(error))
  worker.on('exit', () => {
    thread.waiting?.reject(new Error('The thread ended without an answer.'))
    retire(idle, thread)
  })
  return thread
}

async function answerOf(thread: Thread, question: unknown, { deadlineMs }: Limits): Promise<unknown> {
  clearTimeout(thread.timer)
  thread.waiting = Promise.withResolvers()
  thread.timer = setTimeout(() => thread.waiting?.reject(new Error(`There was no answer within ${deadlineMs} ms.`)), deadlineMs).unref()
  thread.worker.ref()
  try {
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- threads have no origin
    thread.worker.postMessage(question)
    return await thread.waiting.promise
  } finally {
    clearTimeout(thread.timer)
    thread.waiting = undefined
    // Ending the server does not wait for it.
    thread.worker.unref()
  }
}

/** Out of the idle ones first, so that it is asked no more. */
function retire(idle: Thread[], thread: Thread): void {
  clearTimeout(thread.timer)
  const place = idle.indexOf(thread)
  if (place >= 0) idle.splice(place, 1)
  void thread.worker.terminate()
}
