import { createHash } from 'node:crypto'
import type { NotNull } from 'kysely'
import { z } from 'zod'
import type { Context } from '../../../platform/access/context.ts'
import { withoutBudget } from '../../../platform/access/budget.ts'
import { batched } from '../../../platform/db/batched.ts'
import { db } from '../../../platform/db/query.ts'
import { readRows } from '../../../platform/db/statements.ts'
import { ApiError, notFound } from '../../../errors.ts'
import { isUpstreamName } from '../../../platform/pub/package-name.ts'
import { isExcluded, requireMirror } from '../access.ts'
import { documentState, readDocument } from '../documents.ts'
import { findEntry, keyOf, type MirrorServices, storedDocument } from '../entries.ts'
import { callerOf } from '../limits.ts'
import { inThread } from '../threads.ts'
import { healthOf, isUnreachable } from '../health.ts'

declare module '../../../services.ts' {
  interface State {
    /** Names of the upstream packages. */
    mirrorNames?: Names
    /** Names of the packages in the mirror. */
    mirroredNames?: Names & { madeAt: Date }
    /** The completion document without own names. */
    mirrorCompletion?: { sha256: string; madeAt: Date; text: string }
  }
}

/** Maximum number of names that are compared with this server's own. */
const maxCandidates = 100

/**
 * Returns names of upstream packages for a search: an exact match, then names that begin with the text, then names that contain it, in any spelling.
 * Leaves out names that are never taken from upstream.
 * @throws ApiError if the caller may not read the mirror; ServiceUnavailable if the mirror is empty and the upstream server does not answer.
 */
export async function searchNames(context: Context, text: string, first: number): Promise<string[]> {
  if (context.config.UPSTREAM_URL === undefined) return []
  requireMirror(context)
  const wanted = text.trim()
  if (!isUpstreamName(wanted)) return []
  const names = await withoutBudget(context, () => readNames(context))
  const candidates = (names ? matching(names, wanted) : []).filter((name) => !isExcluded(context.config, name))
  const own = await ownNames(context, candidates)
  return candidates.filter((name) => !own.has(name.toLowerCase())).slice(0, first)
}

/** How long a completion document is used after own names have changed, in milliseconds. */
const completionMs = 10 * 60_000

/**
 * Returns the names of the upstream packages as a JSON document for completion in editors, without names that are never taken from upstream.
 * @throws ApiError NotFound if neither the upstream server nor the mirror has names; ServiceUnavailable as `searchNames`.
 */
export async function completionDocument(context: Context): Promise<string> {
  const { config, database, now, state } = context
  const names = await readNames(context)
  if (!names) throw notFound('The upstream server has no names for completion.')
  const { sha256, lines } = names
  const made = state.mirrorCompletion
  if (made?.sha256 === sha256 && now().getTime() - made.madeAt.getTime() < completionMs) return made.text
  const rows = await database.reads.all(db.selectFrom('packages').select('name').union(db.selectFrom('reserved_names').select('name')))
  const task = { task: 'completion', lines, own: rows.map(({ name }) => name), never: config.UPSTREAM_NEVER } as const
  const text = await inThread(context, callerOf(context), z.string(), task)
  state.mirrorCompletion = { sha256, madeAt: now(), text }
  return text
}

/** Names, each between line breaks, also in lower case, and the hash of what they are from. */
type Names = { sha256: string; lines: string; lower: string }

const namesOf = (sha256: string, lines: string): Names => ({ sha256, lines, lower: lines.toLowerCase() })

/** Whether one of the names is this one, in any spelling: the mirror takes none of these spellings from upstream if this server has one. */
const includesName = ({ lower }: Names, name: string): boolean => lower.includes(`\n${name.toLowerCase()}\n`)

/**
 * Returns the names of the upstream server's packages. Without its document, as in a closed network after an import, returns the names of the packages in
 * the mirror, or null if it has no packages.
 * @throws ApiError ServiceUnavailable if the upstream server does not answer, and the mirror has no packages.
 */
async function readNames(context: Context): Promise<Names | null> {
  try {
    const document = await readDocument(context, 'names', '', { caller: callerOf(context) })
    return document ? await namesIn(context, document) : await mirroredNames(context)
  } catch (error) {
    const names = error instanceof ApiError && error.status === 503 ? await mirroredNames(context) : null
    if (!names) throw error
    return names
  }
}

/** How long the names of the packages in the mirror are used, in milliseconds. */
const mirroredMs = 10_000

async function mirroredNames({ database, now, state }: Context): Promise<Names | null> {
  const made = state.mirroredNames
  if (made && now().getTime() - made.madeAt.getTime() < mirroredMs) return made
  const listings = db.selectFrom('mirror_entries').select('name').where('kind', '=', 'listing').where('sha256', 'is not', null)
  const rows = await database.reads.all(listings.orderBy('name'))
  if (rows.length === 0) return null
  const lines = `\n${rows.map(({ name }) => name).join('\n')}\n`
  const names = namesOf(createHash('sha256').update(lines).digest('hex'), lines)
  state.mirroredNames = { ...names, madeAt: now() }
  return names
}

/** Returns the names of the document. They are kept in memory until the document changes. */
async function namesIn({ state }: Pick<MirrorServices, 'state'>, { sha256, packed }: { sha256: string; packed: Buffer }): Promise<Names> {
  if (state.mirrorNames?.sha256 === sha256) return state.mirrorNames
  const lines = await inThread({ state }, '', z.string(), { task: 'names', names: packed })
  state.mirrorNames = namesOf(sha256, lines)
  return state.mirrorNames
}

const loadMirroredName = batched(async (em, names) => {
  const rows = await readRows(em, db.selectFrom('mirrored_names').select('name').where('name', 'in', names))
  return new Map(rows.map(({ name }) => [name, true]))
})

const loadFile = batched(async (em, keys) => {
  const files = db.selectFrom('mirror_entries').select(['key', 'sha256']).where('sha256', 'is not', null).where('key', 'in', keys)
  const rows = await readRows(em, files.$narrowType<{ sha256: NotNull }>())
  return new Map(rows.map(({ key, sha256 }) => [key, sha256]))
})

/**
 * Returns whether a name is that of a package that the mirror has stored before, or is in the stored list of all upstream packages. Sends no request to
 * the upstream server.
 */
export async function isKnownUpstream(context: Context, name: string): Promise<boolean> {
  const { config, log, state } = context
  if (config.UPSTREAM_URL === undefined) return false
  if (await loadMirroredName(context, name)) return true
  const sha256 = await loadFile(context, keyOf({ kind: 'names', name: '' }))
  if (sha256 === null) return false
  try {
    const packed = state.mirrorNames?.sha256 === sha256 ? Buffer.alloc(0) : await storedDocument(context, sha256)
    return packed !== null && includesName(await namesIn(context, { sha256, packed }), name)
  } catch (error) {
    log.warning(`mirror: looking up the name ${name}: ${String(error)}`)
    return false
  }
}

/** What is known of a name on the mirrored server. `reason`: why the name needs approval, as an independent clause; null if it does not. */
export type UpstreamClaim = { isUpstream: boolean; reason: string | null }

/** How long ago the upstream server may have said that it has no package of a name, in milliseconds. */
const absentMs = 10_000

/**
 * Finds out whether the upstream server has a package with a new name, which the mirror would no longer serve. Asks for the list of all names first,
 * and for the package itself only if the list does not have it: pub.dev lists some of its packages only. Names in UPSTREAM_NEVER are not asked for.
 */
export async function findUpstreamClaim(context: Context, name: string): Promise<UpstreamClaim> {
  const { config } = context
  const { UPSTREAM_URL: url } = config
  if (url === undefined) return { isUpstream: false, reason: null }
  const isKnown = await isKnownUpstream(context, name)
  if (isExcluded(config, name)) return { isUpstream: isKnown, reason: null }
  const mirrored = { isUpstream: true, reason: `${url} has a package of this name, which the mirror could then no longer serve` }
  if (isKnown) return mirrored
  const found = await withoutBudget(context, () => askUpstream(context, name))
  if (typeof found === 'boolean') return found ? mirrored : { isUpstream: false, reason: null }
  const reason = `it is unknown whether ${url} has a package of this name, which the mirror could then no longer serve (${found.failure})`
  return { isUpstream: false, reason: reason.slice(0, 500) }
}

/** Returns whether the upstream server has a package of this name, or why it could not be asked. */
async function askUpstream(context: Context, name: string): Promise<boolean | { failure: string }> {
  const { now } = context
  const caller = callerOf(context)
  const key = { kind: 'listing', name } as const
  const names = await readNames(context).catch(() => 'unknown' as const)
  if (names && names !== 'unknown' && includesName(names, name)) return true
  if (names === 'unknown' && isUnreachable(context)) return { failure: healthOf(context).lastFailure ?? 'it does not answer' }
  const error = await documentState(context, 'listing', name, { newerThan: now(), caller }).then(
    () => null,
    (reason: unknown) => reason,
  )
  const entry = await findEntry(context, key)
  if (entry?.sha256) return true
  if (!error && entry?.checkedAt && !entry.failedAt && now().getTime() - entry.checkedAt.getTime() < absentMs) return false
  return { failure: entry?.failure ?? (error instanceof Error ? error.message : 'it did not answer') }
}

/**
 * Returns matching names: the text itself, then its other spellings, names that begin with it, and other names that contain it, each in the order of the
 * document.
 */
function matching({ lines, lower }: Names, text: string): string[] {
  const wanted = text.toLowerCase()
  const found = new Set(lines.includes(`\n${text}\n`) ? [text] : [])
  for (const pattern of [`\n${wanted}\n`, `\n${wanted}`, wanted]) {
    for (let at = lower.indexOf(pattern); at !== -1 && found.size < maxCandidates; at = lower.indexOf(pattern, at + 1)) {
      const start = lines.lastIndexOf('\n', pattern.startsWith('\n') ? at : at - 1) + 1
      found.add(lines.slice(start, lines.indexOf('\n', start)))
    }
  }
  return [...found]
}

/** Returns which of the names this server has, in lower case. */
async function ownNames({ database }: Pick<MirrorServices, 'database'>, spelled: readonly string[]): Promise<Set<string>> {
  if (spelled.length === 0) return new Set()
  const names = spelled.map((name) => name.toLowerCase())
  const ofPackages = db.selectFrom('packages').select('name').where('name', 'in', names)
  const rows = await database.reads.all(ofPackages.union(db.selectFrom('reserved_names').select('name').where('name', 'in', names)))
  return new Set(rows.map(({ name }) => name))
}

/** Returns the description of an upstream package if its listing is in the mirror, otherwise null. */
export async function describedIn(context: Context, name: string): Promise<string | null> {
  const entry = await findEntry(context, { kind: 'listing', name })
  if (!entry?.sha256) return null
  const { texts } = context.caches
  const key = `description:${entry.sha256}`
  const known = texts.get(key)
  if (known !== undefined) return known
  const listing = await storedDocument(context, entry.sha256)
  if (!listing) return null
  const description = await inThread(context, callerOf(context), z.string(), { task: 'description', listing })
  texts.set(key, description)
  return description
}
