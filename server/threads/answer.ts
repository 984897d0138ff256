import { parentPort } from 'node:worker_threads'
import { lowerPriority } from './low-priority.ts'

/** Takes a question of whatever type it is that its callers send: a method, so that it may say which. */
type Answerer = { answer(question: unknown): unknown }['answer']

/** With this, requests come first, and on a busy machine a thread still gets half the time that any other program gets. */
const lowerBy = 3

/** Answers each question that a thread is asked (server/threads/pool.ts), one at a time, below the priority of requests. */
export function answerQuestions(answer: Answerer): void {
  lowerPriority(lowerBy)
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- threads have no origin
  const say = (message: unknown) => parentPort?.postMessage(message)
  parentPort?.on('message', (question: unknown) => say(answer(question)))
  say('ready')
}
