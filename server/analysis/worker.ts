import type { Question } from './task.ts'
import { work } from './work.ts'

// What the process runs that process/start.ts starts, in its own folder. It answers one question at a time; a bug ends it.
process.on('message', (question: Question) => {
  void work(question, process.cwd()).then((answer) => process.send?.(answer))
})
process.on('disconnect', () => process.exit())
process.send?.('ready')
