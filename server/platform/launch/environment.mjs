import { randomBytes } from 'node:crypto'
import { accessSync, constants, existsSync, readFileSync, writeFileSync } from 'node:fs'
import * as util from 'node:util'
import { fail } from './process.mjs'

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

/** Whether Node can parse `.env` files (20.12 or newer). */
export const canReadEnvironmentFile = 'parseEnv' in util

/** Loads `.env` of the working directory. Existing variables take precedence, also over the other form of NAME and NAME_FILE. */
export function loadEnvironmentFile() {
  if (!hasEnvironmentFile()) return
  const given = { ...process.env }
  for (const [name, value] of Object.entries(util.parseEnv(readFileSync('.env', 'utf8'))))
    if (given[name] === undefined && !given[otherOf(name)]) process.env[name] = value
}

const otherOf = (name) => (name.endsWith('_FILE') ? name.slice(0, -'_FILE'.length) : `${name}_FILE`)

/**
 * Whether the working directory has a `.env`. Exits if the file is not readable, because starting without its settings could start a different
 * server.
 */
export function hasEnvironmentFile() {
  if (!existsSync('.env')) return false
  try {
    accessSync('.env', constants.R_OK)
  } catch (error) {
    fail(
      `Cannot read .env in ${process.cwd()} (${error.code}). Make the server's account its owner (chown), or remove the file.`,
      badConfiguration,
    )
  }
  return true
}
