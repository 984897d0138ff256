import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { fail, requireNode } from './environment.mjs'

/** The builds: target folder, source files and folders, and Vite options. */
const builds = {
  console: { into: 'web/dist', from: ['package-lock.json', 'schema.graphql', 'web'], options: ['web'] },
  server: { into: 'server/dist', from: ['package-lock.json', 'server'], options: ['--config', 'server/platform/launch/vite.config.ts'] },
}
const isOutput = /^(web|server)[\\/](dist|generated)[\\/]/

/** Returns the path of the Node that is installed with the dependencies, or else of the running one. Exits if that is too old. */
export function nodePath() {
  const installed = resolve('node_modules/.bin/node')
  if (existsSync(installed)) return installed
  requireNode()
  return process.execPath
}

/** Installs the dependencies of the lock file unless the same versions are installed. */
export function ensureInstalled() {
  if (isInstalled()) return
  const { npm_execpath: npm, npm_node_execpath: node } = process.env // set by npm for its scripts
  if (!npm || !node) return fail('The dependencies are not installed. Run "npm ci".')
  run('Installing the dependencies', node, [npm, 'ci', '--include=dev', '--loglevel=error'])
}

function isInstalled() {
  const installedFile = 'node_modules/.package-lock.json' // npm writes this file last, so an interrupted installation lacks it
  if (!existsSync(installedFile)) return false
  const [wanted, present] = ['package-lock.json', installedFile].map((file) => JSON.parse(readFileSync(file, 'utf8')).packages)
  return Object.entries(wanted).every(
    ([path, { version, optional }]) => !path || (optional && !present[path]) || present[path]?.version === version,
  )
}

/** Builds the console or the server if its sources have changed since the last build. */
export function ensureBuilt(name) {
  const { into, from, options } = builds[name]
  const digest = digestOf(from) // computed before building, so that edits during the build cause another build
  const stamp = `${into}/.built-from` // Vite empties the folder, so an interrupted build lacks it
  if (existsSync(stamp) && readFileSync(stamp, 'utf8') === digest) return
  run(`Building the ${name}`, nodePath(), ['node_modules/vite/bin/vite.js', 'build', ...options, '--logLevel', 'error'])
  writeFileSync(stamp, digest)
}

/** Digest of the contents of files and folders, unaffected by git and copies, which change file times. */
function digestOf(paths) {
  const hash = createHash('sha256')
  for (const file of paths.flatMap(filesOf).sort()) hash.update(`${file}\0`).update(readFileSync(file))
  return hash.digest('hex')
}

function filesOf(path) {
  if (!existsSync(path)) return []
  if (statSync(path).isFile()) return [path]
  const entries = readdirSync(path, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile())
  return entries.map((entry) => join(entry.parentPath, entry.name)).filter((file) => !isOutput.test(file))
}

/** Runs a program whose output goes to stderr, so that the stdout of a command can be parsed. Exits if it fails. */
function run(step, program, args) {
  console.error(`${step}…`)
  const { status } = spawnSync(program, args, { stdio: ['ignore', 2, 2] })
  if (status !== 0) fail(`${step} failed. See the messages above.`, status ?? 1)
}
