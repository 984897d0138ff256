import { spawnSync } from 'node:child_process'
import { readFileSync, statSync } from 'node:fs'
import { delimiter, resolve } from 'node:path'
import { fail } from './process.mjs'

const lockFile = 'package-lock.json'
// npm writes this one last, so an interrupted installation has none.
const installedFile = 'node_modules/.package-lock.json'

/** Installs what the lock file names unless it is all there. */
export function ensureInstalled() {
  if (isInstalled()) return
  console.log('Installing dependencies…')
  // The installation replaces the Node that ./node_modules/.bin may have put on the path, so npm must not run on it.
  const bin = resolve('node_modules/.bin')
  const path = (process.env.PATH ?? '').split(delimiter).filter((entry) => resolve(entry) !== bin)
  const { status, error } = spawnSync('npm', ['ci', '--include=dev', '--loglevel=error'], {
    stdio: ['ignore', 'inherit', 'inherit'],
    env: { ...process.env, PATH: path.join(delimiter) },
  })
  if (error || status !== 0) fail(`The dependencies could not be installed: ${error?.message ?? 'see the messages of npm above'}.`)
}

/** Compares times first, for speed, then contents: a checkout may touch the lock file without changing it. */
function isInstalled() {
  const installed = statSync(installedFile, { throwIfNoEntry: false })
  if (!installed) return false
  if (installed.mtimeMs >= statSync(lockFile).mtimeMs) return true
  const [wanted, present] = [lockFile, installedFile].map((file) => JSON.parse(readFileSync(file, 'utf8')).packages)
  return Object.entries(wanted).every(
    ([path, { version, optional }]) => !path || (optional && !present[path]) || present[path]?.version === version,
  )
}
