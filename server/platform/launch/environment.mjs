import { randomBytes } from 'node:crypto'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import util from 'node:util' // older versions of Node have no export `parseEnv`

/** Exit code EX_CONFIG of sysexits.h. */
const badConfiguration = 78

/**
 * Creates `.env` in the working directory with the required settings that are set neither directly nor as NAME_FILE, so that a server starts without
 * configuration. Does nothing if `.env` exists. If it cannot be written, prints which settings are missing.
 */
export function makeEnvironmentFile() {
  if (existsSync('.env')) return
  const port = process.env.LISTEN_PORT || 8080
  const defaults = {
    JWT_SECRET: [`JWT_SECRET=${randomBytes(36).toString('base64url')}`],
    SERVER_URL: [`SERVER_URL=http://localhost:${port}`, `LISTEN_PORT=${port}`],
  }
  // An empty variable in the environment also overrides the file.
  const missing = Object.keys(defaults).filter((name) => process.env[name] === undefined && !process.env[`${name}_FILE`])
  if (missing.length === 0) return
  const lines = missing.flatMap((name) => defaults[name])
  try {
    writeFileSync('.env', `${lines.join('\n')}\n`, { mode: 0o600, flag: 'wx' })
  } catch (error) {
    return console.error(`Cannot write .env in ${process.cwd()} (${error.code}). Set ${missing.join(' and ')} in the environment.`)
  }
  const hint = missing.includes('SERVER_URL') ? ' Change SERVER_URL there to the URL that users will use.' : ''
  console.log(`Created .env with ${missing.join(' and ')}.${hint}`)
}

/**
 * Loads `.env` of the working directory. Existing variables take precedence, also over the other form of NAME and NAME_FILE. Exits if the file is not
 * readable, because starting without its settings could start a different server.
 */
export function loadEnvironmentFile() {
  if (!existsSync('.env')) return
  const given = { ...process.env }
  for (const [name, value] of Object.entries(util.parseEnv(readEnvironmentFile())))
    if (given[name] === undefined && !given[otherOf(name)]) process.env[name] = value
}

const otherOf = (name) => (name.endsWith('_FILE') ? name.slice(0, -'_FILE'.length) : `${name}_FILE`)

function readEnvironmentFile() {
  try {
    const bytes = readFileSync('.env')
    // PowerShell writes byte order marks, and UTF-16 with `>>`. The decoder removes the mark.
    const mark = bytes.toString('hex', 0, 2)
    return new TextDecoder({ fffe: 'utf-16le', feff: 'utf-16be' }[mark] ?? 'utf-8').decode(bytes)
  } catch (error) {
    const hint = "Make the server's account its owner (chown), or remove the file."
    return fail(`Cannot read .env in ${process.cwd()} (${error.code}). ${hint}`, badConfiguration)
  }
}

/** Exits if the running Node does not support TypeScript, as 22.18 and newer do. */
export function requireNode() {
  const [major, minor] = process.versions.node.split('.').map(Number)
  if (major < 22 || (major === 22 && minor < 18)) fail(`Snug requires Node 22.18 or newer. This is Node ${process.versions.node}.`)
}

/** Calls `stop` when the npm that runs the script `start` of a checkout has ended: npm passes on SIGTERM and SIGINT, but not SIGHUP, and cannot pass on SIGKILL. */
export function whenNpmEnds(stop) {
  // Programs that were started by another script inherit these variables, and may outlive it.
  if (!process.env.npm_lifecycle_script?.includes('server/launch.mjs')) return
  const parent = process.ppid
  const watch = setInterval(() => {
    if (process.ppid === parent) return
    clearInterval(watch)
    stop()
  }, 500).unref()
}

/** Prints an error and exits. */
export function fail(message, code = 1) {
  console.error(message)
  process.exit(code)
}
