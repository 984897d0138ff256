import { readFileSync } from 'node:fs'

const manifest = JSON.parse(readFileSync(new URL('../../../package.json', import.meta.url), 'utf8')) as {
  version: string
  engines: { node: string }
  snug?: { platform: string }
}

/** Version of this program. */
export const version = manifest.version

/** Oldest supported Node.js version. */
export const oldestNode = manifest.engines.node.replace(/^>=/, '')

/** Prefix of admin commands. Installed packages have no npm scripts, so their command is `snug admin`. */
export const adminCommand = manifest.snug ? 'snug admin' : 'npm run admin --'
