import { existsSync, readFileSync, statSync } from 'node:fs'
import { delimiter, resolve } from 'node:path'
import { fail, runQuietly } from './process.mjs'
import { showStep } from './progress.mjs'

const lockFile = 'package-lock.json'
// npm writes this file last, so an interrupted installation lacks it.
const installedFile = 'node_modules/.package-lock.json'

/** Installs the dependencies of the lock file unless they are installed. */
export async function ensureInstalled() {
  if (isInstalled()) return
  // Removes ./node_modules/.bin from the path: the installation replaces the Node there, so npm must not run on it.
  const bin = resolve('node_modules/.bin')
  const path = (process.env.PATH ?? '').split(delimiter).filter((entry) => resolve(entry) !== bin)
  const { code, output } = await showStep('Installing dependencies', async (setProgress) => {
    const places = placesForThisSystem()
    const counter = setInterval(
      () => setProgress(`${places.filter((place) => existsSync(`${place}/package.json`)).length} of ${places.length}`),
      1000,
    )
    try {
      return await runQuietly('npm', ['ci', '--include=dev', '--loglevel=error'], { env: { PATH: path.join(delimiter) } })
    } finally {
      clearInterval(counter)
    }
  })
  if (code !== 0) fail(`${output}\nInstalling the dependencies failed. See the output of npm above.`, code)
}

/** Returns the folders that npm will install on this operating system and CPU. */
function placesForThisSystem() {
  const isFor = (list, here) => !list || list.includes(here)
  return Object.entries(packagesIn(lockFile))
    .filter(([place, { os, cpu }]) => place && isFor(os, process.platform) && isFor(cpu, process.arch))
    .map(([place]) => place)
}

const packagesIn = (file) => JSON.parse(readFileSync(file, 'utf8')).packages

/**
 * Whether the dependencies match the lock file. Compares file times first, for speed, then versions, since a checkout may touch the lock file without
 * changing it.
 */
export function isInstalled() {
  const installed = statSync(installedFile, { throwIfNoEntry: false })
  if (!installed) return false
  if (installed.mtimeMs >= statSync(lockFile).mtimeMs) return true
  const [wanted, present] = [packagesIn(lockFile), packagesIn(installedFile)]
  return Object.entries(wanted).every(
    ([path, { version, optional }]) => !path || (optional && !present[path]) || present[path]?.version === version,
  )
}
