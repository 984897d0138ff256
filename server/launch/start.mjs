import { ensureConsole, ensureServer, isBuilt } from './build.mjs'
import { runBuilt } from './built.mjs'
import { makeEnvironmentFile } from './environment.mjs'
import { isInstalled } from './install.mjs'
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
  return runBuilt('main')
}
