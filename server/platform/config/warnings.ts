import type { Config } from './config.ts'
import { oidcNames } from './oidc-variables.ts'
import { proxyVariables } from './service-variables.ts'
import { variables } from './variables.ts'

type Judged = Pick<Config, 'JWT_SECRET' | 'JWT_SECRET_PREVIOUS' | 'BCRYPT_COST'>

/** A setting that works but weakens security. The message does not contain its value when it is a secret. */
type WeakSetting = { name: keyof Judged; message: string }

/** Random secrets of 32 characters have more distinct characters, also in hexadecimal. */
const minDistinctCharacters = 8

/** Below this cost, stolen password hashes are cheap to crack. */
const minBcryptCost = 10

/** Returns the settings that work but weaken security. The server starts with them and warns. */
export function weakSettings({ JWT_SECRET, JWT_SECRET_PREVIOUS, BCRYPT_COST }: Judged): WeakSetting[] {
  const weak: WeakSetting[] = []
  if (isRepetitive(JWT_SECRET))
    weak.push({
      name: 'JWT_SECRET',
      message:
        'JWT_SECRET is easy to guess because it repeats the same characters. Set it to a random value, such as the output of: openssl rand -base64 32',
    })
  if (JWT_SECRET_PREVIOUS !== undefined && isRepetitive(JWT_SECRET_PREVIOUS))
    weak.push({
      name: 'JWT_SECRET_PREVIOUS',
      message:
        'JWT_SECRET_PREVIOUS is easy to guess because it repeats the same characters. Remove it as soon as users can be asked to sign in again.',
    })
  if (BCRYPT_COST < minBcryptCost)
    weak.push({
      name: 'BCRYPT_COST',
      message: `BCRYPT_COST is ${BCRYPT_COST}: stolen password hashes are quick to guess. Use ${minBcryptCost} or more.`,
    })
  return weak
}

/** Whether a secret has few distinct characters, or repeats a part that is at most half as long. */
function isRepetitive(secret: string): boolean {
  if (new Set(secret).size < minDistinctCharacters) return true
  for (let period = 1; period <= secret.length / 2; period++) if (secret.startsWith(secret.slice(period))) return true
  return false
}

/** Recommended limit of open files. Below it, the server closes unpacked archives earlier and accepts fewer connections. */
const recommendedFiles = 4096

/**
 * Returns how many files and connections this process may have open, or null if there is no limit. Node has raised the soft limit to the hard limit
 * at its start.
 */
export function openFileLimit(): number | null {
  // Without this, the report resolves the host names of all connections.
  Object.assign(process.report, { excludeNetwork: true })
  const { userLimits } = process.report.getReport() as { userLimits?: { open_files?: { soft: number | string } } }
  const soft = Number(userLimits?.open_files?.soft)
  return Number.isFinite(soft) ? soft : null
}

/** Returns a warning if this process may open fewer files than recommended, otherwise null. */
export function lowFileLimit(limit = openFileLimit()): string | null {
  if (limit === null || limit >= recommendedFiles) return null
  return `This process may open only ${limit} files and connections. Raise the limit to ${recommendedFiles} or more: LimitNOFILE in systemd, nofile in Docker, ulimit -n in a shell.`
}

type Environment = Record<string, string | undefined>

/** Prefixes that only settings of this program are expected to have. */
const ownPrefix = /^(SNUG|S3|BACKUP|METRICS|SCORING|POSTGRES_POOL|POSTGRES_READ|DRAIN|BLOB|DOCS|JWT|SDK_PUB)_/

/** Variables that have one of these prefixes but are not settings: scripts and deployment examples read them. */
const usedElsewhere = new Set(['SNUG_TOKEN', 'SNUG_URL', 'SNUG_SITE', 'SNUG_INSTANCES'])

/** Matches variables that Kubernetes and Docker links define for services of any name. */
const serviceVariable = /_(SERVICE_(HOST|PORT)(_\w+)?|PORT(_\d+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?)?)$/

/** Settings that the previous release had, and what happens without them. */
const removed = new Map([['POSTGRES_READ_URL', 'All reads use POSTGRES_URL.']])

/** Minimum length of setting names that are compared with unknown variables. Shorter names are one edit away from too many others. */
const shortestToCompare = 7

/** Returns a warning, without the value, for each unknown variable that resembles a setting or was removed. */
export function misspeltVariables(environment: Environment): string[] {
  const names = Object.keys(variables).flatMap((name) => [name, `${name}_FILE`])
  const known = new Set([
    ...names,
    ...Object.keys(proxyVariables).map((name) => name.toLowerCase()),
    ...usedElsewhere,
    ...oidcNames(environment).known.flatMap((name) => [name, `${name}_FILE`]),
  ])
  return Object.keys(environment)
    .filter((name) => !known.has(name) && !serviceVariable.test(name))
    .toSorted()
    .flatMap((name) => {
      const instead = removed.get(name.replace(/_FILE$/, ''))
      if (instead !== undefined) return [`${name} was removed and is ignored. ${instead}`]
      const near = nearest(name, names)
      if (near === null && !ownPrefix.test(name)) return []
      return [`${name} is not a setting and is ignored.${near === null ? '' : ` Did you mean ${near}?`}`]
    })
}

/** Returns the setting that was probably meant: one edit away, or equal without the prefix `SNUG_`. */
function nearest(given: string, names: string[]): string | null {
  const bare = given.toUpperCase().replace(/^SNUG_/, '')
  if (bare !== given && names.includes(bare)) return bare
  return names.find((name) => name.length >= shortestToCompare && isOneEditAway(bare, name)) ?? null
}

/** Whether two texts differ by one insertion, deletion, replacement or swap of adjacent characters. */
function isOneEditAway(one: string, other: string): boolean {
  if (Math.abs(one.length - other.length) > 1) return false
  let start = 0
  while (start < one.length && one[start] === other[start]) start++
  const rest = (text: string, skipped: number) => text.slice(start + skipped)
  if (one.length !== other.length) return one.length > other.length ? rest(one, 1) === rest(other, 0) : rest(one, 0) === rest(other, 1)
  const isSwapped = one[start] === other[start + 1] && one[start + 1] === other[start]
  return rest(one, 1) === rest(other, 1) || (isSwapped && rest(one, 2) === rest(other, 2))
}
