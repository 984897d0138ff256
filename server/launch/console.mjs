import { createHash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { fail, run } from './process.mjs'

const stamp = 'web/dist/.built-from'
const made = new Set(['web/dist', 'web/generated'])

/** Builds the console when its sources differ from those of the last build. */
export async function ensureConsole() {
  if (existsSync(stamp) && readFileSync(stamp, 'utf8') === fingerprint()) return
  const code = await buildConsole()
  if (code !== 0) fail('The console could not be built: see the messages above.', code)
}

/** Builds the console whatever its state; gives vite's exit code. */
export async function buildConsole() {
  const started = Date.now()
  const sources = fingerprint() // taken first: an edit during the build must lead to another one
  console.log('Building the console…')
  rmSync(stamp, { force: true })
  const code = await run('vite', ['build', 'web', '--logLevel', 'warn'])
  if (code !== 0) return code
  writeFileSync(stamp, sources)
  console.log(`Built the console in ${((Date.now() - started) / 1000).toFixed(1)} s.`)
  return 0
}

/** A digest of everything the build reads. Contents, not times, since git and copies change times. A few milliseconds. */
function fingerprint() {
  const hash = createHash('sha256')
  for (const file of ['package-lock.json', 'schema.graphql', ...filesBelow('web')]) {
    if (existsSync(file)) hash.update(`${file}\0`).update(readFileSync(file))
  }
  return hash.digest('hex')
}

function filesBelow(folder) {
  const entries = readdirSync(folder, { withFileTypes: true }).map((entry) => ({
    path: `${folder}/${entry.name}`,
    isFolder: entry.isDirectory(),
  }))
  const files = entries.flatMap(({ path, isFolder }) => (made.has(path) ? [] : isFolder ? filesBelow(path) : [path]))
  return files.sort()
}
