// Prepares a checkout for the npm scripts. Plain JavaScript without dependencies, because on a fresh checkout it runs before anything is installed,
// with the Node version of the machine.
//
// The script `start` replaces the shell of npm by this program, except on Windows. Otherwise, the shell ends at SIGTERM and npm with it, while the
// server still shuts down, and a SIGINT that npm passes on ends only the shell.
//
//   node server/launch.mjs build    installs the dependencies and builds the console and the server, if needed
//   node server/launch.mjs start    does the same, then starts the server
import { spawn } from 'node:child_process'
import { constants } from 'node:os'
import { fileURLToPath } from 'node:url'
import { fail, whenNpmEnds } from './platform/launch/environment.mjs'
import { ensureBuilt, ensureInstalled, nodePath } from './platform/launch/prepare.mjs'

const [command] = process.argv.slice(2)
if (command !== 'build' && command !== 'start') fail('Usage: node server/launch.mjs build|start', 64)
process.chdir(fileURLToPath(new URL('..', import.meta.url)))
ensureInstalled()
ensureBuilt('console')
ensureBuilt('server')
if (command === 'start') startServer()

/**
 * Runs the server in place of this program, which would otherwise stay in memory, or as a child until it exits (on Windows, and with a Node older than
 * 22.15, as on the first start of a checkout). It runs with a heap that is collected before it doubles; one GC thread, since four would compete with requests; and one
 * malloc arena, since arenas of other threads would keep the memory used for compiling.
 */
function startServer() {
  const args = ['--max-semi-space-size=8', '--heap-growing-percent=50', '--v8-pool-size=1', 'server/platform/launch/snug.mjs', 'start']
  const env = { ...process.env, MALLOC_ARENA_MAX: '1' }
  if (process.execve && process.platform !== 'win32') {
    process.removeAllListeners('warning') // `execve` warns that it may change in later versions of Node.
    process.execve(nodePath(), [nodePath(), ...args], env)
  }
  const server = spawn(nodePath(), args, { stdio: 'inherit', env })
  // On Windows, the console sends Ctrl-C to the server as well, and `kill` would end it without a shutdown.
  const forward = (signal) => process.platform === 'win32' || server.kill(signal)
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, forward)
  whenNpmEnds(() => forward('SIGTERM'))
  server.on('exit', (code, signal) => process.exit(code ?? 128 + constants.signals[signal]))
}
