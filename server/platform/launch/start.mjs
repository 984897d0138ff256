import { ensureConsole, ensureServer, isBuilt } from './build.mjs'
import { runBuilt } from './built.mjs'
import { makeEnvironmentFile } from './environment.mjs'
import { isInstalled } from './install.mjs'
import { announceSteps } from './progress.mjs'

/** Whether everything was up to date when the steps were announced, just before the start. Avoids reading all sources a second time. */
let isReady = false

/** Prints the steps that are required before the server can start, if any. */
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

/**
 * Starts the server in the foreground: creates default settings, builds the console and the server if needed, and runs the build of server/main.ts.
 */
export async function start() {
  makeEnvironmentFile()
  if (!isReady) {
    await ensureConsole()
    await ensureServer()
  }
  return runBuilt('main')
}
