import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { constants } from 'node:os'
import { delimiter, resolve } from 'node:path'

// From here on Node strips the types of .ts files without a flag.
const [minMajor, minMinor] = [22, 18]

/** Whether the running Node can load the server's sources itself. */
export function isCapable(version = process.versions.node) {
  const [major, minor] = version.split('.').map(Number)
  return major > minMajor || (major === minMajor && minor >= minMinor)
}

/** The Node to run TypeScript with: the one that came with the dependencies, else the running one. Throws when neither will do. */
export function nodePath() {
  const installed = resolve('node_modules/.bin/node')
  if (existsSync(installed)) return installed
  if (isCapable()) return process.execPath
  throw new Error(`Snug needs Node ${minMajor}.${minMinor} or newer; this is ${process.versions.node} and no Node package exists for this platform.`)
}

/**
 * Runs a program with the signals passed on, and gives its exit code (128 + n after signal n, as shells do).
 * Programs of ./node_modules/.bin come first on its path.
 */
export function run(program, args = [], env = {}) {
  const path = [resolve('node_modules/.bin'), process.env.PATH].join(delimiter)
  const child = spawn(program, args, { stdio: 'inherit', env: { ...process.env, PATH: path, ...env } })
  const signals = ['SIGTERM', 'SIGINT', 'SIGHUP']
  const pass = (signal) => child.kill(signal)
  for (const signal of signals) process.on(signal, pass)
  return new Promise((done, fail) => {
    child.on('error', fail)
    child.on('exit', (code, signal) => {
      for (const name of signals) process.off(name, pass)
      done(code ?? 128 + constants.signals[signal])
    })
  })
}
