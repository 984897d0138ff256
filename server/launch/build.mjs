import { createHash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { fail, runQuietly } from './process.mjs'
import { showStep } from './progress.mjs'

/** What is built: from which files and folders, into which folder, and by which settings of vite. */
const builds = {
  console: { into: 'web/dist', from: ['package-lock.json', 'schema.graphql', 'web'], options: ['web'] },
  server: { into: 'server/dist', from: ['package-lock.json', 'server'], options: ['--config', 'server/launch/vite.config.ts'] },
}
const made = new Set(['web/dist', 'web/generated', 'server/dist'])

/** Builds the console when its sources differ from those of the last build. */
export const ensureConsole = () => ensure('console')

/** The same for the server, without what it never runs: it starts sooner than from its sources, and holds a tenth less memory. */
export const ensureServer = () => ensure('server')

/** Builds console and server whatever their state; gives vite's exit code. */
export async function build() {
  return (await buildOne('console')) || buildOne('server')
}

/** Whether the last build is of the sources that are there now: those that look as they did then, or say the same. */
export function isBuilt(name) {
  const last = stamped(name)
  return last.looks === looksOf(name) || last.contents === contentsOf(name)
}

async function ensure(name) {
  const [last, looks] = [stamped(name), looksOf(name)]
  if (last.looks === looks) return
  const contents = contentsOf(name)
  // Copied or checked out anew: next time, the looks suffice.
  if (last.contents === contents) return stamp(name, { looks, contents })
  const code = await buildOne(name)
  if (code !== 0) fail(`The ${name} could not be built: see the messages above.`, code)
}

async function buildOne(name) {
  const sources = { looks: looksOf(name), contents: contentsOf(name) } // taken first: an edit during the build must lead to another one
  rmSync(stampOf(name), { force: true })
  const { code, output } = await showStep(`Building the ${name}`, (tell) =>
    runQuietly('vite', ['build', ...builds[name].options, '--logLevel', 'info'], { hear: (text) => tell(phaseIn(text)) }),
  )
  if (code === 0) stamp(name, sources)
  else console.error(output)
  return code
}

/** What vite says that it does: `transforming...`, `1389 modules transformed`, `rendering chunks...` */
const phaseIn = (text) => /(\d+ modules transformed|rendering chunks|transforming)(?!.*(transformed|rendering))/s.exec(text)?.[1]

const stampOf = (name) => `${builds[name].into}/.built-from`

/** What the last build was made of; nothing when there was none that ended well. */
function stamped(name) {
  const [looks, contents] = existsSync(stampOf(name)) ? readFileSync(stampOf(name), 'utf8').split('\n') : []
  return { looks, contents }
}

function stamp(name, { looks, contents }) {
  rmSync(stampOf(name), { force: true }) // a copy of the folder may be made of links
  writeFileSync(stampOf(name), `${looks}\n${contents}`)
}

/** A digest of size and times of everything the build reads, which takes a fraction of reading it. Whatever changes a file changes its ctime. */
const looksOf = (name) =>
  digest(name, (file) => {
    const { size, mtimeMs, ctimeMs } = statSync(file)
    return `${size} ${mtimeMs} ${ctimeMs}`
  })

/** A digest of everything the build reads: git and copies change times, but no contents. */
const contentsOf = (name) => digest(name, (file) => readFileSync(file))

function digest(name, describe) {
  const hash = createHash('sha256')
  for (const file of builds[name].from.flatMap(filesBelow)) hash.update(`${file}\0`).update(describe(file))
  return hash.digest('hex')
}

/** The file itself, or all files of a folder, always in the same order; nothing when there is no such file. */
function filesBelow(path) {
  if (made.has(path) || !existsSync(path)) return []
  return statSync(path).isDirectory() ? filesIn(path) : [path]
}

/** Folders tell which of their entries are folders: none is asked. */
function filesIn(folder) {
  const entries = readdirSync(folder, { withFileTypes: true }).sort((a, b) => (a.name < b.name ? -1 : 1))
  return entries.flatMap((entry) => (entry.isDirectory() ? filesBelow(`${folder}/${entry.name}`) : `${folder}/${entry.name}`))
}
