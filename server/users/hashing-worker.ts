import { parentPort } from 'node:worker_threads'
import bcrypt from 'bcrypt'
import { giveWay } from '../threads/low-priority.ts'

/** To hash a password at a cost, or to compare it with a hash. */
export type Task = { password: string; cost: number } | { password: string; stored: string }

giveWay()

const work = (task: Task): string | boolean =>
  'stored' in task ? bcrypt.compareSync(task.password, task.stored) : bcrypt.hashSync(task.password, task.cost)

// oxlint-disable-next-line unicorn/require-post-message-target-origin -- threads have no origin
parentPort?.on('message', (task: Task) => parentPort?.postMessage(work(task)))
