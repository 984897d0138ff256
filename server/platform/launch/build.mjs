import { createHash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { fail, runQuietly } from './process.mjs'
import { showStep } from './progress.mjs'

/** The builds: source files and folders, target folder, and Vite options. */
const builds = {
  console: { into: 'web/dist', from: ['package-lock.json', 'schema.graphql', 'web'], options: ['web'] },
  server: { into: 'server/dist', from: ['package-lock.json', 'server'], options: ['--config', 'server/platform/launch/vite.config.ts'] },
}
const outputFolders = new Set(['web/dist', 'web/generated', 'server/dist'])

/** Builds the console if its sources have changed since the last build. */
export const ensureConsole = () => ensure('console')

/** Builds the server if its sources have changed since the last build. The build starts faster than the sources and uses about 10% less memory. */
export const ensureServer = () => ensure('server')

/** Builds the console and the server unconditionally. Returns Vite's exit code. */
export async function build() {
  return (await buildOne('console')) || buildOne('server')
}

/** Whether the last build is up to date: its sources have the same file times and sizes, or the same contents. */
export function isBuilt(name) {
  const last = readStamp(name)
  return last.times === timesDigest(name) || last.contents === contentsDigest(name)
}

async function ensure(name) {
  const [last, times] = [readStamp(name), timesDigest(name)]
  if (last.times === times) return
  const contents = contentsDigest(name)
  // The files were copied or checked out again. Storing their new times makes the next check fast.
  if (last.contents === contents) return writeStamp(name, { times, contents })
  const code = await buildOne(name)
  if (code !== 0) fail(`The ${name} could not be built: see the messages above.`, code)
}

async function buildOne(name) {
  const sources = { times: timesDigest(name), contents: contentsDigest(name) } // computed before building, so that edits during the build cause another build
  rmSync(stampOf(name), { force: true })
  const { code, output } = await showStep(`Building the ${name}`, (setProgress) =>
    runQuietly('vite', ['build', ...builds[name].options, '--logLevel', 'info'], { onOutput: (text) => setProgress(phaseIn(text)) }),
  )
  if (code === 0) writeStamp(name, sources)
  else console.error(output)
  return code
}

/** Extracts the current phase from Vite's output: `transforming...`, `1389 modules transformed`, `rendering chunks...` */
const phaseIn = (text) => /(\d+ modules transformed|rendering chunks|transforming)(?!.*(transformed|rendering))/s.exec(text)?.[1]

const stampOf = (name) => `${builds[name].into}/.built-from`

/** Returns the digests of the last successful build, if any. */
function readStamp(name) {
  const [times, contents] = existsSync(stampOf(name)) ? readFileSync(stampOf(name), 'utf8').split('\n') : []
  return { times, contents }
}

function writeStamp(name, { times, contents }) {
  rmSync(stampOf(name), { force: true }) // the file may be a hard link in a copy of the folder
  writeFileSync(stampOf(name), `${times}\n${contents}`)
}

/** Digest of the sizes and times of all source files, which is much faster than reading them. Every change of a file updates its ctime. */
const timesDigest = (name) =>
  digest(name, (file) => {
    const { size, mtimeMs, ctimeMs } = statSync(file)
    return `${size} ${mtimeMs} ${ctimeMs}`
  })

/** Digest of the contents of all source files, unaffected by git and copies, which change file times. */
const contentsDigest = (name) => digest(name, (file) => readFileSync(file))

function digest(name, describe) {
  const hash = createHash('sha256')
  for (const file of builds[name].from.flatMap(filesBelow)) hash.update(`${file}\0`).update(describe(file))
  return hash.digest('hex')
}

/** Returns a file, or all files of a folder in a stable order; nothing if the path does not exist. */
function filesBelow(path) {
  if (outputFolders.has(path) || !existsSync(path)) return []
  return statSync(path).isDirectory() ? filesIn(path) : [path]
}

/** Lists the files of a folder recursively. `withFileTypes` avoids a `stat` per file. */
function filesIn(folder) {
  const entries = readdirSync(folder, { withFileTypes: true }).sort((a, b) => (a.name < b.name ? -1 : 1))
  return entries.flatMap((entry) => (entry.isDirectory() ? filesBelow(`${folder}/${entry.name}`) : `${folder}/${entry.name}`))
}
