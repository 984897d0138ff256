import { runAdmin } from './run.ts'

for (const stream of [process.stdout, process.stderr]) stream.on('error', notWritten)

process.exitCode = await runAdmin(process.argv.slice(2), {
  out: (text) => void process.stdout.write(`${text}\n`),
  err: (text) => void process.stderr.write(`${text}\n`),
})
// Exit even if open handles remain, such as a connection to an unresponsive service.
setTimeout(() => process.exit(), 2000).unref()

/** Handles failed writes. A closed pipe (`… | head -1`) is not an error. Any other failure, such as a full disk, is, since output was lost. */
function notWritten(this: NodeJS.WriteStream, error: NodeJS.ErrnoException): void {
  if (error.code === 'EPIPE') return
  process.exitCode = 1
  if (this === process.stdout) process.stderr.write(`The output could not be written: ${error.message}\n`)
}
