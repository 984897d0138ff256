import { readFileSync, statSync } from 'node:fs'
import { delimiter, resolve } from 'node:path'
import { fail, run } from './process.mjs'

const lockFile = 'package-lock.json'
// npm writes this one last, so an interrupted installation has none.
const installedFile = 'node_modules/.package-lock.json'

/** Installs what the lock file names unless it is all there. */
export async function ensureInstalled() {
  if (isInstalled()) return
  console.log('Installing dependencies…')
  // The installation replaces the Node that ./node_modules/.bin may have put on the path, so npm must not run on it.
  const bin = resolve('node_modules/.bin')
  const path = (process.env.PATH ?? '').split(delimiter).filter((entry) => resolve(entry) !== bin)
  const code = await run('npm', ['ci', '--include=dev', '--loglevel=error'], { PATH: path.join(delimiter) })
  if (code !== 0) fail('The dependencies could not be installed: see the messages of npm above.', code)
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
