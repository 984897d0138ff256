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
 * Lets a fresh checkout run without editing anything. Whoever sets either variable, itself or as NAME_FILE, configures by
 * hand and gets to read what is missing instead.
 */
export function makeEnvironmentFile() {
  const byHand = ['JWT_SECRET', 'SERVER_URL'].some((name) => process.env[name] || process.env[`${name}_FILE`])
  if (byHand || existsSync('.env')) return
  const port = process.env.LISTEN_PORT || 8080
  const lines = [`JWT_SECRET=${randomBytes(36).toString('base64url')}`, `SERVER_URL=http://localhost:${port}`, `LISTEN_PORT=${port}`]
  writeFileSync('.env', `${lines.join('\n')}\n`, { mode: 0o600, flag: 'wx' })
  console.log('Made .env with a random JWT_SECRET. Change SERVER_URL there to the address that people will use.')
}
