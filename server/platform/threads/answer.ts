import { parentPort } from 'node:worker_threads'
import { lowerPriority } from './low-priority.ts'

/** Answers a question. Declared as a method, so that implementations may narrow the parameter type. */
type Answerer = { answer(question: unknown): unknown }['answer']

/** Nice value of pool threads. Requests take precedence, while on a busy machine a thread still gets half the CPU time of other programs. */
const lowerBy = 3

/** Handles the messages that a pool (pool.ts) sends to this worker thread, one at a time, with a lower priority than HTTP requests. */
export function answerQuestions(answer: Answerer): void {
  lowerPriority(lowerBy)
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- threads have no origin
  const say = (message: unknown) => parentPort?.postMessage(message)
  parentPort?.on('message', (question: unknown) => say(answer(question)))
  say('ready')
}
