import type { Question } from './task.ts'
import { work } from './work.ts'

// Module of the analysis processes (process.ts). Answers one question at a time; an unexpected error ends the process.
process.on('message', (question: Question) => {
  // oxlint-disable-next-line typescript/no-floating-promises -- the server reads from stderr why the process ended
  void work(question, process.cwd(), (interim) => process.send?.({ interim })).then((answer) => process.send?.(answer))
})
process.on('disconnect', () => process.exit())
process.send?.('ready')
