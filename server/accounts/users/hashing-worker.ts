import bcrypt from 'bcrypt'
import { answerQuestions } from '../../platform/threads/worker.ts'

/** Hash a password at a cost, or compare it with a stored hash. */
export type Task = { password: string; cost: number } | { password: string; stored: string }

answerQuestions((task: Task) =>
  'stored' in task ? bcrypt.compareSync(task.password, task.stored) : bcrypt.hashSync(task.password, task.cost),
)
