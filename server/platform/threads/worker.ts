import { parentPort } from 'node:worker_threads'
import { getPriority, setPriority } from 'node:os'

/** Answers a question, possibly with a promise. Declared as a method, so that implementations may narrow the parameter type. */
type Answerer = { answer(question: unknown): unknown }['answer']

/** Nice value of pool threads. Requests take precedence, while on a busy machine a thread still gets half the CPU time of other programs. */
const lowerBy = 3

/** Handles the messages that a pool (pool.ts) sends to this worker thread, one at a time, with a lower priority than HTTP requests. */
export function answerQuestions(answer: Answerer): void {
  lowerPriority(lowerBy)
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- threads have no origin
  const say = (message: unknown) => parentPort?.postMessage(message)
  const respond = async (question: unknown) => say(await answer(question))
  // A rejection ends the thread, which the pool reports as a failure.
  parentPort?.on('message', (question: unknown) => void respond(question))
  say('ready')
}

/**
 * Lowers the priority of the calling thread below that of requests. With the default of 10, it gets a tenth of the CPU time of other programs on a
 * busy machine. Only on Linux; on other systems, the priority of the whole process would change.
 */
export function lowerPriority(by = 10): void {
  if (process.platform !== 'linux') return
  // Relative to the current priority, because a process that was started with a low priority may not raise it.
  const priority = Math.min(getPriority() + by, 19)
  try {
    setPriority(priority)
  } catch {
    // If lowering the priority is forbidden, the thread keeps its priority.
  }
}
