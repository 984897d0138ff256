import { parentPort, workerData } from 'node:worker_threads'
import { lowerPriority } from '../../../platform/threads/worker.ts'
import { UnpackRejected } from './folder.ts'
import { perform, type Task } from './unpack.ts'

// Runs in a worker thread, since inflating and hashing gigabytes would block requests.
lowerPriority()

const send = (message: Message): void => {
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- threads have no origin
  parentPort?.postMessage(message)
}

export type Message =
  | { progress: { done: number; total: number } }
  | { result: unknown }
  | { failure: { message: string; isRejection: boolean; code: string | null } }

let sentAt = 0
const report = (done: number, total: number): void => {
  if (performance.now() - sentAt < 250) return
  sentAt = performance.now()
  send({ progress: { done, total } })
}

try {
  send({ result: await perform(workerData as Task, report) })
} catch (error) {
  const message = error instanceof Error ? error.message : String(error)
  const code = (error as NodeJS.ErrnoException).code ?? null
  send({ failure: { message, isRejection: error instanceof UnpackRejected, code } })
}
