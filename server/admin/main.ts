import { runAdmin } from './run.ts'

for (const stream of [process.stdout, process.stderr]) stream.on('error', notWritten)

process.exitCode = await runAdmin(process.argv.slice(2), {
  out: (text) => void process.stdout.write(`${text}\n`),
  err: (text) => void process.stderr.write(`${text}\n`),
})
// Whatever was given up, such as a connection to what does not answer, does not keep it from ending.
setTimeout(() => process.exit(), 2000).unref()

/** A reader that has read enough (`… | head -1`) is no failure; a full disk is one, since what was asked for is not there. */
function notWritten(this: NodeJS.WriteStream, error: NodeJS.ErrnoException): void {
  if (error.code === 'EPIPE') return
  process.exitCode = 1
  if (this === process.stdout) process.stderr.write(`The output could not be written: ${error.message}\n`)
}
