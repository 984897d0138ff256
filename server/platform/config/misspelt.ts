import { variables } from './variables.ts'

type Environment = Record<string, string | undefined>

/** Prefixes that only settings of this program are expected to have. */
const ownPrefixes = [
  'SNUG_',
  'S3_',
  'BACKUP_',
  'METRICS_',
  'SCORING_',
  'POSTGRES_POOL_',
  'POSTGRES_READ_',
  'DRAIN_',
  'BLOB_',
  'DOCS_',
  'JWT_',
  'SDK_PUB_',
]

/** Variables that have one of these prefixes but are not settings: scripts and deployment examples read them. */
const usedElsewhere = new Set(['SNUG_TOKEN', 'SNUG_URL', 'SNUG_SITE', 'SNUG_INSTANCES'])

/** Matches variables that Kubernetes and Docker links define for services of any name. */
const serviceVariable = /_(SERVICE_(HOST|PORT)(_\w+)?|PORT(_\d+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?)?)$/

/** Settings that the previous release had, and what happens without them. */
const removed = new Map([['POSTGRES_READ_URL', 'All reads use POSTGRES_URL.']])

/** Minimum length of setting names that are compared with unknown variables. Shorter names are one edit away from too many others. */
const shortestToCompare = 7

/**
 * Returns a warning, without the value, for each variable that resembles a setting but is unknown: it was removed, has a prefix of this program, or
 * differs from a setting's name by one edit.
 */
export function misspeltVariables(environment: Environment): string[] {
  const names = Object.keys(variables).flatMap((name) => [name, `${name}_FILE`])
  const known = new Set([...names, ...usedElsewhere])
  return Object.keys(environment)
    .filter((name) => !known.has(name) && !serviceVariable.test(name))
    .toSorted()
    .flatMap((name) => {
      const instead = removed.get(name.replace(/_FILE$/, ''))
      if (instead !== undefined) return [`${name} was removed and is ignored. ${instead}`]
      const near = nearest(name, names)
      if (near === null && !ownPrefixes.some((prefix) => name.startsWith(prefix))) return []
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
