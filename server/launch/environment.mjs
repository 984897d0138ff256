import { randomBytes } from 'node:crypto'
import { accessSync, constants, existsSync, readFileSync, writeFileSync } from 'node:fs'
import * as util from 'node:util'
import { fail } from './process.mjs'

/** EX_CONFIG of sysexits.h. */
const badConfiguration = 78

/**
 * Lets a server start without editing anything: writes what must be set and is not, neither itself nor as NAME_FILE, into `.env` of the working
 * directory. Only when there is no such file: what people wrote there stays. Where none can be written, the server says what is missing.
 */
export function makeEnvironmentFile() {
  if (existsSync('.env')) return
  const port = process.env.LISTEN_PORT || 8080
  const defaults = {
    JWT_SECRET: [`JWT_SECRET=${randomBytes(36).toString('base64url')}`],
    SERVER_URL: [`SERVER_URL=http://localhost:${port}`, `LISTEN_PORT=${port}`],
  }
  // An empty one in the environment wins over the file, too.
  const missing = Object.keys(defaults).filter((name) => process.env[name] === undefined && !process.env[`${name}_FILE`])
  if (missing.length === 0) return
  const lines = missing.flatMap((name) => defaults[name])
  try {
    writeFileSync('.env', `${lines.join('\n')}\n`, { mode: 0o600, flag: 'wx' })
  } catch (error) {
    return console.error(`.env cannot be written in ${process.cwd()} (${error.code}): set ${missing.join(' and ')} in the environment.`)
  }
  const hint = missing.includes('SERVER_URL') ? ' Change SERVER_URL there to the address that people will use.' : ''
  console.log(`Made .env with ${missing.join(' and ')}.${hint}`)
}

/** As Node can from 20.12 on. */
export const canReadEnvironmentFile = 'parseEnv' in util

/** Reads `.env` of the working directory. Variables that are set already win, also over the other one of NAME and NAME_FILE. */
export function loadEnvironmentFile() {
  if (!hasEnvironmentFile()) return
  const given = { ...process.env }
  for (const [name, value] of Object.entries(util.parseEnv(readFileSync('.env', 'utf8'))))
    if (given[name] === undefined && !given[otherOf(name)]) process.env[name] = value
}

const otherOf = (name) => (name.endsWith('_FILE') ? name.slice(0, -'_FILE'.length) : `${name}_FILE`)

/** Whether the working directory has a `.env`. Ends the process when this account may not read it: nobody knows which server it would be. */
export function hasEnvironmentFile() {
  if (!existsSync('.env')) return false
  try {
    accessSync('.env', constants.R_OK)
  } catch (error) {
    fail(
      `.env in ${process.cwd()} cannot be read (${error.code}). Give it to the account that the server runs as (chown), or remove it.`,
      badConfiguration,
    )
  }
  return true
}
