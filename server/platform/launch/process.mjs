import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { constants } from 'node:os'
import { delimiter, resolve } from 'node:path'

/** V8's compile cache of the built server, which halves the startup time. */
export const compileCache = resolve('node_modules/.cache/snug')

/** Whether the running Node supports TypeScript, as 22.18 and newer do. */
export function isCapable() {
  const [major, minor] = process.versions.node.split('.').map(Number)
  return major > 22 || (major === 22 && minor >= 18)
}

/** Returns the path of a Node that runs TypeScript: the one installed with the dependencies, or else the running one. */
export function nodePath() {
  const installed = resolve('node_modules/.bin/node')
  if (existsSync(installed)) return installed
  if (isCapable()) return process.execPath
  return fail(
    `Snug requires Node 22.18 or newer, and its dependencies include none for ${process.platform} ${process.arch}. This is Node ${process.versions.node}.`,
  )
}

/**
 * Runs a program in the foreground, preferring programs of the dependencies, and forwards signals to it. Returns its exit code: as in shells, 128 + n
 * if signal n ended it, and 127 if it could not be started.
 */
export function run(program, args = [], env = {}) {
  return waitForExit(program, startProgram(program, args, env, 'inherit'))
}

/**
 * Runs a program like `run` without printing its output. Calls `onOutput` with each chunk. Returns the exit code and the output, to be printed on
 * failure.
 */
export async function runQuietly(program, args, { env = {}, onOutput = () => {} } = {}) {
  const child = startProgram(program, args, env, ['ignore', 'pipe', 'pipe'])
  let output = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text) => {
      output += text
      onOutput(text)
    })
  }
  const code = await waitForExit(program, child, (message) => (output += message))
  return { code, output }
}

function startProgram(program, args, env, stdio) {
  const path = [resolve('node_modules/.bin'), process.env.PATH].join(delimiter)
  return spawn(program, args, { stdio, env: { ...process.env, PATH: path, ...env } })
}

function waitForExit(program, child, reportError = console.error) {
  const signals = ['SIGTERM', 'SIGINT', 'SIGHUP']
  const pass = (signal) => child.kill(signal)
  for (const signal of signals) process.on(signal, pass)
  return new Promise((done) => {
    const end = (code) => {
      for (const name of signals) process.off(name, pass)
      done(code)
    }
    child.on('error', (error) => {
      reportError(`Cannot start ${program}: ${error.message}`)
      end(127)
    })
    child.on('close', (code, signal) => end(code ?? 128 + constants.signals[signal]))
  })
}

/** Prints an error and exits. */
export function fail(message, code = 1) {
  console.error(message)
  process.exit(code)
}
