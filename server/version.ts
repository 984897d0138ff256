import { readFileSync } from 'node:fs'

const manifest = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')) as {
  version: string
  engines: { node: string }
  snug?: { platform: string }
}

/** The version of this program. */
export const version = manifest.version

/** The oldest version of Node that it works with. */
export const oldestNode = manifest.engines.node.replace(/^>=/, '')

/** What operators write before a command: a package has no npm scripts. */
export const adminCommand = manifest.snug ? 'snug admin' : 'npm run admin --'
