import { parentPort } from 'node:worker_threads'
import { giveWay } from './low-priority.ts'

/** What a thread does that others ask (server/threads/pool.ts): it answers each question, one at a time, below the priority of requests. */
export function answerQuestions<Question>(answer: (question: Question) => unknown): void {
  giveWay()
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- threads have no origin
  const say = (message: unknown) => parentPort?.postMessage(message)
  parentPort?.on('message', (question: Question) => say(answer(question)))
  say('ready')
}
