import { randomBytes } from 'node:crypto'
import { existsSync, writeFileSync } from 'node:fs'
import module from 'node:module'
import { resolve } from 'node:path'
import { ensureConsole, ensureServer } from './build.mjs'
import { isCapable, nodePath, run } from './process.mjs'

const cache = resolve('node_modules/.cache/snug')

/** Serves in the foreground: quick-start settings, a built console, then the built server/main.ts. */
export async function start() {
  makeEnvironmentFile()
  await ensureConsole()
  await ensureServer()
  return main()
}

/**
 * Runs the server in this process when it can: one process less to start, to signal and to keep in memory. Otherwise it gets what the script
 * in package.json sets: a heap that is collected before it has doubled, and one arena, since each thread's own would keep what compiling took.
 */
async function main() {
  if (!isCapable()) {
    const options = ['--max-semi-space-size=8', '--heap-growing-percent=50', '--env-file-if-exists=.env', 'server/dist/main.js']
    return run(nodePath(), options, { MALLOC_ARENA_MAX: '1', NODE_COMPILE_CACHE: cache })
  }
  if (existsSync('.env')) process.loadEnvFile('.env') // variables that are set already win
  module.enableCompileCache(cache)
  await import('../dist/main.js')
}

/**
 * Lets a fresh checkout run without editing anything: writes what must be set and is not, neither itself nor as NAME_FILE. Only when there is
 * no such file: what people wrote there stays.
 */
export function makeEnvironmentFile() {
  if (existsSync('.env')) return
  const port = process.env.LISTEN_PORT || 8080
  const defaults = {
    JWT_SECRET: [`JWT_SECRET=${randomBytes(36).toString('base64url')}`],
    SERVER_URL: [`SERVER_URL=http://localhost:${port}`, `LISTEN_PORT=${port}`],
  }
  const missing = Object.keys(defaults).filter((name) => !process.env[name] && !process.env[`${name}_FILE`])
  if (missing.length === 0) return
  const lines = missing.flatMap((name) => defaults[name])
  writeFileSync('.env', `${lines.join('\n')}\n`, { mode: 0o600, flag: 'wx' })
  const hint = missing.includes('SERVER_URL') ? ' Change SERVER_URL there to the address that people will use.' : ''
  console.log(`Made .env with ${missing.join(' and ')}.${hint}`)
}
