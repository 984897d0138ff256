import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { constants } from 'node:os'
import { delimiter, resolve } from 'node:path'

/** Where V8 keeps what it made of the built server: it starts in half the time. */
export const compileCache = resolve('node_modules/.cache/snug')

/** Whether the running Node loads TypeScript by itself, as it does from 22.18 on. */
export function isCapable() {
  const [major, minor] = process.versions.node.split('.').map(Number)
  return major > 22 || (major === 22 && minor >= 18)
}

/** The Node to run TypeScript with: the one that came with the dependencies, else the running one. */
export function nodePath() {
  const installed = resolve('node_modules/.bin/node')
  if (existsSync(installed)) return installed
  if (isCapable()) return process.execPath
  return fail(
    `Snug needs Node 22.18 or newer, and none comes with its dependencies for ${process.platform} ${process.arch}. This is Node ${process.versions.node}.`,
  )
}

/**
 * Runs a program in the foreground, programs of the dependencies before those of the machine, and passes signals on to it.
 * Gives its exit code; as shells do, 128 + n when signal n ended it, and 127 when it could not be started.
 */
export function run(program, args = [], env = {}) {
  return ended(program, startProgram(program, args, env, 'inherit'))
}

/** The same without its output, of which `hear` gets each piece. Gives its exit code, and the output for the case that it fails. */
export async function runQuietly(program, args, { env = {}, hear = () => {} } = {}) {
  const child = startProgram(program, args, env, ['ignore', 'pipe', 'pipe'])
  let output = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text) => {
      output += text
      hear(text)
    })
  }
  const code = await ended(program, child, (message) => (output += message))
  return { code, output }
}

function startProgram(program, args, env, stdio) {
  const path = [resolve('node_modules/.bin'), process.env.PATH].join(delimiter)
  return spawn(program, args, { stdio, env: { ...process.env, PATH: path, ...env } })
}

function ended(program, child, complain = console.error) {
  const signals = ['SIGTERM', 'SIGINT', 'SIGHUP']
  const pass = (signal) => child.kill(signal)
  for (const signal of signals) process.on(signal, pass)
  return new Promise((done) => {
    const end = (code) => {
      for (const name of signals) process.off(name, pass)
      done(code)
    }
    child.on('error', (error) => {
      complain(`${program} could not be started: ${error.message}`)
      end(127)
    })
    child.on('close', (code, signal) => end(code ?? 128 + constants.signals[signal]))
  })
}

/** Says what is wrong and ends the process. */
export function fail(message, code = 1) {
  console.error(message)
  process.exit(code)
}
