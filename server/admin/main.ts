import { runAdmin } from './run.ts'

process.exitCode = await runAdmin(process.argv.slice(2), {
  out: (text) => void process.stdout.write(`${text}\n`),
  err: (text) => void process.stderr.write(`${text}\n`),
})
// Whatever was given up, such as a connection to what does not answer, does not keep it from ending.
setTimeout(() => process.exit(), 2000).unref()
