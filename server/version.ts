import { readFileSync } from 'node:fs'

const manifest = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')) as {
  version: string
  snug?: { platform: string }
}

/** The version of this program. */
export const version = manifest.version

/** What operators write before a command: a package has no npm scripts. */
export const adminCommand = manifest.snug ? 'snug admin' : 'npm run admin --'
