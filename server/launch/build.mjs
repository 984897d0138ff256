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

/** Whether the last build is of the sources that are there now. */
export function isBuilt(name) {
  const stamp = stampOf(name)
  return existsSync(stamp) && readFileSync(stamp, 'utf8') === fingerprint(name)
}

async function ensure(name) {
  if (isBuilt(name)) return
  const code = await buildOne(name)
  if (code !== 0) fail(`The ${name} could not be built: see the messages above.`, code)
}

async function buildOne(name) {
  const sources = fingerprint(name) // taken first: an edit during the build must lead to another one
  rmSync(stampOf(name), { force: true })
  const { code, output } = await showStep(`Building the ${name}`, (tell) =>
    runQuietly('vite', ['build', ...builds[name].options, '--logLevel', 'info'], { hear: (text) => tell(phaseIn(text)) }),
  )
  if (code === 0) writeFileSync(stampOf(name), sources)
  else console.error(output)
  return code
}

/** What vite says that it does: `transforming...`, `1389 modules transformed`, `rendering chunks...` */
const phaseIn = (text) => /(\d+ modules transformed|rendering chunks|transforming)(?!.*(transformed|rendering))/s.exec(text)?.[1]

const stampOf = (name) => `${builds[name].into}/.built-from`

/** A digest of everything the build reads. Contents, not times, since git and copies change times. A few milliseconds. */
function fingerprint(name) {
  const hash = createHash('sha256')
  for (const file of builds[name].from.flatMap(filesBelow)) hash.update(`${file}\0`).update(readFileSync(file))
  return hash.digest('hex')
}

/** The file itself, or all files of a folder, always in the same order; nothing when there is no such file. */
function filesBelow(path) {
  if (made.has(path) || !existsSync(path)) return []
  if (!statSync(path).isDirectory()) return [path]
  return readdirSync(path)
    .sort()
    .flatMap((name) => filesBelow(`${path}/${name}`))
}
