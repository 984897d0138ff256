import type { Question } from './task.ts'
import { work } from './work.ts'

// What the process runs that process/start.ts starts, in its own folder. It answers one question at a time; a bug ends it.
process.on('message', (question: Question) => {
  // oxlint-disable-next-line typescript/no-floating-promises -- the server reads from stderr why the process ended
  void work(question, process.cwd(), (interim) => process.send?.({ interim })).then((answer) => process.send?.(answer))
})
process.on('disconnect', () => process.exit())
process.send?.('ready')
