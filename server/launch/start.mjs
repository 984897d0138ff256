import module from 'node:module'
import { ensureConsole, ensureServer, isBuilt } from './build.mjs'
import { loadEnvironmentFile, makeEnvironmentFile } from './environment.mjs'
import { isInstalled } from './install.mjs'
import { compileCache, isCapable, nodePath, run } from './process.mjs'
import { announceSteps } from './progress.mjs'

/** Whether there was nothing to do when that was announced, a moment before the start: to read all sources again would take as long once more. */
let isReady = false

/** Says what has to be done before the server can start, if anything. */
export function announceStart() {
  const steps = {
    'installing dependencies': isInstalled,
    'building the console': () => isBuilt('console'),
    'building the server': () => isBuilt('server'),
  }
  const missing = Object.keys(steps).filter((name) => !steps[name]())
  isReady = missing.length === 0
  announceSteps(missing)
}

/** Serves in the foreground: quick-start settings, a built console, then the built server/main.ts. */
export async function start() {
  makeEnvironmentFile()
  if (!isReady) {
    await ensureConsole()
    await ensureServer()
  }
  return main()
}

/**
 * Runs the server in this process when it can: one process less to start, to signal and to keep in memory. Otherwise it gets what the script
 * in package.json sets: a heap that is collected before it has doubled, by one thread, since four of them would take turns with requests; and
 * one arena, since each thread's own would keep what compiling took.
 */
async function main() {
  if (!isCapable()) {
    const options = [
      '--max-semi-space-size=8',
      '--heap-growing-percent=50',
      '--v8-pool-size=1',
      '--env-file-if-exists=.env',
      'server/dist/main.js',
    ]
    return run(nodePath(), options, { MALLOC_ARENA_MAX: '1', NODE_COMPILE_CACHE: compileCache })
  }
  loadEnvironmentFile()
  module.enableCompileCache(compileCache)
  await import('../dist/main.js')
}
